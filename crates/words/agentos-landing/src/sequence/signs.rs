//! Parts of an answer that share a file.
//!
//! Owns: finding them by their names. Never: looks at the base.

use std::collections::{BTreeSet, HashMap};

use crate::parse::{FileEdit, HeaderName, bare_name, git_pairs, same_file};

/// Indexes of the parts that share a file with others.
#[derive(Default)]
pub(super) struct SharedParts {
    /// All of them.
    pub all: BTreeSet<usize>,
    /// Indexes of the parts that share a file with an earlier one.
    pub later: BTreeSet<usize>,
}

/// Finds the parts that share a file.
pub(super) fn shared_parts(edits: &[FileEdit<'_>]) -> SharedParts {
    let mut by_name: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut found = SharedParts::default();
    for (at, edit) in edits.iter().enumerate() {
        for name in part_names(edit) {
            if let Some(other) = by_name.insert(name, at).filter(|other| *other != at) {
                found.all.extend([other, at]);
                found.later.insert(at);
            }
        }
    }
    found
}

/// Returns the names of a part without prefixes.
fn part_names(edit: &FileEdit<'_>) -> Vec<Vec<u8>> {
    let written = [&edit.old, &edit.new]
        .into_iter()
        .filter_map(HeaderName::written)
        .map(|name| bare_name(name).to_vec());
    let moved = [&edit.extended.from, &edit.extended.to]
        .into_iter()
        .flatten()
        .cloned();
    let mut names: Vec<Vec<u8>> = written.chain(moved).collect();
    if names.is_empty()
        && let Some(git) = &edit.extended.git_line
    {
        let same = git_pairs(git).into_iter().filter(|(a, b)| same_file(a, b));
        names.extend(same.map(|(a, _)| bare_name(&a).to_vec()));
    }
    names.sort_unstable();
    names.dedup();
    names
}
