//! One hunk of a unified diff: its header, and where its body ends.
//!
//! Owns: counts against structure. Where the two disagree the structure decides, because what a reader sees
//! is what counts; a count decides only what no reader would take for the hunk. Never: drops an edit.

use std::borrow::Cow;

use super::cursor::LineCursor;
use super::model::{HeaderName, Hunk, HunkLine, LineMark, StatedLines, new_repair};
use super::name::{header_name, same_file};
use crate::text::{trim, trim_end};

/// Reads `@@ -1,3 +1,4 @@ section` in any state of health.
pub(crate) fn parse_header(line: &[u8]) -> Option<(StatedLines, &[u8])> {
    let rest = line.strip_prefix(b"@@")?;
    let rest = rest.strip_prefix(b"@").unwrap_or(rest);
    let (numbers, section) = split_at_marks(rest);
    let stated = numbers.map(parse_numbers).unwrap_or_default();
    let section = if numbers.is_some() { section } else { rest };
    Some((stated, trim(section)))
}

/// Splits at the closing `@@`.
fn split_at_marks(rest: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match rest.windows(2).position(|pair| pair == b"@@") {
        Some(at) => (rest.get(..at), rest.get(at + 2..).unwrap_or_default()),
        None => (None, rest),
    }
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
        None => start.map(|_| 1),
    };
    (start, count)
}

fn parse_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The lines of a body, by what they mean.
enum BodyLine<'a> {
    Marked(LineMark, &'a [u8]),
    /// An empty line: blank context whose leading blank got lost, or the end.
    Empty,
    /// `\ No newline at end of file`.
    NoNewline,
    /// No mark in front.
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

/// `\ No newline at end of file`, in any language, as git tells it: by the blank and the length. Other lines that begin
/// so are text, as TeX has it.
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

/// How many lines a body has, counted as it is read.
#[derive(Clone, Copy, Default)]
struct LineCount {
    old: u64,
    new: u64,
}

impl LineCount {
    fn add_line(&mut self, shape: &BodyLine<'_>) {
        match shape {
            BodyLine::Marked(LineMark::Remove, _) => self.old += 1,
            BodyLine::Marked(LineMark::Add, _) => self.new += 1,
            BodyLine::Marked(LineMark::Context, _) | BodyLine::Empty | BodyLine::Unmarked(_) => {
                self.old += 1;
                self.new += 1;
            }
            BodyLine::NoNewline => {}
        }
    }
}

/// What is known about the text around a hunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HunkSurroundings {
    /// It stands in a fence: there is no prose.
    pub in_fence: bool,
    /// Its file began with a `diff --git` line, so the next one does, too: names in a body are body lines.
    pub after_git_line: bool,
    /// Its header line ends in a carriage return: that came with the crlf_transport, and those of the body mean nothing.
    pub crlf_transport: bool,
}

/// Reads the body after the header line `cursor.at - 1` and moves past it.
pub(crate) fn read_body<'a>(
    cursor: &mut LineCursor<'_, 'a>,
    stated: StatedLines,
    around: HunkSurroundings,
) -> Hunk<'a> {
    let start = cursor.at;
    let (end, full) = body_extent(cursor, stated, around);
    let mut hunk = Hunk {
        stated,
        marked: true,
        ..Hunk::default()
    };
    let cut = match full {
        Some(full) if rest_is_prose(cursor, full, end, around.in_fence) => full,
        _ => without_trailing_empty(cursor, start, end),
    };
    if let (Some(old), Some(new)) = (stated.old_count, stated.new_count)
        && full != Some(cut)
    {
        hunk.repairs.push(new_repair(
            "wrong-count",
            format!("the header counts {old} old and {new} new lines; the hunk has others"),
        ));
    }
    let signed = |line: &[u8]| is_signature(cursor, end, line);
    if full != Some(cut) && cursor.line(end).is_some_and(signed) {
        hunk.continuation.push(Cow::Borrowed(b"-"));
    }
    for index in start..cut {
        let Some(line) = cursor.line(index) else { break };
        push_line(
            &mut hunk,
            line,
            cursor.ends_in_cr(index) && !around.crlf_transport,
        );
    }
    cursor.at = end;
    hunk
}

