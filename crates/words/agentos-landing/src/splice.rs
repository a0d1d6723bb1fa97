//! From a hunk and its place to the exact bytes that change.
//!
//! Owns: line endings, the final newline and the shift of added lines. Never: touches a byte outside the lines
//! a hunk removes or adds.

use std::borrow::Cow;

use crate::locate::{HunkPlace, IndentShift, MatchLevel, look_alike};
use crate::parse::{Hunk, HunkLine, LineMark};
use crate::text::{BOM, LineEnding, TextLine, leading_blanks, trim, trim_end};

/// Lines `start..end` become these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineSplice {
    /// First line that goes; 0 is the first.
    pub start: usize,
    /// One past the last line that goes.
    pub end: usize,
    /// What comes.
    pub bytes: Vec<u8>,
}

/// What differs between the hunk's old lines and the file's cannot be put right in one of its added lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnshiftableLine;

/// The splices of one hunk, ascending.
pub(crate) fn hunk_splices(
    lines: &[TextLine<'_>],
    hunk: &Hunk<'_>,
    place: &HunkPlace,
) -> Result<Vec<LineSplice>, UnshiftableLine> {
    let ending = LineEndings::for_hunk(lines, hunk, place);
    let mut out = Vec::new();
    let mut run = ChangeRun::starting_at(place.start);
    for line in &hunk.lines {
        match line.mark {
            LineMark::Context => {
                run.close(&ending, &mut out)?;
                run = ChangeRun::starting_at(run.end + 1);
            }
            LineMark::Remove => {
                run.removed.push(line);
                run.end += 1;
            }
            LineMark::Add => run.added.push(line),
        }
    }
    run.close(&ending, &mut out)?;
    Ok(out)
}

/// Joins splices (ascending, without overlap) and the untouched lines.
pub(crate) fn join_splices(lines: &[TextLine<'_>], splices: &[LineSplice]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    for splice in splices {
        for line in lines.get(at..splice.start).unwrap_or_default() {
            line.write(&mut out);
        }
        out.extend_from_slice(&splice.bytes);
        at = splice.end;
    }
    for line in lines.get(at..).unwrap_or_default() {
        line.write(&mut out);
    }
    out
}

/// Removed and added lines without context between them.
struct ChangeRun<'h, 'a> {
    start: usize,
    end: usize,
    removed: Vec<&'h HunkLine<'a>>,
    added: Vec<&'h HunkLine<'a>>,
}

impl<'h, 'a> ChangeRun<'h, 'a> {
    fn starting_at(start: usize) -> Self {
        Self {
            start,
            end: start,
            removed: Vec::new(),
            added: Vec::new(),
        }
    }

    fn close(
        &self,
        ending: &LineEndings<'_, 'h, 'a>,
        out: &mut Vec<LineSplice>,
    ) -> Result<(), UnshiftableLine> {
        if self.removed.is_empty() && self.added.is_empty() {
            return Ok(());
        }
        let at_end = self.end == ending.lines.len();
        let mut splice = LineSplice {
            start: self.start,
            end: self.end,
            bytes: Vec::new(),
        };
        let unended = ending
            .lines
            .get(self.start.wrapping_sub(1))
            .filter(|line| line.eol == LineEnding::Missing);
        if let (Some(last), false) = (unended, self.added.is_empty()) {
            // Lines come after a last line that has no newline: it needs one now.
            splice.start -= 1;
            splice.bytes.extend_from_slice(last.text);
            splice.bytes.extend_from_slice(ending.usual.bytes());
        }
        let marked = ending.byte_order_mark(self);
        if marked {
            splice.bytes.extend_from_slice(BOM);
        }
        let last = self.added.len().saturating_sub(1);
        for (at, line) in self.added.iter().enumerate() {
            let text = match (ending.as_in_file(line), ending.shifts) {
                (Some(text), _) => text.to_vec(),
                (None, _) if ending.tabs_differ(line) => return Err(UnshiftableLine),
                (None, true) => {
                    let text = ending.without_look_alikes(&line.text)?;
                    ending.place.shift.apply_to(&text).ok_or(UnshiftableLine)?
                }
                (None, false) => ending.without_look_alikes(&line.text)?.into_owned(),
            };
            splice
                .bytes
                .extend_from_slice(text.strip_suffix(ending.tail).unwrap_or(&text));
            let bare = at_end && at == last && !ending.final_newline(self);
            ending.write(&mut splice.bytes, line, self, at, bare);
        }
        if let (true, true, Some(first)) = (marked, self.removed.is_empty(), ending.lines.first()) {
            // The mark moved up to the new first line.
            splice.end = 1;
            splice
                .bytes
                .extend_from_slice(first.full.strip_prefix(BOM).unwrap_or(first.full));
        }
        out.push(splice);
        Ok(())
    }
}

/// Which line ending added lines get.
struct LineEndings<'l, 'h, 'a> {
    lines: &'l [TextLine<'l>],
    place: &'l HunkPlace,
    /// The carriage returns of the hunk are those of the file, so its added lines mean theirs.
    literal: bool,
    /// The ending most lines near the hunk have.
    usual: LineEnding,
    /// The hunk says that the old text had no final newline.
    old_bare: bool,
    /// The hunk says that the new text has none.
    new_bare: bool,
    shifts: bool,
    /// The blanks that every old line of the hunk ends with, and no line of the file.
    tail: &'h [u8],
    hunk: &'h Hunk<'a>,
}

