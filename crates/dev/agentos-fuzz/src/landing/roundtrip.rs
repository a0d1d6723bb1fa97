//! Any edit of any small base: its diff lands as itself and back again; damaged or in another dialect, it lands as
//! itself or is refused.
//!
//! Owns: making an edit from bytes, and the claims. Never: makes a case that has two right results.

use std::sync::Arc;

use agentos_landing::{
    Change, FileChange, FileMode, FileState, LandError, LandOptions, MemoryBase, RepoPath, land,
};

use super::damage;
use super::dialect::{self, EditDialect};
use crate::bytes::ByteReader;

/// Lines that repeat, that look like parts of a diff, or that have unusual blanks and characters.
pub(crate) const LINES: &[&str] = &[
    "a",
    "b",
    "c",
    "",
    "}",
    "    x",
    "\tx  ",
    "-- a/a.rs",
    "++ b/a.rs",
    "@@ -1 +1 @@",
    "```",
    "diff --git a/x b/x",
    "\u{201c}q\u{201d}",
    "=======",
    "*** End Patch",
    " ",
];

const PATHS: &[&str] = &["a.rs", "b c.txt", "d/\u{e9}.md"];

/// Makes a change from the bytes and lands it as it is, inverted, and damaged or in another dialect.
///
/// # Panics
/// If landing breaks a claim.
pub fn check_roundtrip(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let (damages, dialect) = (bytes.next(), bytes.next());
    let Some(change) = change(&mut bytes) else { return };
    let base = old_side(&change);
    lands_as_itself(&change, &base);
    if let Ok(inverse) = change.inverse() {
        lands_as_itself(&inverse, &old_side(&inverse));
    }
    // Damage has many more variants than the dialects, so it gets most values of the byte.
    let written = match dialect & 7 {
        0 => dialect::render(&change, EditDialect::Blocks),
        1 => dialect::render(&change, EditDialect::Envelope),
        2 => dialect::render(&change, EditDialect::Json),
        _ => damage::damage(&change, damages),
    };
    let Some(written) = written else { return };
    match land(&written, &base, &LandOptions::default()) {
        Ok(landed) => assert!(
            landed.change == change,
            "written so, it means another change:\n{}\nmade\n{}\nof the base\n{}",
            written.escape_ascii().to_string().replace("\\n", "\n"),
            landed
                .change
                .canonical_diff()
                .escape_ascii()
                .to_string()
                .replace("\\n", "\n"),
            shown(&change)
        ),
        Err(LandError::Refused(_)) => {}
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

fn lands_as_itself(change: &Change, base: &MemoryBase) {
    match land(change.canonical_diff(), base, &LandOptions::default()) {
        Ok(landed) => assert!(
            landed.change == *change,
            "it means another change:\n{}",
            shown(change)
        ),
        Err(error) => panic!("a canonical diff does not land: {error}\n{}", shown(change)),
    }
}

pub(crate) fn shown(change: &Change) -> String {
    let mut out = String::new();
    for file in change.files() {
        let old = file.old.as_ref().map_or(&b""[..], |old| &old.content);
        out += &format!("{}: {}\n", file.path, old.escape_ascii());
    }
    out + "meant:\n"
        + &change
            .canonical_diff()
            .escape_ascii()
            .to_string()
            .replace("\\n", "\n")
}

fn old_side(change: &Change) -> MemoryBase {
    let mut base = MemoryBase::default();
    for file in change.files() {
        if let Some(old) = &file.old {
            base.put(file.path.as_str(), Arc::clone(&old.content));
        }
    }
    base
}

/// Makes a change from the bytes. `None` if nothing changes.
fn change(bytes: &mut ByteReader<'_>) -> Option<Change> {
    let files = usize::from(bytes.next()) % PATHS.len() + 1;
    let states = PATHS.iter().take(files).filter_map(|path| {
        let path = RepoPath::new(path).ok()?;
        let (old, new) = file(bytes);
        (old.is_some() || new.is_some()).then_some((path, old, new))
    });
    let change = Change::new(states.collect()).ok()?;
    (!change.is_empty() && !change.files().iter().any(has_two_results)).then_some(change)
}

/// Returns true for a new file in which every line ends with blanks: no other part of a damaged diff says whether
/// they belong to the file or were added on the way.
fn has_two_results(file: &FileChange) -> bool {
    let ends_so = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.trim_ascii_end().len() < line.len()
    };
    file.old.is_none()
        && file.new.as_ref().is_some_and(|new| {
            let text = new.content.strip_suffix(b"\n").unwrap_or(&new.content);
            text.split(|byte| *byte == b'\n').all(ends_so)
        })
}

/// Makes a file before and after, line by line.
fn file(bytes: &mut ByteReader<'_>) -> (Option<FileState>, Option<FileState>) {
    let head = bytes.next();
    let (ending, other) = match head & 3 {
        0 => ("\r\n", "\n"),
        1 => ("\r\n", "\r\n"),
        _ => ("\n", "\n"),
    };
    let (mut old, mut new) = (String::new(), String::new());
    for at in 0..usize::from(bytes.next() & 31) {
        let byte = bytes.next();
        let line = LINES.get(usize::from(byte & 15)).copied().unwrap_or_default();
        // Mixed line ends are frequent in real files and easy to normalise by mistake.
        let ending = if at % 3 == 1 { other } else { ending };
        let whole = format!("{line}{ending}");
        // Most lines stay as they are. They make context that repeats, which is what makes a place ambiguous.
        match byte >> 4 {
            0 | 1 => old += &whole,
            2 | 3 => new += &whole,
            4 => {
                old += &whole;
                new += &format!("{line}2{ending}");
            }
            _ => {
                old += &whole;
                new += &whole;
            }
        }
    }
    if head & 4 != 0 {
        cut_final_newline(&mut old);
    }
    if head & 8 != 0 {
        cut_final_newline(&mut new);
    }
    let state = |text: String| FileState {
        mode: FileMode::Regular,
        content: Arc::from(text.into_bytes()),
    };
    let (old, new) = (state(old), state(new));
    // Most files exist on both sides; creations and deletions have fewer ways to go wrong.
    match head >> 5 {
        0 => (None, Some(new)),
        1 => (Some(old), None),
        _ => (Some(old), Some(new)),
    }
}

fn cut_final_newline(text: &mut String) {
    if text.pop() == Some('\n') && text.ends_with('\r') {
        text.pop();
    }
}
