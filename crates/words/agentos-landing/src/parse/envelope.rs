//! Patch envelope, `*** Begin Patch`: files that are added, updated, moved or deleted, and hunks without numbers.
//!
//! Owns: the envelope. Never: takes the first of two places, as other readers of this dialect do.

use super::cursor::{LineCursor, parse_fence};
use super::hunk::{parse_header, push_line};
use super::model::{EditBody, FileEdit, HeaderName, Hunk, HunkLine, LineMark, ParsedAnswer};
use crate::refusal::malformed;
use crate::text::{TextLine, trim};
use crate::{Dialect, Refusal};

const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

/// Reads the envelope that these lines are. `begun` is true if it has its first line; `at_end` is true if the answer ends
/// with it.
///
/// # Errors
/// Fails with `malformed` if the envelope was cut off or has a line that belongs to no file.
pub(super) fn read(
    lines: &[TextLine<'_>],
    margin: &[u8],
    begun: bool,
    at_end: bool,
    parsed: &mut ParsedAnswer,
) -> Result<(), Refusal> {
    let mut cursor = LineCursor::new(lines, margin);
    cursor.at = usize::from(begun);
    read_envelope(&mut cursor, begun, !at_end, parsed)?;
    // Prose seems to end an envelope without a begin line. What begins below it would be lost.
    if let Some(line) = (cursor.at..)
        .map_while(|at| cursor.raw_line(at))
        .find(|line| file_line(trim(line)).is_some())
    {
        let line = crate::text::excerpt(line, 120);
        let refusal = malformed(format!("the line `{line}` is below the end of its patch"));
        return Err(refusal.hint("begin the patch with `*** Begin Patch` and end it with `*** End Patch`"));
    }
    // Without a begin line no end line is required, so only the last line can show that the answer was cut off.
    if !begun && at_end {
        check_cut(&cursor, parsed)?;
    }
    Ok(())
}

/// Returns true if the envelope that begins at `at` has its first line, and the line after the envelope: after its end line,
/// or else the fence around it or the end of the answer.
pub(super) fn envelope_end(lines: &[TextLine<'_>], at: usize, margin: &[u8]) -> (bool, usize) {
    let text = |line: &TextLine<'_>| trim(line.text.strip_prefix(margin).unwrap_or(line.text)).to_vec();
    let begun = lines.get(at).is_some_and(|line| text(line) == BEGIN);
    let rest = lines.get(at + 1..).unwrap_or_default();
    let ends = |line: &TextLine<'_>| text(line) == END || parse_fence(line.text).is_some();
    let count = rest.iter().position(ends).unwrap_or(rest.len());
    let is_end = rest.get(count).is_some_and(|line| text(line) == END);
    (begun, at + 1 + count + usize::from(is_end))
}

/// Returns the line after the envelope that begins here. Returns `None` if no complete envelope does. `barren` is the line before which no
/// envelope has an end, so that each line is searched once.
pub(super) fn complete_end(lines: &[TextLine<'_>], at: usize, barren: &mut usize) -> Option<usize> {
    let is = |at: usize, wanted: &[u8]| lines.get(at).is_some_and(|line| trim(line.text) == wanted);
    if at < *barren || !is(at, BEGIN) {
        return None;
    }
    let (_, end) = envelope_end(lines, at, b"");
    if end > at + 1 && is(end - 1, END) {
        return Some(end);
    }
    *barren = end;
    None
}

/// Returns true for a line that begins an envelope, or a file of one.
pub(super) fn opens_envelope(text: &[u8]) -> bool {
    trim(text) == BEGIN || file_line(text).is_some()
}

/// Refuses an answer without an end line that ends in a changed line without a line ending: it may have been cut off.
fn check_cut(cursor: &LineCursor<'_, '_>, parsed: &ParsedAnswer) -> Result<(), Refusal> {
    let last = parsed.files.last().and_then(|edit| edit.hunks().last());
    let line = last.and_then(|hunk| hunk.lines.last());
    let changes = line.is_some_and(|line| line.mark != LineMark::Context);
    if cursor.is_done() && cursor.lacks_final_newline() && changes {
        let refusal = malformed("the answer ends inside a hunk: it may have been cut off");
        return Err(refusal.hint("end the patch with `*** End Patch`"));
    }
    Ok(())
}

/// Returns the verb and the path of a line `*** Add File: src/a.rs`. Returns `None` for another line.
fn file_line(line: &[u8]) -> Option<(&'static str, &[u8])> {
    let rest = line.strip_prefix(b"*** ")?;
    let mut verbs = ["Add", "Update", "Delete"].into_iter();
    verbs.find_map(|verb| {
        let path = rest.strip_prefix(verb.as_bytes())?.strip_prefix(b" File:")?;
        Some((verb, trim(path)))
    })
}

/// Reads up to the end line; without a begin line up to a fence or the end of the answer. `fenced` is true if a fence ends
/// the lines.
fn read_envelope(
    cursor: &mut LineCursor<'_, '_>,
    begun: bool,
    fenced: bool,
    parsed: &mut ParsedAnswer,
) -> Result<(), Refusal> {
    let first = parsed.files.len();
    while let Some(line) = cursor.line(cursor.at) {
        let is_end = trim(line) == END;
        if is_end || line.is_empty() {
            cursor.at += 1;
        } else if let Some((verb, path)) = file_line(line) {
            cursor.at += 1;
            parsed.files.push(read_file(cursor, verb, path)?);
        } else if begun {
            return Err(malformed("a line of the patch belongs to no file"));
        } else {
            return Ok(());
        }
        if is_end {
            let is_empty = parsed.files.len() == first;
            return if is_empty {
                Err(malformed("the patch is empty"))
            } else {
                Ok(())
            };
        }
    }
    // The fence is closed, so nothing was cut off, with or without the end line.
    if begun && !(fenced && parsed.files.len() > first) {
        let message = "the patch has no `*** End Patch`: the answer may have been cut off";
        return Err(malformed(message));
    }
    Ok(())
}

fn read_file(cursor: &mut LineCursor<'_, '_>, verb: &str, path: &[u8]) -> Result<FileEdit, Refusal> {
    let mut edit = FileEdit::of_path(Dialect::PatchEnvelope, path);
    match verb {
        "Add" => {
            edit.create = true;
            edit.body = EditBody::Hunks(vec![read_added_file(cursor)?]);
        }
        "Delete" => edit.delete = true,
        _ => {
            let to = cursor
                .line(cursor.at)
                .and_then(|line| line.strip_prefix(b"*** Move to:"));
            cursor.at += usize::from(to.is_some());
            // A file that is moved to its own name stays where it is.
            if let Some(to) = to.map(trim).filter(|to| *to != path) {
                // Handled like a rename in a git diff from here on.
                edit.extended.from = Some(path.to_vec());
                edit.extended.to = Some(to.to_vec());
                edit.new = HeaderName::Written(to.to_vec());
            }
            let hunks = read_hunks(cursor)?;
            if hunks.is_empty() && edit.extended.to.is_none() {
                return Err(malformed("an update of the patch has no hunk"));
            }
            edit.body = EditBody::Hunks(hunks);
        }
    }
    Ok(edit)
}

/// Returns true for a line that ends the body of a file.
fn ends_body(line: &[u8]) -> bool {
    line.starts_with(b"*** ") || parse_fence(line).is_some()
}

fn read_added_file(cursor: &mut LineCursor<'_, '_>) -> Result<Hunk, Refusal> {
    let mut hunk = Hunk::default();
    while let Some(line) = cursor.line(cursor.at) {
        if line.is_empty() {
            let mut rest = (cursor.at..).map_while(|index| cursor.line(index));
            let next = rest.find(|line| !line.is_empty());
            if next.is_some_and(|line| line.starts_with(b"+")) {
                return Err(malformed("an empty line is between the lines of an added file")
                    .hint("begin every line of an added file with `+`, empty ones too"));
            }
            break;
        }
        if ends_body(line) {
            break;
        }
        let Some(text) = line.strip_prefix(b"+") else {
            return Err(malformed("a line of an added file does not begin with `+`"));
        };
        hunk.lines.push(HunkLine::new(LineMark::Add, text));
        cursor.at += 1;
    }
    Ok(hunk)
}

fn read_hunks(cursor: &mut LineCursor<'_, '_>) -> Result<Vec<Hunk>, Refusal> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut open = Hunk::default();
    // Number of empty lines without a mark at the end of the open hunk.
    let mut gap = 0;
    while let Some(line) = cursor.line(cursor.at) {
        if line.starts_with(b"*** End of File") {
            // The marker is not a line of the file: it states where the hunk must be.
            open.at_end = true;
            cursor.at += 1;
            continue;
        }
        if ends_body(line) {
            break;
        }
        cursor.at += 1;
        if let Some((stated, anchor)) = line.starts_with(b"@@").then(|| parse_header(line)).flatten() {
            close_hunk(&mut open, std::mem::take(&mut gap), &mut hunks);
            open.stated = stated;
            if !anchor.is_empty() {
                open.anchors.push(anchor.to_vec());
            }
            continue;
        }
        push_line(&mut open, line, false);
        gap = if line.is_empty() { gap + 1 } else { 0 };
    }
    close_hunk(&mut open, gap, &mut hunks);
    // A heading as the last line of a file has no hunk to belong to: the answer was cut off there.
    if !open.anchors.is_empty() {
        return Err(malformed("a hunk has no lines").hint("the answer may have been cut off"));
    }
    Ok(hunks)
}

/// Ends a hunk and stores it. A header line without a body becomes an anchor of the next hunk. The last `gap` lines are a
/// gap in the text above the next header, and not context.
fn close_hunk(open: &mut Hunk, gap: usize, hunks: &mut Vec<Hunk>) {
    open.lines.truncate(open.lines.len() - gap);
    if !open.lines.is_empty() {
        hunks.push(std::mem::take(open));
    }
}
