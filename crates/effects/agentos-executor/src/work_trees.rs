//! Finds the working trees of a repository that use a branch. Such a branch must not be moved without them.
//!
//! Owns: reading HEAD and the operations in progress of each working tree. Never: changes anything.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Operation;
use crate::{RepoError, Repository};

/// Finds another working tree whose HEAD names a branch. `None` if there is none.
///
/// # Errors
/// When the list of working trees cannot be read.
pub(crate) fn checked_out_at(repository: &Repository, refname: &str) -> Result<Option<PathBuf>, RepoError> {
    let main_is_bare = repository.is_on("core.bare");
    let named = format!("ref: {refname}");
    let own = repository.git.path().canonicalize().ok();
    let found = list_places(repository)?
        .into_iter()
        .filter(|place| own.is_none() || place.folder.canonicalize().ok() != own)
        // HEAD of a bare repository names a branch without checking it out.
        .filter(|place| !(main_is_bare && place.is_main))
        .find(|place| {
            fs::read_to_string(place.folder.join("HEAD")).is_ok_and(|text| text.trim_end() == named)
        });
    Ok(found.map(|place| place.at))
}

/// Finds a rebase or bisect, in any working tree, that will move this branch or check it out when it ends. `None` if there
/// is none. The files that are read are those of git's `wt-status.c` and `branch.c`.
///
/// # Errors
/// When the list of working trees cannot be read.
pub(crate) fn moved_by(
    repository: &Repository,
    refname: &str,
) -> Result<Option<(Operation, PathBuf)>, RepoError> {
    let short = refname.trim_start_matches("refs/heads/");
    for WorkTreePlace { folder, at, .. } in list_places(repository)? {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let names = |name: &str, wanted: &str| text(name).lines().any(|line| line.trim_end() == wanted);
        if [
            "rebase-merge/head-name",
            "rebase-apply/head-name",
            "rebase-merge/update-refs",
        ]
        .iter()
        .any(|file| names(file, refname))
        {
            return Ok(Some((Operation::Rebase, at)));
        }
        // A bisect notes the branch without `refs/heads/`, a rebase with it.
        if names("BISECT_START", short) {
            return Ok(Some((Operation::Bisect, at)));
        }
    }
    Ok(None)
}

/// Git directory of a working tree, and the path of that tree.
struct WorkTreePlace {
    folder: PathBuf,
    at: PathBuf,
    is_main: bool,
}

fn list_places(repository: &Repository) -> Result<Vec<WorkTreePlace>, RepoError> {
    let common = repository.common_dir();
    let mut found = vec![WorkTreePlace {
        folder: common.to_owned(),
        at: common.parent().unwrap_or(common).to_owned(),
        is_main: true,
    }];
    let linked = common.join("worktrees");
    if linked.is_dir() {
        for entry in fs::read_dir(&linked).map_err(RepoError::io(&linked))? {
            let folder = entry.map_err(RepoError::io(&linked))?.path();
            found.push(WorkTreePlace {
                at: work_tree_of(&folder),
                folder,
                is_main: false,
            });
        }
    }
    Ok(found)
}

/// Returns the working tree of a folder in `worktrees/`; the folder itself if it does not name one.
fn work_tree_of(folder: &Path) -> PathBuf {
    let dot_git = fs::read_to_string(folder.join("gitdir")).unwrap_or_default();
    let dot_git = PathBuf::from(dot_git.trim_end());
    dot_git.parent().map_or_else(|| folder.to_owned(), Path::to_owned)
}
