//! Text that an added line gets in the file: the author's, with the blanks that the transport changed put right.
//!
//! Owns: the rule for blanks of added lines. Never: changes any other byte of an added line.
//!
//! An added line is the author's text. Only two things of it may change besides its line end: the one indentation
//! shift that located the hunk, and blanks that the transport put at the end of every line. Both are derived from the
//! old lines of the hunk, which show the same damage next to the file's own bytes:
//!
//! | the old lines of the hunk | an added line |
//! |---|---|
//! | all end with the same blanks more than the file's | loses these blanks, if all added lines have them |
//! | some end with more blanks than the file's | must end without blanks |
//! | have another indentation, by one shift | gets that shift |
//! | show what the shift did to a line of blanks alone | of blanks alone: the same is done to it; an empty one is refused if the shift may have emptied it |
//! | do not show it | of blanks alone: is refused, unless it is empty, and so are all blank lines within 250 lines |
//! | have tabs for spaces, or spaces for tabs, and the file has both within 250 lines | is refused if it has such an indentation |
//!
//! What no row decides is refused with [`UncertainBlanks`]: a wrong guess would change Python code, or mix two
//! conventions in a file, without anybody noticing.

use std::borrow::Cow;

use crate::locate::{HunkPlace, IndentShift};
use crate::parse::{HunkLine, LineMark};
use crate::text::{FileLines, leading_blanks, trim, trim_end};

/// An added line whose blanks or typography in the file cannot be derived from the hunk's old lines.
pub(crate) struct UncertainBlanks;

/// Blanks that the old lines of a hunk have at the end and the lines of the file do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExtraTail<'h> {
    /// No such blanks, or none that the added lines have as well.
    Absent,
    /// These, at the end of every line.
    Uniform(&'h [u8]),
    /// Others at each line.
    Uneven,
}

/// Change that the transport made to the lines of blanks alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlankLines {
    /// No old line of the hunk shows it.
    Unknown,
    /// They were kept as they are in the file.
    Kept,
    /// They were changed like the other lines.
    Changed,
    /// They were changed in different ways.
    Uneven,
}

/// Rule for the added lines of one hunk at one place.
pub(crate) struct AddedText<'l, 'h> {
    lines: FileLines<'l>,
    place: &'l HunkPlace,
    shifts: bool,
    tail: ExtraTail<'h>,
    blank_lines: BlankLines,
}

