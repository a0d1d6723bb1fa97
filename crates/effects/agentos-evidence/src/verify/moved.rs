//! Finds a recorded change again in a commit that git made of the recorded one, and names the commits that hold another.
//!
//! Owns: when two commits make the same change, and what a rewritten commit differs in. Never: relies on a message, an
//! author or a time: anybody can choose them.
//!
//! | commit | holds the recorded change if | otherwise |
//! |---|---|---|
//! | names the evidence in its trailer | it makes that change and no other, or recorded changes alone lead from its parent's files to its own | fault |
//! | names none, and the recorded commit is no longer in the history | it makes that change, or its files are those of the change or follow from them by recorded changes | no fault: it claims nothing |
//!
//! It makes that change if it touches the same paths and no other, and if each file is, before and after, the recorded
//! one; or if the hunks of the recorded diff, with all their context, turn the file of its parent into its own.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{ChangeSteps, FileChange, RecordedChange};
use super::patch::{read_patch, turns_into};
use super::{CommitInfo, CommitLookup};
use crate::Store;

/// Recorded commit whose change is in another commit now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedCommit {
    /// Id of the recorded commit.
    pub commit: String,
    /// Id of the commit that holds its change now.
    pub to: String,
    /// How the two commits are related.
    pub how: MoveKind,
    /// Properties that differ. Left out if the recorded commit is not in the repository, so that they cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Vec<CommitProperty>>,
}

/// Relation of a commit to the recorded one whose change it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// The other commit replaces it: same parents, as after `git commit --amend`.
    Reworded,
    /// The other commit replaces it on another base, as after `git rebase`, or its base is not known.
    Rebased,
    /// The other commit repeats the change, and the recorded commit is still in the history, as after `git cherry-pick`.
    Picked,
    /// The other commit holds other changes too, as after `git merge --squash`.
    Squashed,
}

/// Property of a commit besides its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommitProperty {
    /// The commits that it was made on.
    Base,
    /// Name, address and time of its author.
    Author,
    /// Message of the commit.
    Message,
}

impl MovedCommit {
    /// Compares a commit with the recorded one, whose change it holds.
    pub(super) fn compare(
        history: &dyn CommitLookup,
        id: &str,
        to: &CommitInfo,
        fit: ChangeFit,
        is_held: bool,
    ) -> Self {
        let recorded = history.commit(id);
        let differs = recorded.as_ref().map(|from| {
            let pairs = [
                (CommitProperty::Base, from.parents != to.parents),
                (CommitProperty::Author, from.author != to.author),
                (CommitProperty::Message, from.message != to.message),
            ];
            pairs
                .into_iter()
                .filter_map(|(part, differs)| differs.then_some(part))
                .collect()
        });
        let same_base = recorded.is_some_and(|from| from.parents == to.parents);
        Self {
            commit: id.to_owned(),
            to: to.id.clone(),
            how: match (fit, is_held) {
                (ChangeFit::Contained, _) => MoveKind::Squashed,
                (ChangeFit::Same, true) => MoveKind::Picked,
                (ChangeFit::Same, false) if same_base => MoveKind::Reworded,
                (ChangeFit::Same, false) => MoveKind::Rebased,
            },
            differs,
        }
    }

    /// Describes the move for people, in one sentence.
    pub(super) fn sentence(&self) -> String {
        let Self {
            commit,
            to,
            how,
            differs,
        } = self;
        let what = match how {
            MoveKind::Reworded | MoveKind::Rebased => {
                format!("the commit `{commit}` moved to `{to}`, which makes the same change")
            }
            MoveKind::Picked => format!("the commit `{to}` repeats the change of `{commit}`"),
            MoveKind::Squashed => {
                format!("the commit `{commit}` moved to `{to}`, which contains its change and others")
            }
        };
        let Some(differs) = differs else {
            return format!(
                "{what}; base, author and message cannot be compared, because the recorded commit is not in the repository"
            );
        };
        let names: Vec<&str> = differs.iter().map(|part| part.name()).collect();
        match names.split_last() {
            None => what,
            Some((last, [])) => format!("{what}; another {last}"),
            Some((last, others)) => format!("{what}; another {} and {last}", others.join(", ")),
        }
    }
}

