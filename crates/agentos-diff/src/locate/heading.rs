//! Headings, as a hunk names one behind its `@@`: where the part of the file ends that a heading is above.
//!
//! Owns: telling a heading from another line. Never: looks for places.

use crate::Refusal;
use crate::budget::Budget;
use crate::text::{Line, indent, trim};

/// Whether the line at `start` belongs to the heading above it: no heading of the same kind stands between. A line
/// that opens nothing is no heading, and everything below belongs to it.
pub(super) fn holds(
    lines: &[Line<'_>],
    heading: usize,
    start: usize,
    budget: &mut Budget,
) -> Result<bool, Refusal> {
    let (Some(line), Some(between)) = (lines.get(heading), lines.get(heading + 1..start)) else {
        return Ok(true);
    };
    budget.spend(between.len())?;
    let kind = kind(line.text);
    if kind.is_empty() || !opens(lines, heading) {
        return Ok(true);
    }
    let like = |at: usize| {
        lines.get(at).is_some_and(|other| {
            indent(other.text) == indent(line.text) && self::kind(other.text) == kind && opens(lines, at)
        })
    };
    Ok(!(heading + 1..start).any(like))
}

/// The first word of a line, or the marks it begins with: lines of the same kind begin the same way.
fn kind(line: &[u8]) -> &[u8] {
    let text = trim(line);
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let word = text.iter().take_while(|byte| of_word(byte)).count();
    let marks = text.iter().take_while(|byte| b"#=[".contains(byte)).count();
    text.get(..word.max(marks)).unwrap_or_default()
}

/// The line is above a part of its own: a block that is further in, or what a title or a section is above.
fn opens(lines: &[Line<'_>], at: usize) -> bool {
    let Some(line) = lines.get(at) else {
        return false;
    };
    let text = trim(line.text);
    let marks = text.iter().take_while(|byte| b"#=".contains(byte)).count();
    let titled = marks > 0 && text.get(marks) == Some(&b' ');
    let below = lines
        .get(at + 1..)
        .unwrap_or_default()
        .iter()
        .find(|line| !trim(line.text).is_empty());
    let block = below.is_some_and(|below| {
        indent(below.text).len() > indent(line.text).len() || trim(below.text).starts_with(b"{")
    });
    titled || block || (text.starts_with(b"[") && text.ends_with(b"]"))
}
