//! Checks that a git directory belongs to its working tree, and that nothing in it leads writes elsewhere.
//!
//! Owns: the refusal of a directory that does not point back to its working tree, and of symbolic links at paths that a
//! landing writes. Never: follows a link that it judges, or changes anything. `objects/info/alternates` is only read, and may
//! lead out.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{RepoError, Repository};

/// Checks that the git directory points back to its working tree.
///
/// A `.git` that is a link or a file, and a `commondir`, can name any repository. So the other side must name this working
/// tree: git writes its path into `worktrees/*/gitdir` for a linked working tree, and into `core.worktree` for a submodule.
///
/// # Errors
/// [`RepoError::ForeignGitDir`] if it does not.
pub(crate) fn check_owner(git: &git2::Repository) -> Result<(), RepoError> {
    let canonical = |path: &Path| path.canonicalize().map_err(RepoError::io(path));
    let (own, common) = (canonical(git.path())?, canonical(git.commondir())?);
    let foreign = || RepoError::ForeignGitDir(git.path().to_owned());
    let linked = own != common;
    // A `commondir` may name any folder. git puts the directories of linked working trees only here.
    if linked && own.parent() != Some(common.join("worktrees").as_path()) {
        return Err(RepoError::ForeignGitDir(common));
    }
    let Some(work) = git.workdir() else {
        return Ok(());
    };
    let dot_git = work.join(".git");
    if !linked && fs::symlink_metadata(&dot_git).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    let back = if linked {
        let named = fs::read_to_string(own.join("gitdir")).map_err(|_| foreign())?;
        own.join(named.trim_end()).parent().map(Path::to_owned)
    } else {
        let config = git.config().and_then(|mut config| config.snapshot());
        let named = config.and_then(|config| config.get_string("core.worktree"));
        named.ok().map(|named| own.join(named))
    };
    match back.and_then(|back| back.canonicalize().ok()) {
        Some(back) if back == canonical(work)? => Ok(()),
        Some(_) | None => Err(foreign()),
    }
}

/// Checks that the folder from which a repository was found lies in its working tree or git directory. A copied `.git` file
/// still names the working tree that it was copied from, and a landing would write there.
///
/// # Errors
/// [`RepoError::ForeignGitDir`] if it does not.
pub(crate) fn check_reached(git: &git2::Repository, from: &Path) -> Result<(), RepoError> {
    let canonical = |path: &Path| path.canonicalize().map_err(RepoError::io(path));
    let from = canonical(from)?;
    let within = |place: &Path| Ok::<_, RepoError>(from.starts_with(canonical(place)?));
    match git.workdir() {
        Some(work) if !within(work)? && !within(git.path())? => {
            Err(RepoError::ForeignGitDir(git.path().to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

impl Repository {
    /// Refuses a symbolic link at or above each path in the git directory that a landing on this ref writes: a write through
    /// the link would change files elsewhere. git itself creates no links there.
    ///
    /// # Errors
    /// [`RepoError::LinkInGitDir`] if there is one.
    pub(crate) fn check_no_links(&self, refname: &str) -> Result<(), RepoError> {
        let (own, common) = (self.git.path(), self.common_dir());
        let mut places = vec![own.join("HEAD"), own.join("logs"), own.join("logs/HEAD")];
        for root in [common.to_owned(), common.join("logs")] {
            let above = refname.match_indices('/').filter_map(|(at, _)| refname.get(..at));
            places.extend(above.chain([refname]).map(|part| root.join(part)));
            places.push(root);
        }
        // The common directory itself may be a link, which was followed when the repository was found.
        places.retain(|place| place != common);
        places.push(common.join("objects"));
        if let Some(link) = places.into_iter().find(is_link) {
            return Err(RepoError::LinkInGitDir(link));
        }
        let objects = common.join("objects");
        for entry in fs::read_dir(&objects).map_err(RepoError::io(&objects))? {
            let entry = entry.map_err(RepoError::io(&objects))?;
            if is_link_type(entry.file_type()) {
                return Err(RepoError::LinkInGitDir(entry.path()));
            }
        }
        Ok(())
    }
}

fn is_link(place: &PathBuf) -> bool {
    is_link_type(fs::symlink_metadata(place).map(|found| found.file_type()))
}

fn is_link_type(found: std::io::Result<fs::FileType>) -> bool {
    found.is_ok_and(|found| found.is_symlink())
}
