//! Headings, as a hunk names one behind its `@@`: where the part of the file ends that a heading is above.
//!
//! Owns: telling a heading from another line. Never: looks for places.

use std::collections::HashMap;

use crate::Refusal;
use crate::budget::Budget;
use crate::text::{Line, indent, trim};

/// Where the parts end that were asked for: for each heading the line of the next one of its kind.
#[derive(Debug, Default)]
pub(super) struct Parts(HashMap<usize, usize>);

impl Parts {
    /// Whether the line at `start` belongs to the heading above it: no heading of the same kind stands between. A line
    /// that opens nothing is no heading, and everything below belongs to it.
    pub(super) fn holds(
        &mut self,
        lines: &[Line<'_>],
        heading: usize,
        start: usize,
        budget: &mut Budget,
    ) -> Result<bool, Refusal> {
        let end = match self.0.get(&heading) {
            Some(end) => *end,
            None => {
                let end = next_of_kind(lines, heading, lines.len()).unwrap_or(lines.len());
                budget.spend(end.saturating_sub(heading))?;
                self.0.insert(heading, end);
                end
            }
        };
        Ok(start <= end)
    }
}

/// The heading stands not far above, and the line at `start` belongs to it.
pub(super) fn near(
    lines: &[Line<'_>],
    name: &[u8],
    start: usize,
    budget: &mut Budget,
) -> Result<bool, Refusal> {
    /// The length of most functions.
    const NEAR: usize = 128;
    let from = start.saturating_sub(NEAR);
    let above = lines.get(from..start).unwrap_or_default();
    let found = above.iter().rposition(|line| trim(line.text) == trim(name));
    budget.spend(start - from)?;
    Ok(found.is_some_and(|at| next_of_kind(lines, from + at, start).is_none()))
}

/// The first heading below this one, above `to`, that is of its kind.
fn next_of_kind(lines: &[Line<'_>], heading: usize, to: usize) -> Option<usize> {
    let line = lines.get(heading)?;
    let kind = kind(line.text);
    if kind.is_empty() || !opens(lines, heading) {
        return None;
    }
    (heading + 1..to).find(|at| {
        lines.get(*at).is_some_and(|other| {
            indent(other.text) == indent(line.text) && self::kind(other.text) == kind && opens(lines, *at)
        })
    })
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