fn push_line<'a>(hunk: &mut Hunk<'a>, line: &'a [u8], cr: bool) {
    let (mark, text) = match classify_line(line) {
        BodyLine::Marked(mark, text) => (mark, text),
        BodyLine::Empty => (LineMark::Context, line),
        BodyLine::Unmarked(text) => {
            if hunk.repairs.iter().all(|repair| repair.kind != "missing-mark") {
                hunk.repairs.push(new_repair(
                    "missing-mark",
                    "a line without a mark in front was read as context",
                ));
            }
            (LineMark::Context, text)
        }
        BodyLine::NoNewline => {
            if let Some(last) = hunk.lines.last_mut() {
                last.no_newline = true;
                if std::mem::take(&mut last.cr) {
                    // No line feed follows in the file, so the carriage return is content.
                    last.text.to_mut().push(b'\r');
                }
            }
            return;
        }
    };
    hunk.lines.push(HunkLine {
        mark,
        text: Cow::Borrowed(text),
        cr,
        no_newline: false,
    });
}

/// Where the structure ends the body, and where the stated counts do, if they do anywhere before.
fn body_extent(
    cursor: &LineCursor<'_, '_>,
    stated: StatedLines,
    around: HunkSurroundings,
) -> (usize, Option<usize>) {
    let counted_end = counted_end(cursor, stated, around);
    let mut count = LineCount::default();
    let mut full = None;
    let mut index = cursor.at;
    while let Some(line) = cursor.line(index) {
        let shape = classify_line(line);
        if full.is_none()
            && !matches!(shape, BodyLine::NoNewline)
            && counts_reached(count, stated)
            && index > cursor.at
        {
            full = Some(index);
        }
        let inside = counted_end
            .is_some_and(|end| index < end && (around.after_git_line || !header_at_end(cursor, index, end)));
        if !inside && ends_body(cursor, index, line, around, full.is_some()) {
            break;
        }
        count.add_line(&shape);
        index += 1;
    }
    if full.is_none() && counts_reached(count, stated) {
        full = Some(index);
    }
    (index, full)
}

/// Where the counts alone end the body: every line up to there has a mark, and what follows begins another part.
/// Work ends at the next `@@`, which no body line begins with.
fn counted_end(cursor: &LineCursor<'_, '_>, stated: StatedLines, around: HunkSurroundings) -> Option<usize> {
    // Without counts there is no such end, and looking for it for each of many headers would take long.
    let (Some(_), Some(_)) = (stated.old_count, stated.new_count) else {
        return None;
    };
    let mut count = LineCount::default();
    let mut index = cursor.at;
    while !counts_reached(count, stated) {
        let shape = classify_line(cursor.line(index)?);
        if matches!(shape, BodyLine::Unmarked(_)) {
            return None;
        }
        count.add_line(&shape);
        index += 1;
    }
    while cursor.line(index).is_some_and(is_no_newline) {
        index += 1;
    }
    let clean = cursor.line(index).is_none_or(|line| {
        line.is_empty()
            || line.starts_with(b"@@")
            || is_header(line)
            || super::cursor::parse_fence(line).is_some()
            || (!around.after_git_line && begins_file(cursor, index))
            || is_signature(cursor, index, line)
    });
    clean.then_some(index)
}

/// The last two counted lines are names, and a hunk follows: then the counts are two too many, and this is the
/// header of the next file.
fn header_at_end(cursor: &LineCursor<'_, '_>, index: usize, end: usize) -> bool {
    index + 2 == end
        && cursor.line(end).is_some_and(|line| line.starts_with(b"@@"))
        && matches!(header_names(cursor, index), Some((old, new)) if one_file(&old, &new))
}

fn counts_reached(count: LineCount, stated: StatedLines) -> bool {
    stated.old_count == Some(count.old) && stated.new_count == Some(count.new)
}

/// True when this line is no longer part of a body.
fn ends_body(
    cursor: &LineCursor<'_, '_>,
    index: usize,
    line: &[u8],
    around: HunkSurroundings,
    full: bool,
) -> bool {
    match line.first() {
        None | Some(b' ' | b'+') => false,
        Some(b'\\') if is_no_newline(line) => false,
        Some(b'-') => {
            (!around.after_git_line && begins_file(cursor, index)) || is_signature(cursor, index, line)
        }
        Some(b'@') if line.starts_with(b"@@") => true,
        Some(b'`' | b'~') if super::cursor::parse_fence(line).is_some() => true,
        Some(_) if around.in_fence => is_header(line),
        Some(_) => is_header(line) || full || line.starts_with(b"</") || begins_prose(cursor, index),
    }
}

