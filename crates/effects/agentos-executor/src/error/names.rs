//! Paths in messages and commands.
//!
//! Owns: quoting and counting them. Never: reads a path.

use std::fmt::{Display, Formatter, Result};

/// Path with uncommitted work that is in the way of a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirtyPath {
    /// Path of the file or folder.
    pub path: String,
    /// First and last line of the work that the change touches, in the person's version. The last is before the first if that
    /// version has deleted lines there. `None` if the whole file is in the way.
    pub lines: Option<(usize, usize)>,
}

impl From<String> for DirtyPath {
    fn from(path: String) -> Self {
        Self { path, lines: None }
    }
}

impl Display for DirtyPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let path = &self.path;
        match self.lines {
            None => write!(f, "`{path}`"),
            Some((first, last)) if first == last => write!(f, "`{path}` (line {first})"),
            Some((first, last)) if first < last => write!(f, "`{path}` (lines {first} to {last})"),
            Some((first, _)) => write!(f, "`{path}` (lines deleted before line {first})"),
        }
    }
}

/// Names the first of several missing files, as the beginning of a sentence.
pub(super) fn count_missing(path: &str, more: usize) -> String {
    match more {
        0 => format!("`{path}` has"),
        1 => format!("`{path}` and 1 more file have"),
        more => format!("`{path}` and {more} more files have"),
    }
}

/// Path that a message quotes.
pub(super) trait QuotedPath {
    fn quote_path(&self) -> String;
}

impl QuotedPath for String {
    fn quote_path(&self) -> String {
        format!("`{self}`")
    }
}

impl QuotedPath for DirtyPath {
    fn quote_path(&self) -> String {
        self.to_string()
    }
}

/// Lists at most five paths, and the number of further ones.
pub(super) fn quote_paths<T: QuotedPath>(paths: &[T]) -> String {
    // A change may have hundreds of files, and the message should stay readable.
    let shown: Vec<String> = paths.iter().take(5).map(QuotedPath::quote_path).collect();
    let more = paths.len().saturating_sub(shown.len());
    let tail = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    shown.join(", ") + &tail
}

/// Quotes a path for a shell. A path of plain characters stays as it is.
pub(super) fn quote_argument(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/+@%,:".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}
