//! Rows of a diff.
//!
//! Owns: parsing unified diffs. Never: relies on more of a hunk header than its line numbers.

/// Row of a diff.
#[derive(Debug, PartialEq, Eq)]
pub enum DiffRow<'a> {
    /// Start of a file.
    File(&'a str),
    /// Start of a hunk.
    Hunk(&'a str),
    /// Other information about a file, or a line that cannot be parsed.
    About(&'a str),
    /// Line of the file.
    Line(Line<'a>),
}

/// Line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Kind of the line.
    pub kind: LineKind,
    /// Number in the old file. `None` if the line is added.
    pub old: Option<u64>,
    /// Number in the new file. `None` if the line is removed.
    pub new: Option<u64>,
    /// Position in the old file: the number of the next old line.
    pub at: u64,
    /// Text of the line.
    pub text: &'a str,
}

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Unchanged line.
    Same,
    /// Added line.
    Added,
    /// Removed line.
    Removed,
}

/// Parser state in a hunk: the lines that its header announces and that have not been read yet.
#[derive(Debug, Default)]
struct OpenHunk {
    old: u64,
    new: u64,
    old_left: u64,
    new_left: u64,
}

/// Parses a diff into rows. The text must already be escaped.
pub fn parse_rows(text: &str) -> Vec<DiffRow<'_>> {
    let mut open = OpenHunk::default();
    text.lines().map(|line| open.read_row(line)).collect()
}

impl OpenHunk {
    fn read_row<'a>(&mut self, line: &'a str) -> DiffRow<'a> {
        let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        // A line `--- a/x` or `+++ b/x` can also be a removed or added line of a file. Only the counts of the hunk
        // header tell them apart.
        let kind = match mark {
            "+" if self.new_left > 0 => Some(LineKind::Added),
            "-" if self.old_left > 0 => Some(LineKind::Removed),
            " " if self.old_left > 0 && self.new_left > 0 => Some(LineKind::Same),
            _ => None,
        };
        if let Some(kind) = kind {
            return DiffRow::Line(self.read_line(kind, rest));
        }
        if let Some(counts) = parse_header(line) {
            *self = counts;
            return DiffRow::Hunk(line);
        }
        match line.strip_prefix("diff --git ") {
            Some(names) => {
                *self = Self::default();
                DiffRow::File(new_name(names))
            }
            None => DiffRow::About(line),
        }
    }

    fn read_line<'a>(&mut self, kind: LineKind, text: &'a str) -> Line<'a> {
        let (old, new) = (self.old, self.new);
        let (is_old, is_new) = (kind != LineKind::Added, kind != LineKind::Removed);
        // The header is untrusted: its numbers may be at the limit of the type.
        self.old = self.old.saturating_add(u64::from(is_old));
        self.old_left = self.old_left.saturating_sub(u64::from(is_old));
        self.new = self.new.saturating_add(u64::from(is_new));
        self.new_left = self.new_left.saturating_sub(u64::from(is_new));
        Line {
            kind,
            old: is_old.then_some(old),
            new: is_new.then_some(new),
            at: old,
            text,
        }
    }
}

/// Parses the numbers of a hunk header such as `@@ -12,3 +12,4 @@`. `None` if the line is not one.
fn parse_header(line: &str) -> Option<OpenHunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| {
        // A count of 1 may be omitted in a hunk header, as in `@@ -3 +3 @@`.
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((old, old_left), (new, new_left)) = (pair(old)?, pair(new)?);
    Some(OpenHunk {
        old,
        new,
        old_left,
        new_left,
    })
}

/// Returns the new name from `a/NAME b/NAME`: the text after the last ` b/`, with quotes as git writes them.
fn new_name(names: &str) -> &str {
    let quoted = names
        .rsplit_once(" \"b/")
        .map(|(_, name)| name.trim_end_matches('"'));
    let plain = || names.rsplit_once(" b/").map_or(names, |(_, name)| name);
    quoted.unwrap_or_else(plain)
}
