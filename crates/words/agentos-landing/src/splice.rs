//! Computes the exact bytes that a hunk changes at its place.
//!
//! Owns: line endings, the final newline and the shift of added lines. Never: touches a byte outside the lines that a
//! hunk removes or adds.
//!
//! The answer rarely has the bytes of the file. A model writes LF where the file has CRLF, drops the byte order mark,
//! or indents with spaces where the file has tabs. If the added lines were written as they are, one edit would mix
//! two line endings or two indentations in a file. The rule is: outside the placed lines no byte changes; inside, an
//! added line is the author's text, and nothing of it changes but its line end and what the transport did to the
//! blanks of the whole hunk. Each such property is derived from the lines that located the hunk:
//!
//! | property | decided by | without it |
//! |---|---|---|
//! | line ending | the hunk's own carriage returns if its old lines have the endings of the file, else the one ending of the file's lines there | a CRLF file gets LF lines |
//! | indentation | the shift that located the hunk ([`added`]) | a block lands at the wrong depth, which changes Python code |
//! | blanks at the end | removed if every old line has them and no line of the file does ([`added`]) | transport adds blanks to each new line |
//! | typography | made plain if the old lines have it in place of all plain characters of the file, and refused if they have it in some places | curly quotes land in source code |
//! | byte order mark | the first line of the file keeps it | the mark disappears, or moves into the file |
//! | final newline | changed only by a hunk that states a difference | a newline is added, as codex `apply_patch` does |
//!
//! Where a property cannot be derived from the old lines, [`UncertainBlanks`] refuses the hunk instead of guessing.

mod added;

use std::borrow::Cow;

use crate::locate::{HunkPlace, IndentShift, MatchLevel, look_alike};
use crate::parse::{Hunk, HunkLine, LineMark};
use crate::text::{BOM, FileLines, LineEnding, contains, leading_blanks, trim};

pub(crate) use added::{AddedText, UncertainBlanks};

/// Replacement of the lines `start..end` by these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineSplice {
    /// First line that is replaced. 0 is the first of the file.
    pub start: usize,
    /// Line after the last one that is replaced.
    pub end: usize,
    /// Bytes that replace them.
    pub bytes: Vec<u8>,
}

/// Returns the splices of one hunk, ascending.
///
/// # Errors
/// Fails if an added line cannot be converted to the file's indentation or typography.
pub(crate) fn hunk_splices(
    lines: FileLines<'_>,
    hunk: &Hunk,
    place: &HunkPlace,
) -> Result<Vec<LineSplice>, UncertainBlanks> {
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

/// Joins splices (ascending, without overlap) and the unchanged lines.
pub(crate) fn join_splices(lines: FileLines<'_>, splices: &[LineSplice]) -> Vec<u8> {
    let added: usize = splices.iter().map(|splice| splice.bytes.len()).sum();
    let mut out = Vec::with_capacity(lines.bytes().len() + added);
    let mut at = 0;
    for splice in splices {
        out.extend_from_slice(lines.clamped(at..splice.start).bytes());
        out.extend_from_slice(&splice.bytes);
        at = splice.end;
    }
    out.extend_from_slice(lines.below(at).bytes());
    out
}

/// Run of removed and added lines without context between them.
struct ChangeRun<'h> {
    /// First removed line in the file, or the line above which the lines are added.
    start: usize,
    /// Line after the last removed one.
    end: usize,
    removed: Vec<&'h HunkLine>,
    added: Vec<&'h HunkLine>,
}

impl<'h> ChangeRun<'h> {
    fn starting_at(start: usize) -> Self {
        Self {
            start,
            end: start,
            removed: Vec::new(),
            added: Vec::new(),
        }
    }

    /// Appends the splice of this run to `out`.
    fn close(&self, ending: &LineEndings<'_, 'h>, out: &mut Vec<LineSplice>) -> Result<(), UncertainBlanks> {
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
            .line(self.start.wrapping_sub(1))
            .filter(|line| line.eol == LineEnding::Missing);
        if let (Some(last), false) = (unended, self.added.is_empty()) {
            // Lines are added below a last line without a newline, so that line needs one now.
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
            match ending.as_in_file(line) {
                _ if ending.is_uncertain(self) => return Err(UncertainBlanks),
                Some(text) => splice.bytes.extend_from_slice(text),
                None if ending.tabs_differ(line) => return Err(UncertainBlanks),
                None => {
                    let text = ending.own_typography(&line.text).ok_or(UncertainBlanks)?;
                    splice.bytes.extend_from_slice(&ending.added.text_of(&text)?);
                }
            }
            if !at_end || at != last || ending.final_newline(self) {
                let eol = match (ending.literal, line.cr) {
                    (true, true) => LineEnding::CrLf,
                    (true, false) => LineEnding::Lf,
                    (false, _) => ending.neighbour_ending(self, at),
                };
                splice.bytes.extend_from_slice(eol.bytes());
            }
        }
        // Lines were added above the first line. The byte order mark moved to the new first line, so the old one is
        // written again without it.
        if let (true, true, Some(first)) = (marked, self.removed.is_empty(), ending.lines.line(0)) {
            splice.end = 1;
            splice
                .bytes
                .extend_from_slice(first.full.strip_prefix(BOM).unwrap_or(first.full));
        }
        out.push(splice);
        Ok(())
    }
}

