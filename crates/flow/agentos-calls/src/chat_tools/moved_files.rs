//! Files of old commits whose texts have another name by now, or none.
//!
//! Owns: which of them are withheld. Never: looks at a text.
//!
//! Rules are about the names of now. A file that is private today may have had a public name in an old commit, where the rules would
//! show it. So its names are followed back, and a name that the base does not have any more is not shown at all:
//!
//! | file of a commit | shown |
//! |---|---|
//! | its name is not in the base | by name |
//! | its text was, at any time, the text of a file that is withheld | by name |
//! | it had a name that a withheld file took over | by name |
//! | it is the old text of a file in the commit that made a withheld file, whose lines it may have given | by name |
//! | its commit changes too many files, or led to one that does, or is too old | by name |
//! | any other | as policy decides |

use std::collections::{BTreeMap, BTreeSet};

use agentos_context::IgnorePatterns;
use agentos_engine::base_files::walk_files;
use agentos_engine::context::unreadable_base;
use agentos_engine::ports::EffectError;
use agentos_executor::CommitChange;

use super::ancestors::{Ancestors, MOST_FILES};
use super::base_reader::BaseReader;
use super::{StopSlot, is_stopped};
use agentos_ground::control::stopped_error;

/// Files of one commit that are shown by name alone.
pub(super) struct MovedFiles {
    /// Files whose name the base does not have any more.
    pub(super) gone: BTreeSet<String>,
    /// Files with a text that a withheld file has or had.
    pub(super) withheld: BTreeSet<String>,
    /// Ids of both texts of each file.
    blobs: BTreeMap<String, Vec<String>>,
}

/// Texts of old commits that withheld files have or had.
pub(super) struct HiddenTexts {
    /// Ids of the texts.
    ids: BTreeSet<String>,
    /// Commits at which the search ended. Nothing is known about the texts in them and before.
    ends: Vec<String>,
}

impl MovedFiles {
    /// Finds them in a commit. `None` if the commit is too large, or cannot be reached without one that is.
    ///
    /// # Errors
    /// If the base cannot be read, or the call was stopped.
    pub(super) fn find(
        reader: &BaseReader<'_>,
        id: &str,
        stop: &StopSlot,
    ) -> Result<Option<Self>, EffectError> {
        let Some(changes) = reader.repo.commit_changes(id, MOST_FILES) else {
            return Ok(None);
        };
        let hidden = reader.hidden_texts(|reader| find_hidden(reader, stop))?;
        if hidden.ends.iter().any(|end| reader.repo.precedes(id, end)) {
            return Ok(None);
        }
        let mut gone = BTreeSet::new();
        for change in &changes {
            let entry = reader.base.entry(&change.path);
            if entry.map_err(|error| unreadable_base(&error))?.is_none() {
                gone.insert(change.path.clone());
            }
        }
        let withheld = changes
            .iter()
            .filter(|change| list_ids(change).any(|id| hidden.ids.contains(id)));
        let blobs = changes
            .iter()
            .map(|change| (change.path.clone(), list_ids(change).map(str::to_owned).collect()));
        Ok(Some(Self {
            blobs: blobs.collect(),
            gone,
            withheld: withheld.map(|change| change.path.clone()).collect(),
        }))
    }
}

impl MovedFiles {
    /// Lists the ids of both texts of a file of the commit.
    pub(super) fn list_blobs(&self, path: &str) -> Vec<String> {
        self.blobs.get(path).cloned().unwrap_or_default()
    }
}

/// Lists the ids of both texts of a file.
fn list_ids(change: &CommitChange) -> impl Iterator<Item = &str> {
    let sides = [&change.old, &change.new].into_iter().flatten();
    sides.map(|file| file.oid.as_str())
}

/// Finds the ids of all texts that withheld files have in the base, or had in the commits before it.
fn find_hidden(reader: &BaseReader<'_>, stop: &StopSlot) -> Result<HiddenTexts, EffectError> {
    let mut hidden = BTreeSet::new();
    walk_files(reader.base, &IgnorePatterns::default(), |path, id| {
        if !reader.allows_name(&path) {
            hidden.insert(id);
        }
    })?;
    // From the newest to the oldest: a name that a withheld file took over counts in the commits before that.
    let mut decided: BTreeMap<String, bool> = BTreeMap::new();
    let mut is_hidden = |path: &str, taken: &BTreeSet<String>| {
        if taken.contains(path) {
            return true;
        }
        match decided.get(path) {
            Some(known) => *known,
            None => {
                let withheld = !reader.allows_name(path);
                decided.insert(path.to_owned(), withheld);
                withheld
            }
        }
    };
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let walked = Ancestors::walk(reader.repo, &reader.target.base_commit, || is_stopped(stop));
    let walked = walked.ok_or_else(stopped_error)?;
    for changes in &walked.changes {
        let (meant, others): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| is_hidden(&change.path, &taken));
        hidden.extend(
            meant
                .iter()
                .flat_map(|change| list_ids(change))
                .map(str::to_owned),
        );
        // Whatever went away with the commit that made a withheld file may have become that file: a whole file, or lines of one.
        if meant.iter().any(|change| change.old.is_none()) {
            hidden.extend(
                others
                    .iter()
                    .filter_map(|change| change.old.as_ref())
                    .map(|file| file.oid.clone()),
            );
            let gone = others.iter().filter(|change| change.new.is_none());
            taken.extend(gone.map(|change| change.path.clone()));
        }
    }
    Ok(HiddenTexts {
        ids: hidden,
        ends: walked.ends,
    })
}
