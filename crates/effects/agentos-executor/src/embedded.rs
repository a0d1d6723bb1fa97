//! A folder of the work tree that a landing would make a git directory, together with files that are there already.
//!
//! Owns: looking for git's names in the folders above changed paths. Never: judges the base; policy has done that by the
//! base commit's tree. This look is for what no commit shows: files that an earlier landing without a commit left in the
//! work tree, and untracked ones.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;

use agentos_landing::{Change, ListedName, ResultFacts};

use crate::ExecError;

/// The names by which git knows a git directory. Git opens exactly these, so asking the disk for them is asking as git
/// does, whether the file system knows case or not, and costs the same in a folder of any size.
const GIT_NAMES: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// Refuses a change that completes or edits a git directory in the work tree below `root`.
pub(crate) fn check(root: &Path, change: &Change) -> Result<(), ExecError> {
    let wanted = names_on_the_way(change);
    let facts = ResultFacts::read_with(change, |folder| {
        let at = root.join(folder);
        let names = wanted.get(folder).into_iter().flatten().copied();
        let listed = names.filter_map(|name| {
            // Nothing there, or nothing that git could look at either.
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

/// For each folder above a changed path: git's names, and the folders in it that lead to changed paths.
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