impl CommitProperty {
    fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Author => "author or date",
            Self::Message => "message",
        }
    }
}

/// How a commit holds a recorded change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChangeFit {
    /// The commit makes this change and no other.
    Same,
    /// The commit contains the change among others.
    Contained,
}

/// Source of the content that is compared.
pub(super) struct Comparison<'a> {
    pub history: &'a dyn CommitLookup,
    /// Store with the recorded diffs.
    pub blobs: &'a Store,
}

impl Comparison<'_> {
    /// Returns whether a commit's changes are a recorded change and no other. The error says what differs.
    ///
    /// # Errors
    /// The first difference, for people.
    pub fn find_difference(&self, made: &[FileChange], recorded: &RecordedChange) -> Result<(), String> {
        if made == recorded.files {
            return Ok(());
        }
        let paths = |files: &[FileChange]| {
            files
                .iter()
                .map(|file| file.path.clone())
                .collect::<BTreeSet<_>>()
        };
        let (ours, theirs) = (paths(&recorded.files), paths(made));
        if let Some(path) = theirs.difference(&ours).next() {
            return Err(format!("`{}` is not among the recorded files", shorten(path)));
        }
        if let Some(path) = ours.difference(&theirs).next() {
            return Err(format!("`{}` is not changed by it", shorten(path)));
        }
        let differing: Vec<_> = made
            .iter()
            .zip(&recorded.files)
            .filter(|(made, recorded)| made != recorded)
            .collect();
        let Some(diff) = recorded.diff.as_ref().and_then(|id| self.blobs.get_blob(id).ok()) else {
            let path = differing.first().map_or("", |(made, _)| &made.path);
            return Err(format!(
                "`{}` differs, and the recorded diff is not here to compare it with",
                shorten(path)
            ));
        };
        let patch = read_patch(&diff).unwrap_or_default();
        for (made, recorded) in differing {
            if !self.makes_same_edit(made, recorded, &patch) {
                return Err(format!(
                    "`{}` differs from what was recorded",
                    shorten(&made.path)
                ));
            }
        }
        Ok(())
    }

    /// Returns whether the recorded hunks turn the file before a commit into the file after it.
    fn makes_same_edit(
        &self,
        made: &FileChange,
        recorded: &FileChange,
        patch: &super::patch::PatchFiles<'_>,
    ) -> bool {
        let (Some(old), Some(new), Some(was), Some(is)) =
            (&made.old, &made.new, &recorded.old, &recorded.new)
        else {
            // A file that is created or deleted must be the recorded one.
            return false;
        };
        if (&old.mode, &new.mode) != (&was.mode, &is.mode) {
            return false;
        }
        // The record changes the mode alone, so its diff has no hunk for this file, and the content must stay as it is.
        if was.oid == is.oid {
            return old.oid == new.oid;
        }
        let hunks = patch.get(&(was.oid.as_bytes(), is.oid.as_bytes()));
        let texts = self.history.content(&old.oid).zip(self.history.content(&new.oid));
        hunks
            .zip(texts)
            .is_some_and(|(hunks, (old, new))| turns_into(&old, &new, hunks))
    }
}

/// Returns whether recorded changes alone explain every file of a commit, among them this one. The error names the first
/// file that they do not explain.
///
/// # Errors
/// The first difference, for people.
pub(super) fn find_unexplained(
    made: &[FileChange],
    recorded: &RecordedChange,
    steps: &ChangeSteps,
) -> Result<(), String> {
    for file in made {
        if !steps.lead(&file.path, &file.old, &file.new) {
            return Err(format!("no recorded change explains `{}`", shorten(&file.path)));
        }
    }
    for file in &recorded.files {
        let is_there = made
            .iter()
            .find(|made| made.path == file.path)
            .is_some_and(|made| {
                steps.lead(&file.path, &made.old, &file.old) && steps.lead(&file.path, &file.new, &made.new)
            });
        if !is_there {
            return Err(format!("`{}` is not changed as recorded", shorten(&file.path)));
        }
    }
    Ok(())
}

