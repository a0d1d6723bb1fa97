//! Headings, as a hunk names one behind its `@@`: where the part of the file ends that a heading is above.
//!
//! Owns: telling a heading from another line. Never: looks for places.

use std::collections::HashMap;

use crate::Refusal;
use crate::budget::WorkBudget;
use crate::text::{TextLine, leading_blanks, trim};

/// Where the parts end that were asked for: for each heading the line of the next one of its kind.
#[derive(Debug, Default)]
pub(super) struct SectionEnds(HashMap<usize, usize>);

impl SectionEnds {
    /// Whether the line at `start` belongs to the heading above it: no heading of the same kind stands between. A line
    /// that opens nothing is no heading, and everything below belongs to it.
    pub(super) fn contains_line(
        &mut self,
        lines: &[TextLine<'_>],
        heading: usize,
        start: usize,
        budget: &mut WorkBudget,
    ) -> Result<bool, Refusal> {
        let end = match self.0.get(&heading) {
            Some(end) => *end,
            None => {
                let end = next_same_kind(lines, heading, lines.len()).unwrap_or(lines.len());
                budget.spend(end.saturating_sub(heading))?;
                self.0.insert(heading, end);
                end
            }
        };
        Ok(start <= end)
    }
}

/// The heading stands not far above, and the line at `start` belongs to it.
pub(super) fn is_near_below(
    lines: &[TextLine<'_>],
    name: &[u8],
    start: usize,
    budget: &mut WorkBudget,
) -> Result<bool, Refusal> {
    /// The length of most functions.
    const NEAR: usize = 128;
    let from = start.saturating_sub(NEAR);
    let above = lines.get(from..start).unwrap_or_default();
    let found = above.iter().rposition(|line| trim(line.text) == trim(name));
    budget.spend(start - from)?;
    Ok(found.is_some_and(|at| next_same_kind(lines, from + at, start).is_none()))
}

/// The first heading below this one, above `to`, that is of its kind.
fn next_same_kind(lines: &[TextLine<'_>], heading: usize, to: usize) -> Option<usize> {
    let line = lines.get(heading)?;
    let kind = heading_kind(line.text);
    if kind.is_empty() || !opens_section(lines, heading) {
        return None;
    }
    (heading + 1..to).find(|at| {
        lines.get(*at).is_some_and(|other| {
            leading_blanks(other.text) == leading_blanks(line.text)
                && self::heading_kind(other.text) == kind
                && opens_section(lines, *at)
        })
    })
}

/// The first word of a line, or the marks it begins with: lines of the same kind begin the same way.
fn heading_kind(line: &[u8]) -> &[u8] {
    let text = trim(line);
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let word = text.iter().take_while(|byte| of_word(byte)).count();
    let marks = text.iter().take_while(|byte| b"#=[".contains(byte)).count();
    text.get(..word.max(marks)).unwrap_or_default()
}

/// The line is above a part of its own: a block that is further in, or what a title or a section is above.
fn opens_section(lines: &[TextLine<'_>], at: usize) -> bool {
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
        leading_blanks(below.text).len() > leading_blanks(line.text).len()
            || trim(below.text).starts_with(b"{")
    });
    titled || block || (text.starts_with(b"[") && text.ends_with(b"]"))
}
