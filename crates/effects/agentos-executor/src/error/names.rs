//! Paths in messages and commands.
//!
//! Owns: quoting and counting them. Never: reads a path.

/// Names the first of several missing files, as the beginning of a sentence.
pub(super) fn count_missing(path: &str, more: usize) -> String {
    match more {
        0 => format!("`{path}` has"),
        1 => format!("`{path}` and 1 more file have"),
        more => format!("`{path}` and {more} more files have"),
    }
}

/// Lists at most five paths, and the number of further ones.
pub(super) fn quote_paths(paths: &[String]) -> String {
    // A change may have hundreds of files, and the message should stay readable.
    let shown: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
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