impl<'l, 'h> AddedText<'l, 'h> {
    /// Derives the rule from lines of the hunk and the lines of the file at its place, one of each.
    pub(crate) fn derive(
        lines: FileLines<'l>,
        place: &'l HunkPlace,
        old: &[&'h HunkLine],
        added: &[&'h HunkLine],
    ) -> Self {
        let (here, shift) = (lines.below(place.start), &place.shift);
        let tail = extra_tail(old, here, added);
        Self {
            lines,
            place,
            shifts: shift.applies_to(added),
            tail,
            blank_lines: blank_lines(old, here, shift, tail),
        }
    }

    /// Returns the text of an added line in the file.
    ///
    /// # Errors
    /// Fails if its blanks are not certain.
    pub(crate) fn text_of<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, [u8]>, UncertainBlanks> {
        if trim(text).is_empty() {
            return self.blank_text(text);
        }
        let text = match self.tail {
            ExtraTail::Absent => text,
            ExtraTail::Uniform(tail) => text.strip_suffix(tail).unwrap_or(text),
            ExtraTail::Uneven if trim_end(text) == text => text,
            ExtraTail::Uneven => return Err(UncertainBlanks),
        };
        if !self.shifts {
            return Ok(Cow::Borrowed(text));
        }
        if self.mixes_indentation(text) {
            return Err(UncertainBlanks);
        }
        self.place
            .shift
            .apply_to(text)
            .map(Cow::Owned)
            .ok_or(UncertainBlanks)
    }

    /// Returns the text of an added line of blanks alone.
    fn blank_text<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, [u8]>, UncertainBlanks> {
        let shift = &self.place.shift;
        let (deeper, shallower) = match shift {
            IndentShift::Deeper(extra) => (Some(extra), None),
            IndentShift::Shallower(extra) => (None, Some(extra)),
            IndentShift::Same
            | IndentShift::ToTabs(_)
            | IndentShift::ToSpaces(_)
            | IndentShift::Aligned(_)
            | IndentShift::LostBlank { .. } => (None, None),
        };
        let text = match (self.tail, self.blank_lines) {
            (ExtraTail::Absent, _) | (ExtraTail::Uniform(_), BlankLines::Kept) => text,
            (_, _) if text.is_empty() => text,
            // A line that has only the blanks of the transport was empty.
            (ExtraTail::Uniform(tail), BlankLines::Unknown) if text == tail => b"",
            (ExtraTail::Uniform(tail), BlankLines::Changed) if deeper.or(shallower).is_none() => {
                text.strip_suffix(tail).ok_or(UncertainBlanks)?
            }
            (ExtraTail::Uniform(_) | ExtraTail::Uneven, _) => return Err(UncertainBlanks),
        };
        match (deeper, shallower, self.blank_lines) {
            // The shift empties a line of blanks alone, and leaves an empty one as it is: the author may have had either.
            (Some(_), _, BlankLines::Changed) if text.is_empty() => Err(UncertainBlanks),
            (Some(extra), _, BlankLines::Changed) => Ok(Cow::Owned([extra, text].concat())),
            (Some(_), _, BlankLines::Unknown) if !text.is_empty() || self.has_blanks_alone() => {
                Err(UncertainBlanks)
            }
            (_, Some(extra), BlankLines::Changed | BlankLines::Unknown) if !text.is_empty() => text
                .strip_prefix(extra.as_slice())
                .map(Cow::Borrowed)
                .ok_or(UncertainBlanks),
            (Some(_), _, BlankLines::Uneven) | (_, Some(_), BlankLines::Uneven) => Err(UncertainBlanks),
            // Nothing shows whether the mark replaced a blank of a line that has no more than blanks.
            (None, None, _)
                if matches!(shift, IndentShift::LostBlank { .. })
                    && (!text.is_empty() || self.mixes_indentation(text)) =>
            {
                Err(UncertainBlanks)
            }
            (None, None, _) if self.shifts => shift.apply_to(text).map(Cow::Owned).ok_or(UncertainBlanks),
            (Some(_), _, BlankLines::Unknown | BlankLines::Kept)
            | (_, Some(_), BlankLines::Changed | BlankLines::Unknown | BlankLines::Kept)
            | (None, None, _) => Ok(Cow::Borrowed(text)),
        }
    }

    /// Lines of the file near the place.
    fn near_lines(&self) -> FileLines<'l> {
        /// Number of lines on each side that show the file's convention. A limit keeps the work linear.
        const NEAR: usize = 250;
        let end = self.place.start.saturating_add(NEAR);
        self.lines.clamped(self.place.start.saturating_sub(NEAR)..end)
    }

    /// Returns true if a line near the place consists of blanks alone.
    fn has_blanks_alone(&self) -> bool {
        let mut near = self.near_lines().iter();
        near.any(|line| !line.text.is_empty() && trim(line.text).is_empty())
    }

    /// Returns true if the file has, near the place, lines with the indentation that this line gets by the shift, and
    /// lines with the one that it has: it may be either.
    fn mixes_indentation(&self, text: &[u8]) -> bool {
        let blanks = leading_blanks(text);
        let mut near = self.near_lines().iter().map(|line| leading_blanks(line.text));
        match &self.place.shift {
            IndentShift::ToTabs(width) => {
                let spaces = vec![b' '; *width];
                blanks.starts_with(&spaces) && near.any(|line| line.starts_with(&spaces))
            }
            IndentShift::ToSpaces(_) => blanks.contains(&b'\t') && near.any(|line| line.contains(&b'\t')),
            // The only blank of a line may be the one that got lost.
            IndentShift::LostBlank { .. } => blanks.is_empty() && near.any(|line| line == b" "),
            IndentShift::Same
            | IndentShift::Deeper(_)
            | IndentShift::Shallower(_)
            | IndentShift::Aligned(_) => false,
        }
    }
}

fn blanks_at_end(text: &[u8]) -> &[u8] {
    text.get(trim_end(text).len()..).unwrap_or_default()
}

/// Finds the blanks that the old lines have more at their end than those of the file.
fn extra_tail<'h>(old: &[&'h HunkLine], here: FileLines<'_>, added: &[&HunkLine]) -> ExtraTail<'h> {
    let mut uniform: Option<&[u8]> = None;
    let (mut even, mut gained) = (true, false);
    for (old, line) in old
        .iter()
        .zip(here.iter())
        .filter(|(_, line)| !trim(line.text).is_empty())
    {
        let (hunk, file) = (blanks_at_end(&old.text), blanks_at_end(line.text));
        gained |= hunk.len() > file.len();
        let more = hunk.strip_prefix(file);
        even &= more.is_some() && (uniform.is_none() || more == uniform);
        uniform = uniform.or(more);
    }
    match uniform.filter(|tail| even && !tail.is_empty()) {
        Some(tail) => {
            let said = || {
                let lines = added.iter().filter(|line| !trim(&line.text).is_empty());
                lines.map(|line| line.text.ends_with(tail))
            };
            match (said().all(|has| has), said().any(|has| has)) {
                (true, _) => ExtraTail::Uniform(tail),
                (false, true) => ExtraTail::Uneven,
                (false, false) => ExtraTail::Absent,
            }
        }
        None if gained => ExtraTail::Uneven,
        None => ExtraTail::Absent,
    }
}

/// Finds the change that was made to the old lines of blanks alone.
fn blank_lines(
    old: &[&HunkLine],
    here: FileLines<'_>,
    shift: &IndentShift,
    tail: ExtraTail<'_>,
) -> BlankLines {
    let shifted = matches!(shift, IndentShift::Deeper(_) | IndentShift::Shallower(_));
    let blank = old
        .iter()
        .zip(here.iter())
        .filter(|(old, _)| old.mark != LineMark::Add && trim(&old.text).is_empty())
        // An empty line is the same before and after: it does not show what became of lines of blanks.
        .filter(|(old, line)| !(shifted && old.text.is_empty() && line.text.is_empty()));
    let (mut kept, mut changed, mut any) = (true, true, false);
    for (old, line) in blank {
        let (hunk, file) = (old.text.as_ref(), line.text);
        any = true;
        kept &= hunk == file;
        changed &= match (shift, tail) {
            (IndentShift::Deeper(extra), _) => file.strip_prefix(extra.as_slice()) == Some(hunk),
            (IndentShift::Shallower(extra), _) => hunk.strip_prefix(extra.as_slice()) == Some(file),
            (_, ExtraTail::Uniform(tail)) => hunk.strip_suffix(tail) == Some(file),
            (_, ExtraTail::Absent | ExtraTail::Uneven) => false,
        };
    }
    match (any, kept, changed) {
        (false, _, _) => BlankLines::Unknown,
        (true, true, _) => BlankLines::Kept,
        (true, false, true) => BlankLines::Changed,
        (true, false, false) => BlankLines::Uneven,
    }
}