/// Rules for the bytes of added lines, derived once for each hunk: line endings, indentation, typography, final newline.
struct LineEndings<'l, 'h> {
    lines: FileLines<'l>,
    place: &'l HunkPlace,
    /// True if the carriage returns of the hunk's old lines match the file. Then those of its added lines are intended.
    literal: bool,
    /// Ending of most lines near the hunk.
    usual: LineEnding,
    /// True if the hunk states that the old text has no final newline.
    old_bare: bool,
    /// True if the hunk states that the new text has no final newline.
    new_bare: bool,
    /// Rule for the blanks of added lines.
    added: AddedText<'l, 'h>,
    hunk: &'h Hunk,
}

impl<'l, 'h> LineEndings<'l, 'h> {
    fn for_hunk(lines: FileLines<'l>, hunk: &'h Hunk, place: &'l HunkPlace) -> Self {
        let old: Vec<&HunkLine> = hunk.old_lines().collect();
        let here = lines.clamped(place.start..place.start + old.len());
        // An empty file has no endings that could contradict those of the hunk, and a last line without an end confirms
        // none.
        let confirmed = here.iter().any(|line| line.eol != LineEnding::Missing) || lines.len() <= 1;
        let literal = confirmed
            && (!old.is_empty() || lines.len() == 0)
            && old.iter().zip(here.iter()).all(|(old, line)| {
                line.eol == LineEnding::Missing || old.cr == (line.eol == LineEnding::CrLf)
            });
        let added = hunk.lines.iter().filter(|line| line.mark == LineMark::Add);
        let last_new = hunk.lines.iter().rev().find(|line| line.is_new());
        Self {
            lines,
            place,
            literal,
            usual: usual_ending(lines, here),
            old_bare: old.iter().any(|line| line.no_newline),
            new_bare: last_new.is_some_and(|line| line.no_newline),
            added: AddedText::derive(lines, place, &old, &added.collect::<Vec<_>>()),
            hunk,
        }
    }

