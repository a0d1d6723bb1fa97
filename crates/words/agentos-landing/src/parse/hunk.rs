//! One hunk of a unified diff: its header, and where its body ends.
//!
//! Owns: the decision between the header's counts and the structure of the lines. Never: drops an edit.
//!
//! A hunk ends where its header's counts are reached, or where its lines stop looking like a body. Models count
//! wrong, so these two often disagree. The structure decides, because a person who reviews the diff sees the
//! structure and not the counts. The counts decide only about lines that a reader would not see as part of the hunk,
//! such as empty lines and prose below it.
//!
//! | counts | structure | body ends |
//! |---|---|---|
//! | reached, and a header, a fence or nothing follows | anything | at the counts: `--- a/x` inside is a removed line |
//! | reached, then only empty lines or prose | goes on | at the counts |
//! | reached earlier or never | ends | at the structure, without trailing empty lines; `wrong-count` is reported |

use super::cursor::{LineCursor, parse_fence};
use super::model::{HeaderName, Hunk, HunkLine, LineMark, StatedLines, missing_mark, new_repair};
use super::name::{header_name, same_file};
use crate::text::{begins_as, trim, trim_end};

/// Parses `@@ -1,3 +1,4 @@ section`, even if numbers or marks are missing. Returns the numbers and the text after them.
/// Returns `None` if the line does not begin with `@@`.
pub(crate) fn parse_header(line: &[u8]) -> Option<(StatedLines, &[u8])> {
    let rest = line.strip_prefix(b"@@")?;
    // git's combined diffs write `@@@`.
    let rest = rest.strip_prefix(b"@").unwrap_or(rest);
    let Some(at) = rest.windows(2).position(|pair| pair == b"@@") else {
        return Some((StatedLines::default(), trim(rest)));
    };
    let (inner, section) = (rest.get(..at)?, rest.get(at + 2..)?);
    let stated = parse_numbers(inner);
    // `@@ fn one() { @@`: a heading is where git writes the numbers.
    let is_heading = stated == StatedLines::default() && trim(section).is_empty();
    Some((stated, trim(if is_heading { inner } else { section })))
}

fn parse_numbers(text: &[u8]) -> StatedLines {
    let mut stated = StatedLines::default();
    for word in text.split(|byte| *byte == b' ' || *byte == b'\t') {
        if let Some(old) = word.strip_prefix(b"-") {
            (stated.old_start, stated.old_count) = parse_range(old);
        } else if let Some(new) = word.strip_prefix(b"+") {
            (stated.new_start, stated.new_count) = parse_range(new);
        }
    }
    stated
}

fn parse_range(text: &[u8]) -> (Option<u64>, Option<u64>) {
    let mut parts = text.splitn(2, |byte| *byte == b',');
    let start = parts.next().and_then(parse_number);
    let count = match parts.next() {
        Some(count) => parse_number(count),
        // As in git: `@@ -3 +3 @@` has one line on each side.
        None => start.map(|_| 1),
    };
    (start, count)
}

/// Parses a number of a header. Returns `None` if it is none, or if no file has so many lines: JSON readers lose the
/// digits of numbers above 2^53, so that a report could not be recorded.
fn parse_number(text: &[u8]) -> Option<u64> {
    const MOST: u64 = 1 << 53;
    let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number < MOST).then_some(number)
}

/// Line of a body, by its meaning.
enum BodyLine<'a> {
    /// Line with a mark, and its text without the mark.
    Marked(LineMark, &'a [u8]),
    /// Empty line: blank context whose mark got lost, or the end.
    Empty,
    /// `\ No newline at end of file`.
    NoNewline,
    /// Line without a mark.
    Unmarked(&'a [u8]),
}

fn classify_line(line: &[u8]) -> BodyLine<'_> {
    match line.split_first() {
        None => BodyLine::Empty,
        Some((b' ', rest)) => BodyLine::Marked(LineMark::Context, rest),
        Some((b'-', rest)) => BodyLine::Marked(LineMark::Remove, rest),
        Some((b'+', rest)) => BodyLine::Marked(LineMark::Add, rest),
        Some(_) if is_no_newline(line) => BodyLine::NoNewline,
        Some(_) => BodyLine::Unmarked(line),
    }
}

