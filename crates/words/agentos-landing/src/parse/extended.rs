//! Git's extended header lines: modes, renames, copies and blob ids.
//!
//! Owns: reading one such line. Never: accepts a line that contradicts the one before it.

use super::model::GitHeaders;
use super::name::plain_name;
use crate::Refusal;
use crate::refusal::malformed;
use crate::text::{begins_as, trim};

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
    match words.next() {
        Some(mode) => set_once(&mut extended.index_mode, mode.to_owned()),
        None => Ok(()),
    }
}
