//! Headings, as a hunk names one behind its `@@`: where the section below a heading ends.
//!
//! Owns: distinguishing a heading from another line. Never: searches for places.
//!
//! Git writes the nearest line above a hunk that looks like the head of a function. A model copies it or makes it up.
//! If the place found is in another function than the heading, one of the two is wrong, so the hunk must not land.

use super::TargetFile;
use crate::Refusal;
use crate::text::{FileLines, leading_blanks, split_run, trim};

impl TargetFile<'_> {
    /// Returns true if the line at `start` is in the section of the heading: no heading of the same kind is between.
    /// A line that opens no section is no heading, and everything below is in it.
    pub(super) fn is_in_section(&mut self, heading: usize, start: usize) -> Result<bool, Refusal> {
        let end = match self.section_ends.get(&heading) {
            Some(end) => *end,
            None => {
                let length = self.lines().len();
                let end = next_same_kind(self.lines(), heading, length).unwrap_or(length);
                self.budget.spend(end.saturating_sub(heading))?;
                self.section_ends.insert(heading, end);
                end
            }
        };
        Ok(start <= end)
    }
}

/// Returns true if the heading is not far above the line at `start`, and that line is in its section.
pub(super) fn is_near_below(target: &TargetFile<'_>, name: &[u8], start: usize) -> Result<bool, Refusal> {
    /// Number of lines searched, which covers most functions.
    const NEAR: usize = 128;
    // A search without limit for each of many hunks would be quadratic in the size of the file.
    let from = start.saturating_sub(NEAR);
    let lines = target.lines();
    let above = lines.clamped(from..start);
    let found = above.iter().rposition(|line| trim(line.text) == trim(name));
    target.budget.spend(start - from)?;
    Ok(found.is_some_and(|at| next_same_kind(lines, from + at, start).is_none()))
}

/// Returns the first heading of the same kind below this one and above `to`. Returns `None` if there is none, or if
/// the line is no heading.
fn next_same_kind(lines: FileLines<'_>, heading: usize, to: usize) -> Option<usize> {
    let line = lines.line(heading)?;
    let kind = heading_kind(line.text);
    if kind.is_empty() || !opens_section(lines, heading) {
        return None;
    }
    (heading + 1..to).find(|at| {
        lines.line(*at).is_some_and(|other| {
            leading_blanks(other.text) == leading_blanks(line.text)
                && heading_kind(other.text) == kind
                && opens_section(lines, *at)
        })
    })
}

/// Returns the first word of a line, or the marks it begins with. Headings of the same kind begin in the same way, as
/// `fn` or `##` do.
fn heading_kind(line: &[u8]) -> &[u8] {
    let text = trim(line);
    let of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    // Bytes outside ASCII count as letters, so that a heading in another script has a kind, too.
    match split_run(text, of_word).0 {
        [] => split_run(text, |byte| b"#=[".contains(&byte)).0,
        word => word,
    }
}

/// Returns true if the line opens a section: an indented block or a bracket follows, or it is a title or a
/// `[section]`.
fn opens_section(lines: FileLines<'_>, at: usize) -> bool {
    let Some(line) = lines.line(at) else {
        return false;
    };
    let text = trim(line.text);
    let (marks, title) = split_run(text, |byte| b"#=".contains(&byte));
    let titled = !marks.is_empty() && title.starts_with(b" ");
    let mut below = lines.below(at + 1).iter();
    let below = below.find(|line| !trim(line.text).is_empty());
    let block = below.is_some_and(|below| {
        leading_blanks(below.text).len() > leading_blanks(line.text).len()
            || trim(below.text).starts_with(b"{")
    });
    titled || block || (text.starts_with(b"[") && text.ends_with(b"]"))
}