/// Prose stands below an empty line. A line right below the body belongs to it, and lost its mark.
fn begins_prose(cursor: &LineCursor<'_, '_>, index: usize) -> bool {
    index == cursor.at || cursor.line(index - 1).is_none_or(|above| trim(above).is_empty())
}

/// Lines that begin or belong to another part of the answer.
fn is_header(line: &[u8]) -> bool {
    const STARTS: [&[u8]; 14] = [
        b"diff --git ",
        b"diff -",
        b"diff a/",
        b"index ",
        b"Index: ",
        b"new file mode ",
        b"deleted file mode ",
        b"old mode ",
        b"new mode ",
        b"rename from ",
        b"rename to ",
        b"similarity index ",
        b"*** ",
        b"Binary files ",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// `--- x` and `+++ y` inside a body are a removed and an added line, unless they are plainly a header.
pub(crate) fn begins_file(cursor: &LineCursor<'_, '_>, index: usize) -> bool {
    let Some((old, new)) = header_names(cursor, index) else {
        return false;
    };
    let hunk_follows = cursor.line(index + 2).is_some_and(|line| line.starts_with(b"@@"));
    let path = matches!(&old, HeaderName::Written(old) if old.contains(&b'/'));
    hunk_follows
        || (one_file(&old, &new) && (path || old == HeaderName::Nothing || new == HeaderName::Nothing))
}

/// The two names of a header that begins here.
fn header_names(cursor: &LineCursor<'_, '_>, index: usize) -> Option<(HeaderName, HeaderName)> {
    let old = cursor.line(index)?.strip_prefix(b"--- ").and_then(header_name)?;
    let new = cursor
        .line(index + 1)?
        .strip_prefix(b"+++ ")
        .and_then(header_name)?;
    (old != HeaderName::Unstated && new != HeaderName::Unstated).then_some((old, new))
}

/// Both names are of one file.
fn one_file(old: &HeaderName, new: &HeaderName) -> bool {
    match (old, new) {
        (HeaderName::Nothing, HeaderName::Written(_)) | (HeaderName::Written(_), HeaderName::Nothing) => true,
        (HeaderName::Written(old), HeaderName::Written(new)) => same_file(old, new),
        (HeaderName::Unstated, _)
        | (_, HeaderName::Unstated)
        | (HeaderName::Nothing, HeaderName::Nothing) => false,
    }
}

/// The `-- ` line that ends a mail made by `git format-patch`.
fn is_signature(cursor: &LineCursor<'_, '_>, index: usize, line: &[u8]) -> bool {
    if trim_end(line) != b"--" {
        return false;
    }
    match cursor.line(index + 1) {
        None => true,
        Some(next) => next.first().is_some_and(u8::is_ascii_digit) && next.contains(&b'.'),
    }
}

/// After the counts are full: nothing but empty lines and prose follows. In a fence there is no prose.
fn rest_is_prose(cursor: &LineCursor<'_, '_>, full: usize, end: usize, in_fence: bool) -> bool {
    let rest = || (full..end).filter_map(|index| cursor.line(index));
    if rest().all(<[u8]>::is_empty) {
        return true;
    }
    !in_fence
        && cursor.line(full).is_some_and(<[u8]>::is_empty)
        && rest().all(|line| line.is_empty() || is_bullet(line))
}

/// `- a sentence`, as in a Markdown list.
pub(crate) fn is_bullet(line: &[u8]) -> bool {
    matches!(line, [b'-' | b'+', b' ', next, ..] if !next.is_ascii_whitespace())
}

/// Empty lines at the end of a body are more often a gap in the text than context; context only narrows the
/// place, so leaving them out is safe.
fn without_trailing_empty(cursor: &LineCursor<'_, '_>, start: usize, end: usize) -> usize {
    let mut end = end;
    while end > start && cursor.line(end - 1).is_some_and(<[u8]>::is_empty) {
        end -= 1;
    }
    end
}