    /// Returns the file's own bytes for an added line that equals a removed line of the hunk, as when a line is moved.
    /// Returns `None` if there is no such line, or if the hunk's blanks are those of the file. A context line is no
    /// source: the author writes an equal line a second time, and what is written is the author's.
    fn as_in_file(&self, line: &HunkLine) -> Option<&'l [u8]> {
        if self.place.level <= MatchLevel::Indent {
            return None;
        }
        let old = self.hunk.old_lines();
        let mut same = old
            .zip(self.lines.below(self.place.start).iter())
            .filter(|(old, _)| old.mark == LineMark::Remove && old.text == line.text)
            .map(|(_, here)| here.text);
        let first = same.next()?;
        // If the file spells the line in two ways, nothing shows which one is right.
        same.all(|text| text == first).then_some(first)
    }

    /// Returns an added line without the typographic characters, such as curly quotes, that the transport put there: the
    /// old lines have them where the file has plain ones, and have no plain ones. Returns `None` if the old lines do not
    /// show whether a character is the author's.
    fn own_typography<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let Some(valid) = std::str::from_utf8(text).ok().filter(|text| !text.is_ascii()) else {
            return Some(Cow::Borrowed(text));
        };
        if self.place.level != MatchLevel::Typography {
            return Some(Cow::Borrowed(text));
        }
        let here = self.lines.below(self.place.start);
        let old = || self.hunk.old_lines().zip(here.iter());
        let count = |text: &[u8], part: &str| {
            let part = part.as_bytes();
            text.windows(part.len().max(1)).filter(|at| *at == part).count()
        };
        let mut out = String::with_capacity(valid.len());
        for character in valid.chars() {
            let mut buffer = [0; 4];
            let written: &str = character.encode_utf8(&mut buffer);
            let Some(plain) = look_alike(character) else {
                out.push(character);
                continue;
            };
            let counts = || old().map(|(old, here)| (count(&old.text, written), count(here.text, written)));
            let shown = counts().any(|counts| counts != (0, 0));
            if shown && counts().all(|(old, here)| old == here) {
                out.push(character);
            } else if counts().any(|(old, _)| old > 0)
                && counts().all(|(_, here)| here == 0)
                && old().all(|(old, _)| count(&old.text, plain) == 0)
            {
                out.push_str(plain);
            } else {
                return None;
            }
        }
        Some(Cow::Owned(out.into_bytes()))
    }

    /// Returns true if the old lines show that tabs between words became spaces, or spaces became tabs, and the added line
    /// has such blanks too. Nothing shows what those should be.
    fn tabs_differ(&self, line: &HunkLine) -> bool {
        if self.place.level < MatchLevel::Indent {
            return false;
        }
        let inner = |text: &[u8], blanks: &[u8]| contains(trim(text), blanks);
        if matches!(self.place.shift, IndentShift::ToSpaces(_)) && inner(&line.text, b"\t") {
            return true;
        }
        let here = self.lines.below(self.place.start);
        // What loses tabs loses them in all added lines.
        let keeps = |line: &HunkLine| line.mark == LineMark::Add && line.text.contains(&b'\t');
        let keeps_tabs = self.hunk.lines.iter().any(keeps);
        let mut old = self.hunk.old_lines().zip(here.iter());
        old.any(|(old, here)| {
            let lost = !keeps_tabs && inner(here.text, b"\t") && !inner(&old.text, b"\t");
            // If the line is removed, the added line probably replaces it, so that even one space in it can be a lost tab.
            // For a context line, only two spaces or more can be.
            let blanks: &[u8] = if old.mark == LineMark::Remove { b" " } else { b"  " };
            let gained = inner(&old.text, b"\t") && !inner(here.text, b"\t");
            let at_front =
                self.place.shift == IndentShift::Same && leading_blanks(&line.text).contains(&b'\t');
            (lost && inner(&line.text, blanks)) || (gained && (at_front || inner(&line.text, b"\t")))
        })
    }

    /// Returns true if nothing states the ending of the added lines of a run: the hunk does not have the file's endings,
    /// and the lines around the run, or those that it replaces by another number of lines, end in both ways.
    fn is_uncertain(&self, run: &ChangeRun<'_>) -> bool {
        let around = if run.removed.is_empty() {
            run.start.saturating_sub(1)..run.end + 1
        } else if run.removed.len() == run.added.len() {
            return false;
        } else {
            run.start..run.end
        };
        let mut here = [LineEnding::Lf, LineEnding::CrLf].into_iter();
        let around = self.lines.clamped(around);
        !self.literal && here.all(|ending| around.iter().any(|line| line.eol == ending))
    }

    /// Returns the ending of the line that is replaced (of the last one, if lines are added), else of the line above,
    /// else the usual one.
    fn neighbour_ending(&self, run: &ChangeRun<'_>, at: usize) -> LineEnding {
        let replaced = (run.start < run.end).then(|| (run.start + at).min(run.end - 1));
        let above = run.start.checked_sub(1);
        replaced
            .or(above)
            .and_then(|at| self.lines.line(at))
            .map(|line| line.eol)
            .filter(|eol| *eol != LineEnding::Missing)
            .unwrap_or(self.usual)
    }

    /// Returns true if the file begins with a byte order mark that the hunk does not mention, and the hunk rewrites
    /// or removes its first line.
    fn byte_order_mark(&self, run: &ChangeRun<'_>) -> bool {
        let has = |text: Option<&[u8]>| text.is_some_and(|text| text.starts_with(BOM));
        // The mark is not at the front of a line that got another indentation.
        let known = self.hunk.lines.iter().any(|line| contains(&line.text, BOM));
        let stays = self.lines.line(run.end).map(|line| line.text);
        let written = !run.added.is_empty() || stays.is_some_and(|text| !text.starts_with(BOM));
        run.start == 0 && written && !known && has(self.lines.line(0).map(|line| line.text))
    }

    /// Returns true if the new last line ends in a newline. Only a hunk that states a difference changes that.
    fn final_newline(&self, run: &ChangeRun<'_>) -> bool {
        let last = self.lines.iter().next_back();
        let has = last.is_none_or(|line| line.eol != LineEnding::Missing);
        if self.old_bare != self.new_bare {
            return !self.new_bare;
        }
        let last = run.removed.last().zip(run.added.last());
        let rewritten = last.is_some_and(|(removed, added)| removed.text == added.text);
        // If the last line is removed and added with the same text, the hunk can only mean the final newline. The answer
        // lost the `\ No newline` line that would say so.
        has || (rewritten && !self.old_bare && self.hunk.lines.iter().all(|line| !line.no_newline))
    }
}

/// Returns the more frequent ending of the lines `here`, at the hunk's place. If both are equally frequent there, returns
/// that of the first lines of the file.
pub(crate) fn usual_ending(lines: FileLines<'_>, here: FileLines<'_>) -> LineEnding {
    /// Maximum number of first lines that are counted.
    const LOOKED_AT: usize = 1_000;
    let count = |lines: FileLines<'_>| {
        let crlf = lines.iter().filter(|line| line.eol == LineEnding::CrLf).count();
        let lf = lines.iter().filter(|line| line.eol == LineEnding::Lf).count();
        (crlf, lf)
    };
    let (mut crlf, mut lf) = count(here);
    if crlf == lf {
        (crlf, lf) = count(lines.clamped(0..LOOKED_AT));
    }
    if crlf > lf {
        LineEnding::CrLf
    } else {
        LineEnding::Lf
    }
}
