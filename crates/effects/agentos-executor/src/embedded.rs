//! Refuses a change that, together with existing files of the working tree, would make a folder a git directory.
//!
//! Owns: looking for git's names in the folders above changed paths. Never: judges the base commit; the policy has done that.
//! This look finds files that no commit contains: untracked ones, and those of an earlier landing without a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;

use agentos_landing::{Change, ListedName, ResultFacts};

use crate::ExecError;

/// Names by which git recognises a git directory. git opens exactly these names. Opening them here too gives the same answer
/// on file systems with and without case, and takes the same time in a folder of any size.
const GIT_NAMES: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// Refuses a change that completes or edits a git directory in the working tree below `root`.
///
/// # Errors
/// [`ExecError::GitDirectory`] with the first such path.
pub(crate) fn check_change(root: &Path, change: &Change) -> Result<(), ExecError> {
    let wanted = names_on_the_way(change);
    let facts = ResultFacts::read_with(change, |folder| {
        let at = root.join(folder);
        let names = wanted.get(folder).into_iter().flatten().copied();
        let listed = names.filter_map(|name| {
            // Nothing has this name, or nothing that git could open either.
            let metadata = at.join(name).symlink_metadata().ok()?;
            Some(ListedName {
                name: name.to_owned(),
                is_folder: metadata.is_dir(),
            })
        });
        Ok::<_, Infallible>(listed.collect())
    });
    let Ok(facts) = facts;
    match facts.git_directory_paths().first() {
        Some(path) => Err(ExecError::GitDirectory(path.to_string())),
        None => Ok(()),
    }
}

/// Lists, for each folder above a changed path, git's names and the folders in it that lead to changed paths.
fn names_on_the_way(change: &Change) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut wanted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in change.files() {
        let mut path = file.path.as_str();
        while let Some((folder, _)) = path.rsplit_once('/') {
            let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            wanted.entry(folder).or_insert_with(|| BTreeSet::from(GIT_NAMES));
            let above = wanted.entry(above).or_insert_with(|| BTreeSet::from(GIT_NAMES));
            above.insert(name);
            path = folder;
        }
        wanted.entry("").or_insert_with(|| BTreeSet::from(GIT_NAMES));
    }
    wanted
}
