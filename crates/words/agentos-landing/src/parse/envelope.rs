//! The `*** Begin Patch` envelope: files that are added, updated, moved or deleted, hunks without numbers.
//!
//! Owns: the envelope. Never: takes the first of two places, as its other readers do.

use std::borrow::Cow;

use super::cursor::{Cursor, fence, split_margin};
use super::hunk::header;
use super::model::{Body, FileEdit, Hunk, HunkLine, Mark, Name, Parsed, repair};
use super::owner::Owner;
use crate::text::{Eol, Line, trim};
use crate::{Dialect, Refusal, RefusalCode};

const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

/// Reads every envelope, and takes its lines away from what other dialects may read.
pub(super) fn parse<'a>(
    lines: &mut [Line<'a>],
    owners: &[Owner],
    parsed: &mut Parsed<'a>,
) -> Result<(), Refusal> {
    let mut at = 0;
    let mut in_diff = false;
    while at < lines.len() {
        let line = lines.get(at).map(|line| line.text).unwrap_or_default();
        in_diff = (in_diff && fence(line).is_none()) || begins_diff(lines, at);
        let (margin, text) = split_margin(line);
        let begins = trim(text) == BEGIN;
        // A file may have such a line, and a diff of it show it.
        let context = in_diff && !margin.is_empty();
        let ours = matches!(owners.get(at), Some(Owner::Free | Owner::Envelope));
        if !ours || context || (!begins && file_line(text).is_none()) {
            at += 1;
            continue;
        }
        let end = {
            let mut cursor = Cursor::new(lines);
            cursor.margin = margin;
            cursor.at = if begins { at + 1 } else { at };
            let first = parsed.files.len();
            envelope(&mut cursor, begins, parsed)?;
            if !begins {
                check_cut(&cursor, parsed)?;
            }
            for edit in parsed.files.iter_mut().skip(first) {
                edit.margin = !margin.is_empty();
            }
            cursor.at
        };
        for line in lines.get_mut(at..end).unwrap_or_default() {
            *line = Line {
                text: b"",
                eol: Eol::Lf,
                full: b"\n",
            };
        }
        at = end.max(at + 1);
    }
    Ok(())
}

/// A line that begins an envelope, or a file of one.
pub(super) fn opens(text: &[u8]) -> bool {
    trim(text) == BEGIN || file_line(text).is_some()
}

/// The line that ends an envelope.
pub(super) fn closes(text: &[u8]) -> bool {
    trim(text) == END
}

/// An envelope behind a margin may be a quotation: beside edits in another dialect it is not read.
pub(super) fn check_margins(parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let other = |edit: &FileEdit<'_>| edit.dialect != Dialect::PatchEnvelope;
    let quoted = parsed.files.iter().any(|edit| edit.margin);
    if !quoted || !parsed.files.iter().any(other) {
        return Ok(());
    }
    let message = "an indented or quoted patch stands beside edits in another dialect: it may be an example";
    Err(Refusal::new(RefusalCode::Ambiguous, message).hint("give all of the change in one dialect"))
}

/// The answer ends in a changed line that has no line ending, or in an open fence, and no end line is expected.
fn check_cut(cursor: &Cursor<'_, '_>, parsed: &Parsed<'_>) -> Result<(), Refusal> {
    let last = parsed.files.last().and_then(|edit| edit.hunks().last());
    let changes = last
        .and_then(|hunk| hunk.lines.last())
        .is_some_and(|line| line.mark != Mark::Context);
    if cursor.done() && cursor.unended() && changes {
        return Err(
            malformed("the answer ends inside a hunk: it may have been cut off")
                .hint("end the patch with `*** End Patch`"),
        );
    }
    Ok(())
}

/// The header of a unified diff.
fn begins_diff(lines: &[Line<'_>], at: usize) -> bool {
    let starts = |at: usize, mark: &[u8]| lines.get(at).is_some_and(|line| line.text.starts_with(mark));
    starts(at, b"diff --git ") || (starts(at, b"--- ") && starts(at + 1, b"+++ "))
}

enum Kind {
    Add,
    Update,
    Delete,
}

fn file_line(line: &[u8]) -> Option<(Kind, &[u8])> {
    let rest = line.strip_prefix(b"*** ")?;
    [
        (b"Add File:".as_slice(), Kind::Add),
        (b"Update File:", Kind::Update),
        (b"Delete File:", Kind::Delete),
    ]
    .into_iter()
    .find_map(|(label, kind)| Some((kind, trim(rest.strip_prefix(label)?))))
}

fn malformed(what: &str) -> Refusal {
    Refusal::new(RefusalCode::Malformed, what)
}

/// Reads up to the end line, or without a begin line up to a fence or the end.
fn envelope<'a>(cursor: &mut Cursor<'_, 'a>, begun: bool, parsed: &mut Parsed<'a>) -> Result<(), Refusal> {
    let first = parsed.files.len();
    loop {
        let Some(line) = cursor.line(cursor.at) else {
            return if begun {
                Err(malformed(
                    "the patch has no `*** End Patch`: the answer may have been cut off",
                ))
            } else {
                Ok(())
            };
        };
        if trim(line) == END {
            cursor.at += 1;
            return if parsed.files.len() == first {
                Err(malformed("the patch is empty"))
            } else {
                Ok(())
            };
        }
        if line.is_empty() {
            cursor.at += 1;
            continue;
        }
        // A closed fence: nothing was cut off, whether the end line is there or not.
        let closes = fence(line).is_some_and(|fence| fence.info.is_empty()) && parsed.files.len() > first;
        if closes || (!begun && fence(line).is_some()) {
            return Ok(());
        }
        let Some((kind, path)) = file_line(line) else {
            return if begun {
                Err(malformed("a line of the patch belongs to no file"))
            } else {
                Ok(())
            };
        };
        cursor.at += 1;
        parsed.files.push(file(cursor, kind, path)?);
    }
}

