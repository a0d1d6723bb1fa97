//! Lines that a hunk names behind its `@@`: its place is below them, and in the section of a heading.
//!
//! Owns: which of these lines count, where the section below a heading ends, and what they say about a place. Never: searches for
//! the lines of a hunk.
//!
//! Git writes the nearest line above a hunk that looks like the head of a function. A model copies it or makes it up.
//! If the place found is in another function than the heading, one of the two is wrong, so the hunk must not land.

use super::{HunkPlace, MatchLevel, SoughtHunk, TargetFile};
use crate::Refusal;
use crate::parse::Hunk;
use crate::text::{FileLines, leading_blanks, split_run, trim};

/// Returns the lines that can be a heading: those with a letter or digit. `@@ ... @@` is a placeholder for numbers, which
/// some tools ask models to write.
fn named(lines: &[Vec<u8>]) -> impl Iterator<Item = &Vec<u8>> {
    // Letters of other scripts count, and an ellipsis does not.
    let says = |line: &&Vec<u8>| {
        let text = String::from_utf8_lossy(line);
        text.chars().any(char::is_alphanumeric)
    };
    lines.iter().filter(says)
}

/// Returns the anchors of a hunk and its heading, as far as they can be lines of a file.
fn headings(hunk: &Hunk) -> impl Iterator<Item = &Vec<u8>> {
    named(&hunk.anchors).chain(named(hunk.section.as_slice()))
}

impl TargetFile<'_> {
    /// Returns true if the heading is not far above the line at `start`, and that line is in its section.
    fn is_near_below(&self, name: &[u8], start: usize) -> Result<bool, Refusal> {
        /// Number of lines searched, which covers most functions.
        const NEAR: usize = 128;
        // A search without limit for each of many hunks would be quadratic in the size of the file.
        let from = start.saturating_sub(NEAR);
        let lines = self.lines();
        let above = lines.clamped(from..start);
        let found = above.iter().rposition(|line| trim(line.text) == trim(name));
        self.budget.spend(start - from)?;
        Ok(found.is_some_and(|at| next_same_kind(lines, from + at, start).is_none()))
    }

    /// Returns true if the line at `start` is in the section of the heading: no heading of the same kind is between.
    /// A line that opens no section is no heading, and everything below is in it.
    fn is_in_section(&mut self, heading: usize, start: usize) -> Result<bool, Refusal> {
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

    /// Returns true if a line that the hunk names as its heading occurs once in the file, and is below this place or
    /// heads a section that ends above it.
    pub(super) fn is_contradicted(&mut self, one: &SoughtHunk<'_>, start: usize) -> Result<bool, Refusal> {
        for name in headings(one.hunk) {
            // This holds for every correct diff, and needs no index of the whole file.
            if self.is_near_below(name, start)? {
                continue;
            }
            let hits = self.places_of(MatchLevel::Indent, name)?;
            // A heading that occurs twice, or not at all, as one that git cut after 80 bytes, contradicts nothing.
            let [only] = *hits else { continue };
            let heading = only as usize;
            if heading >= start + one.old.len() || !self.is_in_section(heading, start)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps the one place below the hunk's anchors, if there is exactly one. Anchors that are not in the file, or occur
    /// more than once, decide nothing. A single place above an anchor is left out.
    pub(super) fn below_anchors(
        &mut self,
        one: &SoughtHunk<'_>,
        places: Vec<HunkPlace>,
    ) -> Result<Vec<HunkPlace>, Refusal> {
        if let [only] = places.as_slice()
            && one.stated != Some(only.start)
            && self.is_contradicted(one, only.start)?
        {
            return Ok(Vec::new());
        }
        // A heading next to a line number comes from git, which may name the function above. Without a number, the heading is
        // the author's own statement about the place.
        let stated = one.stated.is_some();
        let anchors: Vec<_> = if stated {
            named(&one.hunk.anchors).collect()
        } else {
            headings(one.hunk).collect()
        };
        if places.len() < 2 || anchors.is_empty() {
            return Ok(places);
        }
        let mut from = 0;
        for anchor in anchors {
            let budget = self.budget;
            let hits = self.places_of(MatchLevel::Indent, anchor)?;
            budget.spend(hits.len())?;
            let mut below = hits.iter().filter(|hit| **hit as usize >= from);
            match (below.next(), below.next()) {
                // Each anchor is searched for below the one before, as nested headings are written outermost first.
                (Some(only), None) => from = *only as usize + 1,
                (Some(_) | None, _) => return Ok(places),
            }
        }
        let mut below = Vec::new();
        for place in &places {
            let under = match from.checked_sub(1) {
                Some(heading) => self.is_in_section(heading, place.start)?,
                None => true,
            };
            if under && place.start + one.old.len() > from {
                let others = places.len() - 1;
                below.push(HunkPlace {
                    others,
                    ..place.clone()
                });
            }
        }
        // With several places below the anchors, all candidates stay, for the report.
        Ok(if below.len() == 1 { below } else { places })
    }

    /// Returns the one place of the hunk's lines if its heading or anchors are ignored, for the report. Returns `None` if
    /// there is no such place, or more than one.
    pub(crate) fn place_above_anchor(&mut self, one: &SoughtHunk<'_>) -> Result<Option<usize>, Refusal> {
        if one.hunk.anchors.is_empty() && one.hunk.section.is_none() {
            return Ok(None);
        }
        Ok(match self.free_candidates(one)?.as_slice() {
            [only] => Some(only.start),
            _ => None,
        })
    }

    /// Returns the places of the hunk's lines if its heading and anchors are ignored.
    pub(super) fn free_candidates(&mut self, one: &SoughtHunk<'_>) -> Result<Vec<HunkPlace>, Refusal> {
        let mut free = one.hunk.clone();
        (free.anchors, free.section) = (Vec::new(), None);
        self.find_candidates(&SoughtHunk::new(&free))
    }

    /// Returns an anchor of the hunk that is not in the file. Returns `None` if all are.
    pub(crate) fn missing_anchor<'h>(&mut self, one: &SoughtHunk<'h>) -> Result<Option<&'h [u8]>, Refusal> {
        for anchor in named(&one.hunk.anchors) {
            let hits = self.places_of(MatchLevel::Indent, anchor)?;
            if hits.is_empty() {
                return Ok(Some(anchor));
            }
        }
        Ok(None)
    }
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
