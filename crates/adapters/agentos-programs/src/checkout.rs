//! The copy that a program works on, as a port.
//!
//! Owns: the interface. Never: makes a copy; the executor does, because it alone reads git.

use std::path::{Path, PathBuf};

use agentos_beneath::{EntryKind, OpenFolder};

use agentos_landing::RepoPath;
use agentos_sandbox::SandboxError;
use agentos_tool::ProgramView;

use crate::AgentError;

/// Provides copies of the base commit.
pub trait Copies: Send + Sync {
    /// Returns the folder in which each run may create a folder of its own.
    fn folder(&self) -> PathBuf;

    /// Takes a copy, reserved while the value lives. `owner` is the user who will own its files; `None` if that is our own.
    ///
    /// # Errors
    /// One sentence with the reason if no copy can be made.
    fn take(&self, owner: Option<u32>) -> Result<Box<dyn Checkout>, String>;
}

/// A copy of the base commit's files.
pub trait Checkout {
    /// Returns the folder of its files, which are never written to.
    fn files(&self) -> PathBuf;

    /// Returns the commit, and its files that policy withholds from the tool; they are not in the copy.
    fn view(&self) -> ProgramView;

    /// Returns true if the commit's own `.gitignore` files ignore this path. A folder's path ends in `/`.
    fn is_ignored(&self, path: &str) -> bool;

    /// Makes a git directory in `folder`, at the base commit and with the files that are shown, and returns the folders of
    /// objects that it borrows from: they hold nothing else, and must be readable.
    ///
    /// # Errors
    /// One sentence with the reason if it cannot be made.
    fn give_history(&self, folder: &Path) -> Result<Vec<PathBuf>, String>;
}

/// Reserves a copy until this program ends if processes of a run over it may still be alive: another run must not update its
/// files under them.
pub(crate) fn keep_while_alive<T>(checkout: Box<dyn Checkout>, done: &Result<T, AgentError>) {
    if matches!(done, Err(AgentError::Sandbox(SandboxError::NotEnded))) {
        // Dropping it would release the copy, and the next run would update it to its own base.
        std::mem::forget(checkout);
    }
}

/// Returns true if a folder is a git directory, or the top of a working tree, whose history would be shown with it.
#[expect(
    clippy::disallowed_methods,
    reason = "a folder of the user's working tree, before any tool is started"
)]
fn is_git_folder(place: &Path) -> bool {
    let holds = |name: &str| place.join(name).symlink_metadata().is_ok();
    // A bare repository has `HEAD` and `objects`, a linked worktree's directory `HEAD` and `commondir`: see
    // gitrepository-layout(5).
    holds(".git") || (holds("HEAD") && (holds("objects") || holds("commondir")))
}

/// Folder of the user's working tree that is shown in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedPath {
    /// The folder.
    pub from: PathBuf,
    /// Path in the working tree, and in the copy.
    pub name: String,
    /// True if the user's own rules for git ignore it, such as `.git/info/exclude`. The commit does not contain these rules.
    pub is_excluded: bool,
}

/// Checks that the user's shared folders may be shown in the copy: the commit ignores them or the user excludes them, the commit
/// has nothing at that path, and none lies below a link of the commit, which could lead anywhere.
///
/// # Errors
/// [`AgentError::OfGit`] and [`AgentError::NotIgnored`] with the folder's name.
pub(crate) fn check_shared_folders(checkout: &dyn Checkout, shared: &[SharedPath]) -> Result<(), AgentError> {
    let is_of_git =
        |folder: &&SharedPath| RepoPath::new(&folder.name).is_err() || is_git_folder(&folder.from);
    if let Some(folder) = shared.iter().find(is_of_git) {
        return Err(AgentError::OfGit(folder.name.clone()));
    }
    let files = checkout.files();
    let is_own = |folder: &&SharedPath| {
        let name = folder.name.as_str();
        // Rules outside the commit cannot say that a file of the commit is ignored.
        let is_excluded = folder.is_excluded && is_missing(&files, Path::new(name));
        is_below_link(&files, Path::new(name)) || !(is_excluded || checkout.is_ignored(&format!("{name}/")))
    };
    match shared.iter().find(is_own) {
        Some(folder) => Err(AgentError::NotIgnored(folder.name.clone())),
        None => Ok(()),
    }
}

/// Returns true if a copy has nothing at a path.
fn is_missing(files: &Path, name: &Path) -> bool {
    match OpenFolder::open_root(files).and_then(|top| top.open_path(name)) {
        Ok(_) => false,
        Err(error) => error.is_missing(),
    }
}

/// Returns true if a path of a copy is a link, or leads through anything but folders. A path that cannot be read counts as
/// one.
fn is_below_link(files: &Path, name: &Path) -> bool {
    let folder =
        OpenFolder::open_root(files).and_then(|top| top.open_path(name.parent().unwrap_or(Path::new(""))));
    match (folder, name.file_name()) {
        (Ok(folder), Some(last)) => match folder.inspect_entry(last) {
            Ok(found) => found.is_some_and(|found| found.kind == EntryKind::Link),
            Err(_) => true,
        },
        (Err(error), Some(_)) => !error.is_missing(),
        (_, None) => true,
    }
}

#[cfg(test)]
mod tests;
