//! All commits that led to the base, each after those that follow it.
//!
//! Owns: the order, and where the walk ends. Never: looks at a text.

use std::collections::{BTreeMap, VecDeque};

use agentos_executor::{CommitChange, Repository};

/// Most commits that are looked at.
pub(super) const MOST_STEPS: usize = 2_000;
/// Most files of a commit.
pub(super) const MOST_FILES: usize = 300;

/// Commits that led to the base, as far as they can be followed.
#[derive(Default)]
pub(super) struct Ancestors {
    /// Changes of the commits, each commit before its parents.
    pub(super) changes: Vec<Vec<CommitChange>>,
    /// Commits at which the walk ended. What they and the commits before them changed is not known.
    pub(super) ends: Vec<String>,
}

impl Ancestors {
    /// Walks back from a commit along all parents. `None` if the walk was stopped.
    pub(super) fn walk(repo: &Repository, from: &str, is_stopped: impl Fn() -> bool) -> Option<Self> {
        let mut ends = Vec::new();
        let mut found: BTreeMap<String, (Vec<CommitChange>, Vec<String>)> = BTreeMap::new();
        let mut waiting = VecDeque::from([from.to_owned()]);
        while let Some(id) = waiting.pop_front() {
            if is_stopped() {
                return None;
            }
            if found.contains_key(&id) || ends.contains(&id) {
                continue;
            }
            let commit = repo.commit(&id).filter(|_| found.len() < MOST_STEPS);
            let changes = commit.as_ref().and_then(|_| repo.commit_changes(&id, MOST_FILES));
            match commit.zip(changes) {
                Some((commit, changes)) => {
                    waiting.extend(commit.parents.iter().cloned());
                    found.insert(id, (changes, commit.parents));
                }
                None => ends.push(id),
            }
        }
        let changes = order_commits(found, from);
        Some(Self { changes, ends })
    }
}

/// Orders commits so that each comes after all commits that follow it.
fn order_commits(
    mut found: BTreeMap<String, (Vec<CommitChange>, Vec<String>)>,
    from: &str,
) -> Vec<Vec<CommitChange>> {
    let mut followers: BTreeMap<String, usize> = BTreeMap::new();
    for parent in found.values().flat_map(|(_, parents)| parents) {
        *followers.entry(parent.clone()).or_default() += 1;
    }
    let mut ordered = Vec::new();
    let mut ready = vec![from.to_owned()];
    while let Some(id) = ready.pop() {
        let Some((changes, parents)) = found.remove(&id) else {
            continue;
        };
        ordered.push(changes);
        for parent in parents {
            let left = followers.entry(parent.clone()).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                ready.push(parent);
            }
        }
    }
    ordered
}
