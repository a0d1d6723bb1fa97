//! Parts of an answer that share a file.
//!
//! Owns: finding them by their names. Never: looks at the base.

use std::collections::{BTreeSet, HashMap};

use crate::parse::{FileEdit, HeaderName, git_pairs, same_file, without_prefix};

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
    let bare = |name: &[u8]| without_prefix(name).unwrap_or(name).to_vec();
    let written = |name: &HeaderName| match name {
        HeaderName::Written(name) => Some(bare(name)),
        HeaderName::Unstated | HeaderName::Nothing => None,
    };
    let moved = [&edit.extended.from, &edit.extended.to]
        .into_iter()
        .flatten()
        .cloned();
    let mut names: Vec<Vec<u8>> = [written(&edit.old), written(&edit.new)]
        .into_iter()
        .flatten()
        .chain(moved)
        .collect();
    if names.is_empty()
        && let Some(git) = &edit.extended.git_line
    {
        let same = git_pairs(git).into_iter().filter(|(a, b)| same_file(a, b));
        names.extend(same.map(|(a, _)| bare(&a)));
    }
    names.sort_unstable();
    names.dedup();
    names
}
