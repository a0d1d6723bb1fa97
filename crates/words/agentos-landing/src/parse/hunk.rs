//! One hunk of a unified diff: its header, and where its body ends.
//!
//! Owns: counts against structure. Where the two disagree the structure decides, because what a reader sees
//! is what counts; a count decides only what no reader would take for the hunk. Never: drops an edit.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::model::{Hunk, HunkLine, Mark, Name, Stated, repair};
use super::name::{header_name, same_file};
use crate::text::{trim, trim_end};

/// Reads `@@ -1,3 +1,4 @@ section` in any state of health.
pub(crate) fn header(line: &[u8]) -> Option<(Stated, &[u8])> {
    let rest = line.strip_prefix(b"@@")?;
    let rest = rest.strip_prefix(b"@").unwrap_or(rest);
    let (numbers, section) = split_at_marks(rest);
    let stated = numbers.map(numbers_of).unwrap_or_default();
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

fn numbers_of(text: &[u8]) -> Stated {
    let mut stated = Stated::default();
    for word in text.split(|byte| *byte == b' ' || *byte == b'\t') {
        if let Some(old) = word.strip_prefix(b"-") {
            (stated.old_start, stated.old_count) = pair(old);
        } else if let Some(new) = word.strip_prefix(b"+") {
            (stated.new_start, stated.new_count) = pair(new);
        }
    }
    stated
}

fn pair(text: &[u8]) -> (Option<u64>, Option<u64>) {
    let mut parts = text.splitn(2, |byte| *byte == b',');
    let start = parts.next().and_then(number);
    let count = match parts.next() {
        Some(count) => number(count),
        None => start.map(|_| 1),
    };
    (start, count)
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The lines of a body, by what they mean.
enum Shape<'a> {
    Line(Mark, &'a [u8]),
    /// An empty line: blank context whose leading blank got lost, or the end.
    Empty,
    /// `\ No newline at end of file`.
    NoNewline,
    /// No mark in front.
    Unmarked(&'a [u8]),
}

fn shape(line: &[u8]) -> Shape<'_> {
    match line.split_first() {
        None => Shape::Empty,
        Some((b' ', rest)) => Shape::Line(Mark::Context, rest),
        Some((b'-', rest)) => Shape::Line(Mark::Remove, rest),
        Some((b'+', rest)) => Shape::Line(Mark::Add, rest),
        Some(_) if is_no_newline(line) => Shape::NoNewline,
        Some(_) => Shape::Unmarked(line),
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
struct Count {
    old: u64,
    new: u64,
}

impl Count {
    fn take(&mut self, shape: &Shape<'_>) {
        match shape {
            Shape::Line(Mark::Remove, _) => self.old += 1,
            Shape::Line(Mark::Add, _) => self.new += 1,
            Shape::Line(Mark::Context, _) | Shape::Empty | Shape::Unmarked(_) => {
                self.old += 1;
                self.new += 1;
            }
            Shape::NoNewline => {}
        }
    }
}

/// What is known about the text around a hunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    /// It stands in a fence: there is no prose.
    pub fenced: bool,
    /// Its file began with a `diff --git` line, so the next one does, too: names in a body are body lines.
    pub git: bool,
    /// Its header line ends in a carriage return: that came with the transport, and those of the body mean nothing.
    pub transport: bool,
}

/// Reads the body after the header line `cursor.at - 1` and moves past it.
pub(crate) fn body<'a>(cursor: &mut Cursor<'_, 'a>, stated: Stated, around: Around) -> Hunk<'a> {
    let start = cursor.at;
    let (end, full) = extent(cursor, stated, around);
    let mut hunk = Hunk {
        stated,
        marked: true,
        ..Hunk::default()
    };
    let cut = match full {
        Some(full) if rest_is_prose(cursor, full, end, around.fenced) => full,
        _ => without_trailing_empty(cursor, start, end),
    };
    if let (Some(old), Some(new)) = (stated.old_count, stated.new_count)
        && full != Some(cut)
    {
        hunk.repairs.push(repair(
            "wrong-count",
            format!("the header counts {old} old and {new} new lines; the hunk has others"),
        ));
    }
    let signed = |line: &[u8]| is_signature(cursor, end, line);
    if full != Some(cut) && cursor.line(end).is_some_and(signed) {
        hunk.goes_on.push(Cow::Borrowed(b"-"));
    }
    for index in start..cut {
        let Some(line) = cursor.line(index) else { break };
        push(&mut hunk, line, cursor.cr(index) && !around.transport);
    }
    cursor.at = end;
    hunk
}

fn push<'a>(hunk: &mut Hunk<'a>, line: &'a [u8], cr: bool) {
    let (mark, text) = match shape(line) {
        Shape::Line(mark, text) => (mark, text),
        Shape::Empty => (Mark::Context, line),
        Shape::Unmarked(text) => {
            if hunk.repairs.iter().all(|repair| repair.kind != "missing-mark") {
                hunk.repairs.push(repair(
                    "missing-mark",
                    "a line without a mark in front was read as context",
                ));
            }
            (Mark::Context, text)
        }
        Shape::NoNewline => {
            if let Some(last) = hunk.lines.last_mut() {
                last.bare = true;
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
        bare: false,
    });
}

/// Where the structure ends the body, and where the stated counts do, if they do anywhere before.
fn extent(cursor: &Cursor<'_, '_>, stated: Stated, around: Around) -> (usize, Option<usize>) {
    let counted_end = counted_end(cursor, stated, around);
    let mut count = Count::default();
    let mut full = None;
    let mut index = cursor.at;
    while let Some(line) = cursor.line(index) {
        let shape = shape(line);
        if full.is_none() && !matches!(shape, Shape::NoNewline) && counted(count, stated) && index > cursor.at
        {
            full = Some(index);
        }
        let inside =
            counted_end.is_some_and(|end| index < end && (around.git || !header_at_end(cursor, index, end)));
        if !inside && ends(cursor, index, line, around, full.is_some()) {
            break;
        }
        count.take(&shape);
        index += 1;
    }
    if full.is_none() && counted(count, stated) {
        full = Some(index);
    }
    (index, full)
}

/// Where the counts alone end the body: every line up to there has a mark, and what follows begins another part.
/// Work ends at the next `@@`, which no body line begins with.
fn counted_end(cursor: &Cursor<'_, '_>, stated: Stated, around: Around) -> Option<usize> {
    // Without counts there is no such end, and looking for it for each of many headers would take long.
    let (Some(_), Some(_)) = (stated.old_count, stated.new_count) else {
        return None;
    };
    let mut count = Count::default();
    let mut index = cursor.at;
    while !counted(count, stated) {
        let shape = shape(cursor.line(index)?);
        if matches!(shape, Shape::Unmarked(_)) {
            return None;
        }
        count.take(&shape);
        index += 1;
    }
    while cursor.line(index).is_some_and(is_no_newline) {
        index += 1;
    }
    let clean = cursor.line(index).is_none_or(|line| {
        line.is_empty()
            || line.starts_with(b"@@")
            || is_header(line)
            || super::cursor::fence(line).is_some()
            || (!around.git && starts_file(cursor, index))
            || is_signature(cursor, index, line)
    });
    clean.then_some(index)
}

/// The last two counted lines are names, and a hunk follows: then the counts are two too many, and this is the
/// header of the next file.
fn header_at_end(cursor: &Cursor<'_, '_>, index: usize, end: usize) -> bool {
    index + 2 == end
        && cursor.line(end).is_some_and(|line| line.starts_with(b"@@"))
        && matches!(names(cursor, index), Some((old, new)) if one_file(&old, &new))
}

fn counted(count: Count, stated: Stated) -> bool {
    stated.old_count == Some(count.old) && stated.new_count == Some(count.new)
}

/// True when this line is no longer part of a body.
fn ends(cursor: &Cursor<'_, '_>, index: usize, line: &[u8], around: Around, full: bool) -> bool {
    match line.first() {
        None | Some(b' ' | b'+') => false,
        Some(b'\\') if is_no_newline(line) => false,
        Some(b'-') => (!around.git && starts_file(cursor, index)) || is_signature(cursor, index, line),
        Some(b'@') if line.starts_with(b"@@") => true,
        Some(b'`' | b'~') if super::cursor::fence(line).is_some() => true,
        Some(_) if around.fenced => is_header(line),
        Some(_) => is_header(line) || full || line.starts_with(b"</") || begins_prose(cursor, index),
    }
}

/// Prose stands below an empty line. A line right below the body belongs to it, and lost its mark.
fn begins_prose(cursor: &Cursor<'_, '_>, index: usize) -> bool {
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
pub(crate) fn starts_file(cursor: &Cursor<'_, '_>, index: usize) -> bool {
    let Some((old, new)) = names(cursor, index) else {
        return false;
    };
    let hunk_follows = cursor.line(index + 2).is_some_and(|line| line.starts_with(b"@@"));
    let path = matches!(&old, Name::Written(old) if old.contains(&b'/'));
    hunk_follows || (one_file(&old, &new) && (path || old == Name::Nothing || new == Name::Nothing))
}

/// The two names of a header that begins here.
fn names(cursor: &Cursor<'_, '_>, index: usize) -> Option<(Name, Name)> {
    let old = cursor.line(index)?.strip_prefix(b"--- ").and_then(header_name)?;
    let new = cursor
        .line(index + 1)?
        .strip_prefix(b"+++ ")
        .and_then(header_name)?;
    (old != Name::Unstated && new != Name::Unstated).then_some((old, new))
}

/// Both names are of one file.
fn one_file(old: &Name, new: &Name) -> bool {
    match (old, new) {
        (Name::Nothing, Name::Written(_)) | (Name::Written(_), Name::Nothing) => true,
        (Name::Written(old), Name::Written(new)) => same_file(old, new),
        (Name::Unstated, _) | (_, Name::Unstated) | (Name::Nothing, Name::Nothing) => false,
    }
}

/// The `-- ` line that ends a mail made by `git format-patch`.
fn is_signature(cursor: &Cursor<'_, '_>, index: usize, line: &[u8]) -> bool {
    if trim_end(line) != b"--" {
        return false;
    }
    match cursor.line(index + 1) {
        None => true,
        Some(next) => next.first().is_some_and(u8::is_ascii_digit) && next.contains(&b'.'),
    }
}

/// After the counts are full: nothing but empty lines and prose follows. In a fence there is no prose.
fn rest_is_prose(cursor: &Cursor<'_, '_>, full: usize, end: usize, fenced: bool) -> bool {
    let rest = || (full..end).filter_map(|index| cursor.line(index));
    if rest().all(<[u8]>::is_empty) {
        return true;
    }
    !fenced
        && cursor.line(full).is_some_and(<[u8]>::is_empty)
        && rest().all(|line| line.is_empty() || is_bullet(line))
}

/// `- a sentence`, as in a Markdown list.
pub(crate) fn is_bullet(line: &[u8]) -> bool {
    matches!(line, [b'-' | b'+', b' ', next, ..] if !next.is_ascii_whitespace())
}

/// Empty lines at the end of a body are more often a gap in the text than context; context only narrows the
/// place, so leaving them out is safe.
fn without_trailing_empty(cursor: &Cursor<'_, '_>, start: usize, end: usize) -> usize {
    let mut end = end;
    while end > start && cursor.line(end - 1).is_some_and(<[u8]>::is_empty) {
        end -= 1;
    }
    end
}
