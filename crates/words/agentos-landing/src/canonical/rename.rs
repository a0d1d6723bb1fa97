//! Renames by content: which new file continues a deleted one.
//!
//! Owns: the pairing. It is deterministic, with limited work. Never: changes the effect of a change; a rename is a
//! fact about it.

use std::collections::HashMap;

use crate::file_change::PathStates;
use crate::{FileMode, FileState, RepoPath, binary};

/// Maximum number of pairs that are compared line by line.
const PAIRS: usize = 2_500;
/// Maximum size of a file that is compared line by line; larger ones are only compared as a whole.
const BYTES: usize = 1 << 20;
/// Minimum share of common lines, in percent of the longer file.
const ALIKE: usize = 60;

/// Returns for each state the deleted path whose content it continues. `None` if there is none.
pub(super) fn find_renames(states: &PathStates) -> Vec<Option<RepoPath>> {
    let mut found = vec![None; states.len()];
    let mut deleted: Vec<(&RepoPath, &FileState)> = states
        .iter()
        .filter_map(|(path, old, new)| Some((path, old.as_ref().filter(|_| new.is_none())?)))
        // Every empty file equals every other one, and a link is no content that a file continues.
        .filter(|(_, old)| !old.content.is_empty() && old.mode != FileMode::Symlink)
        .collect();
    let created: Vec<(usize, &FileState)> = states
        .iter()
        .enumerate()
        .filter_map(|(at, (_, old, new))| Some((at, new.as_ref().filter(|_| old.is_none())?)))
        .filter(|(_, new)| new.mode != FileMode::Symlink)
        .collect();
    let mut continue_file = |at: usize, (path, _): (&RepoPath, &FileState)| {
        if let Some(slot) = found.get_mut(at) {
            *slot = Some(path.clone());
        }
    };
    // Equal files are paired first, so that a similar file cannot take the source of an equal one.
    let mut left = Vec::new();
    for (at, new) in created {
        match deleted.iter().position(|(_, old)| old.content == new.content) {
            // Each deleted file is the source of at most one new file; further equal ones are plain new files.
            Some(index) => continue_file(at, deleted.remove(index)),
            None => left.push((at, new)),
        }
    }
    // A rename is a fact for the reader. A large change goes without it instead of taking quadratic time.
    if left.len() * deleted.len() > PAIRS {
        return found;
    }
    for (at, new) in left {
        let score_of = |(_, old): &(&RepoPath, &FileState)| similarity_percent(&old.content, &new.content);
        let scores = deleted.iter().map(score_of).enumerate();
        let alike = scores.filter(|(_, score)| *score >= ALIKE);
        // Of files that are equally alike, the first one is taken.
        if let Some((index, _)) = alike.rev().max_by_key(|(_, score)| *score) {
            continue_file(at, deleted.remove(index));
        }
    }
    found
}

/// Returns the share of common lines in percent of the longer side.
fn similarity_percent(old: &[u8], new: &[u8]) -> usize {
    // Lines of binary content are no lines; such files are only compared as a whole.
    if old.len().max(new.len()) > BYTES || [old, new].into_iter().any(binary::is_binary) {
        return 0;
    }
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    let mut total = 0;
    for line in old.split(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() += 1;
        total += 1;
    }
    let (mut common, mut length) = (0, 0);
    for line in new.split(|byte| *byte == b'\n') {
        length += 1;
        if let Some(count) = counts.get_mut(line).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    common * 100 / total.max(length).max(1)
}