/// Returns true for `\ No newline at end of file` in any language. As in git, a line with a backslash, a space and at
/// least 12 bytes is such a line. Other lines with a backslash are text, as in TeX.
fn is_no_newline(line: &[u8]) -> bool {
    const SHORTEST: usize = 12;
    let Some(rest) = line.strip_prefix(b"\\") else {
        return false;
    };
    let english = trim(rest)
        .get(..10)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"no newline"));
    english || (rest.starts_with(b" ") && line.len() >= SHORTEST)
}

/// Numbers of old and new lines, counted as a body is read.
#[derive(Clone, Copy, Default)]
pub(crate) struct LineCount {
    old: u64,
    new: u64,
}

impl LineCount {
    /// Counts a line of a body.
    pub(crate) fn add_line(&mut self, line: &[u8]) {
        let kind = classify_line(line);
        let is_not = |mark| !matches!(kind, BodyLine::Marked(other, _) if other == mark);
        let counts = !matches!(kind, BodyLine::NoNewline);
        self.old += u64::from(counts && is_not(LineMark::Add));
        self.new += u64::from(counts && is_not(LineMark::Remove));
    }

    /// Returns true if these are the numbers that the header of the hunk states.
    pub(crate) fn is_stated(self, stated: StatedLines) -> bool {
        stated.old_count == Some(self.old) && stated.new_count == Some(self.new)
    }
}

/// Facts about the text around a hunk.
#[derive(Clone, Copy, Default)]
pub(crate) struct HunkSurroundings {
    /// True if the hunk is in a code fence, so no prose follows it.
    pub in_fence: bool,
    /// True if its file began with a `diff --git` line. Then the next file begins with such a line too, and `---` and
    /// `+++` lines in the body are removed and added lines.
    pub after_git_line: bool,
    /// True if its header line ends in a carriage return. The transport added it, so the carriage returns in the body are
    /// not content either.
    pub crlf_transport: bool,
}

impl LineCursor<'_, '_> {
    /// Reads the body below the header line `self.at - 1` and moves past it.
    pub(crate) fn read_body(&mut self, stated: StatedLines, around: HunkSurroundings) -> Hunk {
        let start = self.at;
        // `end` is the end by structure, `full` the end by counts, `cut` the one that is used.
        let (end, full) = self.body_extent(stated, around);
        let mut hunk = Hunk {
            stated,
            marked: true,
            ..Hunk::default()
        };
        let cut = match full {
            Some(full) if self.rest_is_prose(full, end, around.in_fence) => full,
            _ => self.without_trailing_empty(start, end),
        };
        if let (Some(old), Some(new)) = (stated.old_count, stated.new_count)
            && full != Some(cut)
        {
            hunk.repairs.push(new_repair(
                "wrong-count",
                format!("the header counts {old} old and {new} new lines; the hunk has other numbers"),
            ));
        }
        let signed = |line: &[u8]| self.is_signature(end, line);
        // `--` may be a mail signature, or a removed line with the text `-`. It is read as a signature. The line is kept as a
        // possible continuation: if the file has it at this place, the hunk is refused as ambiguous.
        if full != Some(cut) && self.line(end).is_some_and(signed) {
            hunk.continuation.push(b"-".to_vec());
        }
        for index in start..cut {
            let Some(line) = self.line(index) else { break };
            let cr = self.ends_in_cr(index) && !around.crlf_transport;
            push_line(&mut hunk, line, cr);
        }
        self.at = end;
        hunk
    }

