//! Git's own lines of a diff: extended headers with modes, renames, copies and blob ids, and binary parts, as `git diff --binary`
//! writes them.
//!
//! Owns: reading these lines. Never: accepts a line that contradicts the one before it, or unpacks binary data; `resolve` does,
//! with the base and the limits.

use super::cursor::LineCursor;
use super::model::{BinaryPart, GitHeaders};
use super::name::plain_name;
use crate::Refusal;
use crate::binary::{BinaryData, HEADER, read_line, read_method};
use crate::refusal::malformed;
use crate::text::{begins_as, is_blank, trim, trim_end};

/// Returns true if the header lines are an edit by themselves, without a hunk.
pub(super) fn says_something(extended: &GitHeaders) -> bool {
    extended.new_file.is_some()
        || extended.deleted.is_some()
        || extended.new_mode.is_some()
        || extended.to.is_some()
        || extended.binary.is_some()
}

/// Reads a header line. Returns false if it is none of these.
pub(super) fn extended_line(extended: &mut GitHeaders, line: &[u8]) -> Result<bool, Refusal> {
    const LABELS: &str = "new file mode ;deleted file mode ;old mode ;new mode ;rename from ;rename to ;\
        copy from ;copy to ;index ";
    let text = |rest: &[u8]| String::from_utf8_lossy(trim(rest)).into_owned();
    let name =
        |rest: &[u8]| plain_name(rest).ok_or_else(|| malformed("a name in a diff header cannot be read"));
    let label = |label: &&str| line.starts_with(label.as_bytes());
    let Some(label) = LABELS.split(';').find(label) else {
        // Similarity says nothing about the content, so any number is accepted.
        return Ok(begins_as("similarity index ;dissimilarity index ", line));
    };
    let rest = line.get(label.len()..).unwrap_or_default();
    extended.copy |= label == "copy from ";
    match label {
        "new file mode " => set_once(&mut extended.new_file, text(rest))?,
        "deleted file mode " => set_once(&mut extended.deleted, text(rest))?,
        "old mode " => set_once(&mut extended.old_mode, text(rest))?,
        "new mode " => set_once(&mut extended.new_mode, text(rest))?,
        "rename from " | "copy from " => set_once(&mut extended.from, name(rest)?)?,
        "rename to " | "copy to " => set_once(&mut extended.to, name(rest)?)?,
        _ => index_line(extended, &text(rest))?,
    }
    Ok(true)
}

/// Sets a value. Fails if the header stated another one before.
fn set_once<T: PartialEq>(slot: &mut Option<T>, value: T) -> Result<(), Refusal> {
    if slot.as_ref().is_some_and(|old| *old != value) {
        return Err(malformed("a diff header contradicts itself"));
    }
    *slot = Some(value);
    Ok(())
}

fn index_line(extended: &mut GitHeaders, rest: &str) -> Result<(), Refusal> {
    let mut words = rest.split_whitespace();
    let ids = words.next().and_then(|ids| ids.split_once(".."));
    let is_id = |id: &str| (4..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some((old, new)) = ids.filter(|(old, new)| is_id(old) && is_id(new)) {
        let ids = (old.to_ascii_lowercase(), new.to_ascii_lowercase());
        set_once(&mut extended.index, ids)?;
    }
    let mode = words.next().map(str::to_owned);
    mode.map_or(Ok(()), |mode| set_once(&mut extended.index_mode, mode))
}

/// Reads the binary part at the cursor and moves the cursor behind it.
///
/// # Errors
/// Fails with `malformed` if the data cannot be read.
pub(super) fn read_binary_part(cursor: &mut LineCursor<'_, '_>) -> Result<BinaryPart, Refusal> {
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
