//! Fuzz target for an answer with several diffs of one file, each made for the result of the diff before it. Its property:
//! the answer lands as the change from the first to the last state, or is refused.
//!
//! Owns: making the states and the answer, and checking the property. Never: requires that a series lands, because damaged
//! diffs may be ambiguous.

use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, LandError, LandOptions, MemoryBase, RepoPath, land};

use super::damage;
use super::roundtrip::{LINES, shown};
use crate::bytes::ByteReader;

const PATH: &str = "src/a.rs";

/// Makes two or three diffs from the bytes and lands them as one answer.
///
/// # Panics
/// If they land as anything but the last state.
pub fn check_series(data: &[u8]) {
    let mut bytes = ByteReader(data);
    // `form`: bit 0 adds a third diff, bit 1 adds prose below each diff. `damages`: the kinds of damage for all diffs.
    let (form, damages) = (bytes.next(), bytes.next());
    let Some(states) = states(&mut bytes, usize::from(form & 1) + 2) else {
        return;
    };
    let (Some(first), Some(last)) = (states.first(), states.last()) else {
        return;
    };
    let Some(meant) = change(first, last) else { return };
    let mut answer = Vec::new();
    for pair in states.windows(2) {
        let [before, after] = pair else { return };
        // A step that changes nothing has no diff.
        let Some(step) = change(before, after) else {
            continue;
        };
        // Without bit 4 (CR LF at every line end) and bit 6 (no final line feed): in an answer of several diffs, damaged
        // line ends would change what the diffs mean.
        let Some(diff) = damage::damage(&step, damages & 0b0010_1111) else {
            return;
        };
        answer.extend(diff);
        // Models often write a sentence between two diffs.
        if form & 2 != 0 {
            answer.extend(b"\nThen:\n\n");
        }
    }
    let mut base = MemoryBase::default();
    base.put(PATH, Arc::from(first.concat().into_bytes()));
    match land(&answer, &base, &LandOptions::default()) {
        Ok(landed) => assert!(
            landed.change == meant,
            "in turn they mean another change:\n{}\nof the base\n{}\nmade\n{}",
            String::from_utf8_lossy(&answer),
            shown(&meant),
            String::from_utf8_lossy(landed.change.canonical_diff())
        ),
        Err(LandError::Refused(_)) => {}
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

/// Returns the change between two states. `None` if nothing changes.
fn change(before: &[String], after: &[String]) -> Option<Change> {
    let state = |lines: &[String]| {
        Some(FileState {
            mode: FileMode::Regular,
            content: Arc::from(lines.concat().into_bytes()),
        })
    };
    let change = Change::new(vec![(RepoPath::new(PATH).ok()?, state(before), state(after))]).ok()?;
    (!change.is_empty()).then_some(change)
}

/// Makes the first state, whose lines mostly resemble each other, and one further state for each step: the state before
/// it after one to four edits. `None` never happens; it keeps the function free of panics.
fn states(bytes: &mut ByteReader<'_>, steps: usize) -> Option<Vec<Vec<String>>> {
    let first: Vec<String> = (0..bytes.next() & 31).map(|_| line(bytes.next())).collect();
    let mut states = vec![first];
    for _ in 0..steps {
        let mut next = states.last()?.clone();
        for _ in 0..=bytes.next() & 3 {
            // The top two bits of `edit` select removing, adding or replacing a line; the others select the new line.
            let (at, edit) = (usize::from(bytes.next()) % (next.len() + 1), bytes.next());
            match edit >> 6 {
                0 if at < next.len() => {
                    next.remove(at);
                }
                1 => next.insert(at, line(edit)),
                _ => {
                    if let Some(old) = next.get_mut(at) {
                        *old = line(edit);
                    }
                }
            }
        }
        states.push(next);
    }
    Some(states)
}

/// Returns one of 16 texts (bits 0 to 3), plain or with a digit at its end (bits 4 and 5).
fn line(byte: u8) -> String {
    let text = LINES.get(usize::from(byte & 15)).copied().unwrap_or_default();
    match byte >> 4 & 3 {
        0 => format!("{text}\n"),
        number => format!("{text}{number}\n"),
    }
}