impl<'l, 'h, 'a> LineEndings<'l, 'h, 'a> {
    fn for_hunk(lines: &'l [TextLine<'l>], hunk: &'h Hunk<'a>, place: &'l HunkPlace) -> Self {
        let old: Vec<&HunkLine<'_>> = hunk.lines.iter().filter(|line| line.is_old()).collect();
        let here = lines
            .get(place.start..place.start + old.len())
            .unwrap_or_default();
        // Nothing contradicts a hunk that fills an empty file.
        let literal = (!old.is_empty() || lines.is_empty())
            && old.iter().zip(here).all(|(old, line)| {
                line.eol == LineEnding::Missing || old.cr == (line.eol == LineEnding::CrLf)
            });
        let added: Vec<&HunkLine<'_>> = hunk
            .lines
            .iter()
            .filter(|line| line.mark == LineMark::Add)
            .collect();
        let last_new = hunk.lines.iter().rev().find(|line| line.is_new());
        Self {
            lines,
            place,
            literal,
            usual: usual_ending(lines, here),
            old_bare: old.iter().any(|line| line.no_newline),
            new_bare: last_new.is_some_and(|line| line.no_newline),
            shifts: place.shift.applies_to(&added),
            tail: transport_blanks(&old, here),
            hunk,
        }
    }

    /// An added line that is one of the hunk's old lines, moved: where blanks or typography differ, the file's
    /// own bytes are the right ones.
    fn as_in_file(&self, line: &HunkLine<'_>) -> Option<&'l [u8]> {
        match self.place.level {
            MatchLevel::Exact | MatchLevel::Trailing | MatchLevel::Indent => return None,
            MatchLevel::Blanks | MatchLevel::Typography => {}
        }
        let old = self.hunk.lines.iter().filter(|old| old.is_old());
        let mut same = old
            .zip(self.lines.get(self.place.start..)?)
            .filter(|(old, _)| old.text == line.text)
            .map(|(_, here)| here.text);
        let first = same.next()?;
        same.all(|text| text == first).then_some(first)
    }

    /// Typographic characters of an added line as the file writes them: plain, where the hunk's old lines have the
    /// character and the file's have none of it; as they are, where both have it alike. Nothing else is known.
    fn without_look_alikes<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, [u8]>, UnshiftableLine> {
        if self.place.level != MatchLevel::Typography || text.is_ascii() {
            return Ok(Cow::Borrowed(text));
        }
        let here = self.lines.get(self.place.start..).unwrap_or_default();
        let mut out = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            for character in chunk.valid().chars() {
                let mut buffer = [0; 4];
                let written = character.encode_utf8(&mut buffer).as_bytes();
                let Some(plain) = look_alike(character) else {
                    out.extend_from_slice(written);
                    continue;
                };
                let count = |text: &[u8]| text.windows(written.len()).filter(|at| *at == written).count();
                let old = self.hunk.lines.iter().filter(|old| old.is_old());
                let counts: Vec<(usize, usize)> = old
                    .zip(here)
                    .map(|(old, here)| (count(&old.text), count(here.text)))
                    .filter(|counts| *counts != (0, 0))
                    .collect();
                if counts.is_empty() {
                    return Err(UnshiftableLine);
                } else if counts.iter().all(|(_, there)| *there == 0) {
                    out.extend_from_slice(plain.as_bytes());
                } else if counts.iter().all(|(old, there)| old == there) {
                    out.extend_from_slice(written);
                } else {
                    return Err(UnshiftableLine);
                }
            }
            out.extend_from_slice(chunk.invalid());
        }
        Ok(Cow::Owned(out))
    }

    /// Tabs between words became spaces, or spaces tabs, and the added line has such blanks, too: nothing tells
    /// what they were.
    fn tabs_differ(&self, line: &HunkLine<'_>) -> bool {
        match self.place.level {
            MatchLevel::Exact | MatchLevel::Trailing => return false,
            MatchLevel::Indent | MatchLevel::Blanks | MatchLevel::Typography => {}
        }
        let inner = |text: &[u8], blanks: &[u8]| {
            let text = trim(text);
            text.windows(blanks.len()).any(|window| window == blanks)
        };
        if matches!(self.place.shift, IndentShift::ToSpaces(_)) && inner(&line.text, b"\t") {
            return true;
        }
        let here = self.lines.get(self.place.start..).unwrap_or_default();
        let mut old = self.hunk.lines.iter().filter(|old| old.is_old()).zip(here);
        old.any(|(old, here)| {
            let lost = inner(here.text, b"\t") && !inner(&old.text, b"\t");
            // What comes in the place of a line with tabs has them where that line had.
            let blanks: &[u8] = if old.mark == LineMark::Remove { b" " } else { b"  " };
            let gained = inner(&old.text, b"\t") && !inner(here.text, b"\t");
            let at_front =
                self.place.shift == IndentShift::Same && leading_blanks(&line.text).contains(&b'\t');
            (lost && inner(&line.text, blanks)) || (gained && (at_front || inner(&line.text, b"\t")))
        })
    }

    fn write(&self, out: &mut Vec<u8>, line: &HunkLine<'_>, run: &ChangeRun<'_, '_>, at: usize, bare: bool) {
        if bare {
            return;
        }
        let eol = if self.literal {
            if line.cr { LineEnding::CrLf } else { LineEnding::Lf }
        } else {
            self.neighbour_ending(run, at)
        };
        out.extend_from_slice(eol.bytes());
    }

    /// The ending of the line that is replaced (of the last one, for more lines than were), else of the line
    /// above, else the usual one.
    fn neighbour_ending(&self, run: &ChangeRun<'_, '_>, at: usize) -> LineEnding {
        let replaced = (run.start < run.end).then(|| (run.start + at).min(run.end - 1));
        let above = run.start.checked_sub(1);
        replaced
            .or(above)
            .and_then(|at| self.lines.get(at))
            .map(|line| line.eol)
            .filter(|eol| *eol != LineEnding::Missing)
            .unwrap_or(self.usual)
    }

    /// The file begins with a byte order mark that the hunk does not know of, and its first line is written anew, or
    /// goes.
    fn byte_order_mark(&self, run: &ChangeRun<'_, '_>) -> bool {
        let has = |text: Option<&[u8]>| text.is_some_and(|text| text.starts_with(BOM));
        let known = self.hunk.lines.iter().any(|line| line.text.starts_with(BOM));
        let stays = self.lines.get(run.end).map(|line| line.text);
        let written = !run.added.is_empty() || stays.is_some_and(|text| !text.starts_with(BOM));
        run.start == 0 && written && !known && has(self.lines.first().map(|line| line.text))
    }

    /// Whether the new last line ends in a newline. Only a hunk that states a difference changes that.
    fn final_newline(&self, run: &ChangeRun<'_, '_>) -> bool {
        let has = self
            .lines
            .last()
            .is_none_or(|line| line.eol != LineEnding::Missing);
        if self.old_bare != self.new_bare {
            return !self.new_bare;
        }
        let rewritten = match (run.removed.last(), run.added.last()) {
            (Some(removed), Some(added)) => removed.text == added.text,
            (Some(_) | None, _) => false,
        };
        // The same line taken out and put in: what differs is the newline whose marker got lost.
        has || (rewritten && !self.old_bare && self.hunk.lines.iter().all(|line| !line.no_newline))
    }
}