/// Shortens a path of the repository for a message.
fn shorten(path: &str) -> String {
    path.chars().take(200).collect()
}

/// Most comparisons of content while changes are searched in the history.
const MOST_COMPARED: usize = 1000;

/// Search for the changes of commits that are no longer in the history.
pub(super) struct MoveSearch<'a> {
    comparison: Comparison<'a>,
    wanted: Vec<&'a RecordedChange>,
    /// Commits that are not considered.
    settled: &'a BTreeSet<String>,
    by_path: BTreeMap<&'a str, Vec<usize>>,
    steps: ChangeSteps,
    found: BTreeMap<usize, (ChangeFit, String)>,
    compared: usize,
}

impl<'a> MoveSearch<'a> {
    /// Prepares the search for changes, in all commits but the settled ones, which hold no other change. A file is followed by `steps`.
    pub fn new(
        comparison: Comparison<'a>,
        wanted: Vec<&'a RecordedChange>,
        steps: ChangeSteps,
        settled: &'a BTreeSet<String>,
    ) -> Self {
        let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, change) in wanted.iter().enumerate() {
            for file in &change.files {
                by_path.entry(&file.path).or_default().push(at);
            }
        }
        Self {
            comparison,
            wanted,
            settled,
            by_path,
            steps,
            found: BTreeMap::new(),
            compared: 0,
        }
    }

    /// Searches the history, newest first. Returns for each change that is found its place in the list, how it is
    /// contained, and the commit; and whether every commit of the history was looked at.
    pub fn run(mut self) -> (BTreeMap<usize, (ChangeFit, String)>, bool) {
        let paths: BTreeSet<String> = self.by_path.keys().map(|path| (*path).to_owned()).collect();
        let history = self.comparison.history;
        let whole = history.search(&paths, &mut |id, files| self.visit(id, files));
        (self.found, whole)
    }

    /// Compares one commit, of whose files those on wanted paths are given, with the changes on these paths. Returns false
    /// if nothing more is searched.
    fn visit(&mut self, id: &str, files: &[FileChange]) -> bool {
        if self.settled.contains(id) {
            return true;
        }
        let candidates: BTreeSet<usize> = files
            .iter()
            .filter_map(|file| self.by_path.get(file.path.as_str()))
            .flatten()
            .copied()
            .collect();
        let mut all = None;
        for at in candidates {
            let known = self.found.get(&at).map(|(fit, _)| *fit);
            let Some(&change) = self.wanted.get(at).filter(|_| known != Some(ChangeFit::Same)) else {
                continue;
            };
            let touched = |wanted: &FileChange| files.iter().find(|file| file.path == wanted.path);
            if !change.files.iter().all(|file| touched(file).is_some()) {
                continue;
            }
            let contained = change.files.iter().all(|file| {
                touched(file).is_some_and(|made| self.steps.lead(&file.path, &file.new, &made.new))
            });
            // `files` has only those on wanted paths. Whether the commit changes others too shows only in its whole list, which
            // is read for a commit that can match at all.
            let made = all.get_or_insert_with(|| self.comparison.history.changes(id));
            // Without its parent, as at the end of a shallow clone, nobody knows what the commit changed.
            let Some(made) = made else { return true };
            self.compared += usize::from(!contained);
            let same = (contained || self.compared <= MOST_COMPARED)
                && self.comparison.find_difference(made, change).is_ok();
            let fit = match (same, contained, known) {
                (true, _, _) => ChangeFit::Same,
                (false, true, None) => ChangeFit::Contained,
                (false, _, _) => continue,
            };
            // An earlier commit may have made the same change, which was taken back before the run made it again.
            let base = change.parent.as_deref();
            if !base.is_some_and(|base| self.comparison.history.precedes(id, base)) {
                self.found.insert(at, (fit, id.to_owned()));
            }
        }
        // A commit that contains a change among others gives way to one that makes it alone, so the search goes on until
        // every change has one of the second kind.
        let is_same = |(fit, _): &(ChangeFit, String)| *fit == ChangeFit::Same;
        self.found.len() < self.wanted.len() || !self.found.values().all(is_same)
    }
}
