//! The rows of a diff.
//!
//! Owns: reading unified diffs. Never: believes more of a header than its line numbers.

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub enum Row<'a> {
    /// A file begins.
    File(&'a str),
    /// A hunk begins.
    Hunk(&'a str),
    /// Something else about a file, or a line that is not understood.
    About(&'a str),
    /// A line of the file.
    Line(Line<'a>),
}

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// What becomes of it.
    pub kind: Kind,
    /// Its number before.
    pub old: Option<u64>,
    /// Its number afterwards.
    pub new: Option<u64>,
    /// Where the old file is now: the number of the next old line.
    pub at: u64,
    /// Its text.
    pub text: &'a str,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It stays.
    Same,
    /// It is new.
    Added,
    /// It goes.
    Removed,
}

/// What is still to come of a hunk.
#[derive(Debug, Default)]
struct Open {
    old: u64,
    new: u64,
    old_left: u64,
    new_left: u64,
}

/// The rows of a diff that is inert already.
pub fn rows(text: &str) -> Vec<Row<'_>> {
    let mut open = Open::default();
    text.lines().map(|line| open.row(line)).collect()
}

impl Open {
    fn row<'a>(&mut self, line: &'a str) -> Row<'a> {
        let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        let kind = match mark {
            "+" if self.new_left > 0 => Some(Kind::Added),
            "-" if self.old_left > 0 => Some(Kind::Removed),
            " " if self.old_left > 0 && self.new_left > 0 => Some(Kind::Same),
            _ => None,
        };
        if let Some(kind) = kind {
            return Row::Line(self.line(kind, rest));
        }
        if let Some(counts) = counts(line) {
            *self = counts;
            return Row::Hunk(line);
        }
        match line.strip_prefix("diff --git ") {
            Some(names) => {
                *self = Self::default();
                Row::File(new_name(names))
            }
            None => Row::About(line),
        }
    }

    fn line<'a>(&mut self, kind: Kind, text: &'a str) -> Line<'a> {
        let (old, new) = (self.old, self.new);
        let (is_old, is_new) = (kind != Kind::Added, kind != Kind::Removed);
        // A header may say any number.
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

/// The numbers of `@@ -12,3 +12,4 @@`.
fn counts(line: &str) -> Option<Open> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((old, old_left), (new, new_left)) = (pair(old)?, pair(new)?);
    Some(Open {
        old,
        new,
        old_left,
        new_left,
    })
}

/// The new name of `a/NAME b/NAME`: what follows the last ` b/`, quotes and all, as git writes it.
fn new_name(names: &str) -> &str {
    let quoted = names
        .rsplit_once(" \"b/")
        .map(|(_, name)| name.trim_end_matches('"'));
    let plain = || names.rsplit_once(" b/").map_or(names, |(_, name)| name);
    quoted.unwrap_or_else(plain)
}