fn file<'a>(cursor: &mut Cursor<'_, 'a>, kind: Kind, path: &[u8]) -> Result<FileEdit<'a>, Refusal> {
    let mut edit = FileEdit::new(Dialect::PatchEnvelope);
    edit.old = Name::Written(path.to_vec());
    edit.new = Name::Written(path.to_vec());
    match kind {
        Kind::Add => {
            edit.create = true;
            edit.body = Body::Hunks(vec![added(cursor)?]);
        }
        Kind::Delete => edit.delete = true,
        Kind::Update => {
            if let Some(to) = cursor
                .line(cursor.at)
                .and_then(|line| line.strip_prefix(b"*** Move to:"))
            {
                edit.extended.from = Some(path.to_vec());
                edit.extended.to = Some(trim(to).to_vec());
                edit.new = Name::Written(trim(to).to_vec());
                cursor.at += 1;
            }
            let hunks = hunks(cursor)?;
            if hunks.is_empty() && edit.extended.to.is_none() {
                return Err(malformed("an update of the patch has no hunk"));
            }
            edit.body = Body::Hunks(hunks);
        }
    }
    Ok(edit)
}

/// True for a line that ends the body of a file.
fn ends(line: &[u8]) -> bool {
    line.starts_with(b"*** ") || fence(line).is_some()
}

fn added<'a>(cursor: &mut Cursor<'_, 'a>) -> Result<Hunk<'a>, Refusal> {
    let mut hunk = Hunk::default();
    while let Some(line) = cursor.line(cursor.at) {
        if line.is_empty() {
            let rest = (cursor.at..).map_while(|index| cursor.line(index));
            if rest
                .into_iter()
                .find(|line| !line.is_empty())
                .is_some_and(|line| line.starts_with(b"+"))
            {
                return Err(
                    malformed("an empty line stands between the lines of an added file")
                        .hint("begin every line of an added file with `+`, empty ones too"),
                );
            }
            break;
        }
        if ends(line) {
            break;
        }
        let Some(text) = line.strip_prefix(b"+") else {
            return Err(malformed("a line of an added file does not begin with `+`"));
        };
        hunk.lines.push(line_of(Mark::Add, text));
        cursor.at += 1;
    }
    Ok(hunk)
}

fn line_of(mark: Mark, text: &[u8]) -> HunkLine<'_> {
    HunkLine {
        mark,
        text: Cow::Borrowed(text),
        cr: false,
        bare: false,
    }
}

fn hunks<'a>(cursor: &mut Cursor<'_, 'a>) -> Result<Vec<Hunk<'a>>, Refusal> {
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let mut open = Hunk::default();
    while let Some(line) = cursor.line(cursor.at) {
        if line.starts_with(b"*** End of File") {
            open.at_end = true;
            cursor.at += 1;
            continue;
        }
        if ends(line) {
            break;
        }
        cursor.at += 1;
        if let Some((stated, anchor)) = line.starts_with(b"@@").then(|| header(line)).flatten() {
            close(&mut open, &mut hunks);
            open.stated = stated;
            if !anchor.is_empty() {
                open.anchors.push(Cow::Borrowed(anchor));
            }
            continue;
        }
        body_line(&mut open, line);
    }
    let headed = !open.anchors.is_empty() || open.stated.old_start.is_some();
    close(&mut open, &mut hunks);
    if headed && !open.anchors.is_empty() {
        return Err(malformed("a hunk has no lines").hint("the answer may have been cut off"));
    }
    Ok(hunks)
}

/// Files a hunk away. A header line without a body is one more anchor of the next hunk.
fn close<'a>(open: &mut Hunk<'a>, hunks: &mut Vec<Hunk<'a>>) {
    while open
        .lines
        .last()
        .is_some_and(|line| line.mark == Mark::Context && line.text.is_empty() && line.bare)
    {
        open.lines.pop();
    }
    for line in &mut open.lines {
        line.bare = false;
    }
    if !open.lines.is_empty() {
        hunks.push(std::mem::take(open));
    }
}

fn body_line<'a>(open: &mut Hunk<'a>, line: &'a [u8]) {
    let parsed = match line.split_first() {
        Some((b' ', text)) => line_of(Mark::Context, text),
        Some((b'+', text)) => line_of(Mark::Add, text),
        Some((b'-', text)) => line_of(Mark::Remove, text),
        // An empty line without its blank: marked until it is known not to be a gap at the end.
        None => HunkLine {
            bare: true,
            ..line_of(Mark::Context, line)
        },
        Some(_) => {
            open.repairs.push(repair(
                "missing-mark",
                "a line without a mark in front was read as context",
            ));
            line_of(Mark::Context, line)
        }
    };
    open.lines.push(parsed);
}