/// The blanks at the end of every old line of the hunk, where the lines of the file have none: they came with the
/// transport, to the added lines as well.
fn transport_blanks<'h>(old: &[&'h HunkLine<'_>], here: &[TextLine<'_>]) -> &'h [u8] {
    let behind = |text: &'h [u8]| text.get(trim_end(text).len()..).unwrap_or_default();
    let mut pairs = old
        .iter()
        .zip(here)
        .filter(|(_, line)| !trim(line.text).is_empty());
    let clean = |line: &TextLine<'_>| trim_end(line.text) == line.text;
    let first = match pairs.next() {
        Some((old, line)) if clean(line) => behind(&old.text),
        Some(_) | None => return b"",
    };
    if pairs.all(|(old, line)| clean(line) && behind(&old.text) == first) {
        first
    } else {
        b""
    }
}

/// The commoner ending of the hunk's own lines, else of the file's first lines.
pub(crate) fn usual_ending(lines: &[TextLine<'_>], here: &[TextLine<'_>]) -> LineEnding {
    /// Enough to see a file's habit.
    const LOOKED_AT: usize = 1_000;
    let count = |lines: &[TextLine<'_>]| {
        let crlf = lines.iter().filter(|line| line.eol == LineEnding::CrLf).count();
        let lf = lines.iter().filter(|line| line.eol == LineEnding::Lf).count();
        (crlf, lf)
    };
    let (mut crlf, mut lf) = count(here);
    if crlf == lf {
        (crlf, lf) = count(lines.get(..LOOKED_AT).unwrap_or(lines));
    }
    if crlf > lf {
        LineEnding::CrLf
    } else {
        LineEnding::Lf
    }
}
