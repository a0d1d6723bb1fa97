//! Binary parts of a unified diff, as `git diff --binary` writes them.
//!
//! Owns: the lines of one part. Never: unpacks the data; `resolve` does, with the base and the limits.

use super::cursor::LineCursor;
use super::model::BinaryPart;
use crate::Refusal;
use crate::binary::{BinaryData, HEADER, read_line, read_method};
use crate::refusal::malformed;
use crate::text::{is_blank, trim_end};

/// Returns true for a line that states a binary change.
pub(super) fn begins_binary(line: &[u8]) -> bool {
    line.starts_with(HEADER) || line.starts_with(b"Binary files ")
}

/// Reads the binary part at the cursor and moves the cursor behind it.
///
/// # Errors
/// Fails with `malformed` if the data cannot be read.
pub(super) fn read_part(cursor: &mut LineCursor<'_, '_>) -> Result<BinaryPart, Refusal> {
    let is_stated = cursor
        .line(cursor.at)
        .is_some_and(|line| line.starts_with(HEADER));
    cursor.at += 1;
    if !is_stated {
        return Ok(BinaryPart::LeftOut);
    }
    let forward = read_binary_data(cursor)?.ok_or_else(|| damaged("no `literal` or `delta` line follows"))?;
    // Git writes the way back behind an empty line. Only its form is checked: the ids show what comes and goes.
    let at = cursor.at;
    if cursor.line(at).is_some_and(|line| trim_end(line).is_empty()) {
        cursor.at += 1;
    }
    if read_binary_data(cursor)?.is_none() {
        cursor.at = at;
    }
    Ok(BinaryPart::Data(forward))
}

/// Reads the data of one direction. Returns `None` if none begins here.
pub(crate) fn read_binary_data(cursor: &mut LineCursor<'_, '_>) -> Result<Option<BinaryData>, Refusal> {
    let Some(mut data) = cursor.line(cursor.at).and_then(read_method) else {
        return Ok(None);
    };
    cursor.at += 1;
    while let Some(line) = cursor.line(cursor.at).map(trim_end) {
        let Some(mark) = line.first() else {
            break;
        };
        // Each line of data is one word that begins with a letter; anything else belongs to what follows.
        if !mark.is_ascii_alphabetic() || line.iter().any(|byte| is_blank(*byte)) {
            break;
        }
        read_line(line, &mut data.packed).ok_or_else(|| damaged("a line of it is no data"))?;
        cursor.at += 1;
    }
    if data.packed.is_empty() {
        return Err(damaged("it has no data"));
    }
    Ok(Some(data))
}

fn damaged(what: &str) -> Refusal {
    malformed(format!("a binary patch cannot be read: {what}"))
        .hint("make it with `git diff --binary`, and copy every line")
}