    /// Returns the end of the body that begins here, by structure, and by the stated counts. The second is `None` if
    /// the counts are not reached.
    pub(super) fn body_extent(
        &self,
        stated: StatedLines,
        around: HunkSurroundings,
    ) -> (usize, Option<usize>) {
        let counted_end = self.counted_end(stated, around);
        let mut count = LineCount::default();
        let mut full = None;
        let mut index = self.at;
        while let Some(line) = self.line(index) {
            if full.is_none() && !is_no_newline(line) && count.is_stated(stated) && index > self.at {
                full = Some(index);
            }
            let inside = counted_end.is_some_and(|end| index < end);
            // Lines before the counted end are body lines even if they look like a header.
            if !inside && self.ends_body(index, line, around, full.is_some()) {
                break;
            }
            count.add_line(line);
            index += 1;
        }
        if full.is_none() && count.is_stated(stated) {
            full = Some(index);
        }
        (index, full)
    }

    /// Returns the end of the body by the counts alone, if they are credible: every line before it has a mark, and another
    /// part begins there. Returns `None` otherwise. A line without a mark, such as the next `@@`, ends the search.
    fn counted_end(&self, stated: StatedLines, around: HunkSurroundings) -> Option<usize> {
        // Without counts there is no such end, and searching for it below each of many headers would take quadratic time.
        let (Some(_), Some(_)) = (stated.old_count, stated.new_count) else {
            return None;
        };
        let mut count = LineCount::default();
        let mut index = self.at;
        while !count.is_stated(stated) {
            let line = self.line(index)?;
            if matches!(classify_line(line), BodyLine::Unmarked(_)) {
                return None;
            }
            count.add_line(line);
            index += 1;
        }
        while self.line(index).is_some_and(is_no_newline) {
            index += 1;
        }
        let clean = self.line(index).is_none_or(|line| {
            line.is_empty()
                || line.starts_with(b"@@")
                || is_header(line)
                || parse_fence(line).is_some()
                || (!around.after_git_line && self.begins_file(index))
                || self.is_signature(index, line)
        });
        clean.then_some(index)
    }

    /// Returns true if this line is not part of the body any more. `full` is true if the counts were reached before it.
    fn ends_body(&self, index: usize, line: &[u8], around: HunkSurroundings, full: bool) -> bool {
        match line.first() {
            None | Some(b' ' | b'+') => false,
            Some(b'\\') if is_no_newline(line) => false,
            Some(b'-') => {
                (!around.after_git_line && self.begins_file(index)) || self.is_signature(index, line)
            }
            Some(b'@') if line.starts_with(b"@@") => true,
            Some(b'`' | b'~') if parse_fence(line).is_some() => true,
            Some(_) if around.in_fence => is_header(line),
            // `</`: some models wrap the diff in tags.
            Some(_) => is_header(line) || full || line.starts_with(b"</") || self.begins_prose(index),
        }
    }

    /// Returns true if prose begins at this line. That needs an empty line above it: a line directly below the body is part
    /// of the body and lost its mark.
    fn begins_prose(&self, index: usize) -> bool {
        index == self.at || self.line(index - 1).is_none_or(|above| trim(above).is_empty())
    }

    /// Returns true if `--- x` and `+++ y` inside a body are certainly the header of the next file: a hunk follows, or both
    /// name one file, and by a path or `/dev/null`. Otherwise they are a removed and an added line.
    pub(crate) fn begins_file(&self, index: usize) -> bool {
        let Some((old, new)) = self.header_names(index) else {
            return false;
        };
        let hunk_follows = self.line(index + 2).is_some_and(|line| line.starts_with(b"@@"));
        let is_path = || old.written().is_none_or(|old| old.contains(&b'/')) || new == HeaderName::Nothing;
        // Both names are of one file, which may be created or deleted.
        let one_file = || match (old.written(), new.written()) {
            (Some(old), Some(new)) => same_file(old, new),
            (old, new) => old.is_some() || new.is_some(),
        };
        hunk_follows || (one_file() && is_path())
    }

