//! Which new file carries on a deleted one, by content alone.
//!
//! Owns: the pairing. Deterministic and bounded. Never: changes what a change does; it is a fact about it.

use std::collections::HashMap;

use crate::file_change::PathStates;
use crate::{FileMode, FileState, RepoPath};

/// More pairs than this are not compared line by line.
const PAIRS: usize = 2_500;
/// Files of more bytes than this are compared only as a whole.
const BYTES: usize = 1 << 20;
/// Lines in common, of the lines of the longer file, in percent.
const ALIKE: usize = 60;

/// For each state the deleted path whose content it carries on.
pub(super) fn find_renames(states: &PathStates) -> Vec<Option<RepoPath>> {
    let mut found = vec![None; states.len()];
    let mut deleted: Vec<(&RepoPath, &FileState)> = states
        .iter()
        .filter_map(|(path, old, new)| Some((path, old.as_ref().filter(|_| new.is_none())?)))
        .filter(|(_, old)| !old.content.is_empty() && old.mode != FileMode::Symlink)
        .collect();
    let created: Vec<(usize, &FileState)> = states
        .iter()
        .enumerate()
        .filter_map(|(at, (_, old, new))| Some((at, new.as_ref().filter(|_| old.is_none())?)))
        .collect();
    let mut left = Vec::new();
    for (at, new) in created {
        match deleted.iter().position(|(_, old)| old.content == new.content) {
            Some(index) => {
                let (path, _) = deleted.remove(index);
                if let Some(slot) = found.get_mut(at) {
                    *slot = Some(path.clone());
                }
            }
            None => left.push((at, new)),
        }
    }
    if left.len() * deleted.len() > PAIRS {
        return found;
    }
    for (at, new) in left {
        let mut best: Option<(usize, usize)> = None;
        for (index, (_, old)) in deleted.iter().enumerate() {
            let score = similarity_percent(&old.content, &new.content);
            if score >= ALIKE && best.is_none_or(|(_, other)| score > other) {
                best = Some((index, score));
            }
        }
        if let Some((index, _)) = best {
            let (path, _) = deleted.remove(index);
            if let Some(slot) = found.get_mut(at) {
                *slot = Some(path.clone());
            }
        }
    }
    found
}

/// Lines in common, in percent of the longer side.
fn similarity_percent(old: &[u8], new: &[u8]) -> usize {
    if old.len().max(new.len()) > BYTES {
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