    /// Returns the two names of a header that begins here. Returns `None` if none does.
    fn header_names(&self, index: usize) -> Option<(HeaderName, HeaderName)> {
        let old = self.line(index)?.strip_prefix(b"--- ").and_then(header_name)?;
        let new = self
            .line(index + 1)?
            .strip_prefix(b"+++ ")
            .and_then(header_name)?;
        (old != HeaderName::Unstated && new != HeaderName::Unstated).then_some((old, new))
    }

    /// Returns true for the `-- ` line that ends a mail of `git format-patch`: the last line, or one above git's version.
    fn is_signature(&self, index: usize, line: &[u8]) -> bool {
        if trim_end(line) != b"--" {
            return false;
        }
        match self.line(index + 1) {
            None => true,
            Some(next) => next.first().is_some_and(u8::is_ascii_digit) && next.contains(&b'.'),
        }
    }

    /// Returns true if only empty lines, or a Markdown list or rule as prose, follow the line `full` at which the counts are reached. In
    /// a fence there is no prose.
    fn rest_is_prose(&self, full: usize, end: usize, in_fence: bool) -> bool {
        let rest = || (full..end).filter_map(|index| self.line(index));
        if rest().all(<[u8]>::is_empty) {
            return true;
        }
        !in_fence
            && self.line(full).is_some_and(<[u8]>::is_empty)
            && rest().all(|line| line.is_empty() || is_bullet(line) || is_rule(line))
    }

    /// Returns the end of a body without the empty lines at its end. They are usually a gap in the text. If they were context
    /// lines, the hunk only matches more places without them, and a hunk that matches several places is refused.
    fn without_trailing_empty(&self, start: usize, end: usize) -> usize {
        let is_empty = |index: &usize| self.line(*index).is_some_and(<[u8]>::is_empty);
        end - (start..end).rev().take_while(is_empty).count()
    }
}

/// Adds a line of a body to a hunk. `cr` is true if its carriage return is content.
pub(super) fn push_line(hunk: &mut Hunk, line: &[u8], cr: bool) {
    let (mark, text) = match classify_line(line) {
        BodyLine::Marked(mark, text) => (mark, text),
        BodyLine::Empty => (LineMark::Context, line),
        BodyLine::Unmarked(text) => {
            // Reported once for each hunk, however many lines lost their mark.
            if hunk.repairs.iter().all(|repair| repair.kind != "missing-mark") {
                hunk.repairs.push(missing_mark());
            }
            (LineMark::Context, text)
        }
        BodyLine::NoNewline => {
            if let Some(last) = hunk.lines.last_mut() {
                last.no_newline = true;
                if std::mem::take(&mut last.cr) {
                    // No line feed follows in the file, so the carriage return is content.
                    last.text.push(b'\r');
                }
            }
            return;
        }
    };
    hunk.lines.push(HunkLine {
        cr,
        ..HunkLine::new(mark, text)
    });
}

/// Returns true for a line that begins or belongs to another part of the answer.
fn is_header(line: &[u8]) -> bool {
    const STARTS: &str = "diff --git ;diff -;diff a/;index ;Index: ;new file mode ;deleted file mode ;old mode ;new mode ;\
        rename from ;rename to ;similarity index ;*** ;Binary files ";
    begins_as(STARTS, line)
}

/// Returns true for a line of dashes alone, as a rule in Markdown.
pub(crate) fn is_rule(line: &[u8]) -> bool {
    line.len() > 1 && trim(line).iter().all(|byte| *byte == b'-')
}

/// Returns true for `- a sentence`, as in a Markdown list.
pub(crate) fn is_bullet(line: &[u8]) -> bool {
    matches!(line, [b'-' | b'+', b' ', next, ..] if !next.is_ascii_whitespace())
}
