//! The copy that a program works on, as a port.
//!
//! Owns: the interface. Never: makes a copy; the executor does, because it alone reads git.

use std::path::{Path, PathBuf};

use agentos_beneath::{EntryKind, OpenFolder};

use agentos_landing::RepoPath;
use agentos_sandbox::SandboxError;

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

    /// Returns the number of the commit's files that policy withholds from the tool; they are not in the copy.
    fn withheld(&self) -> usize;

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

/// Checks that the user's shared folders may be shown in the copy: the commit ignores them, and none lies below a link of
/// the commit, which could lead anywhere.
///
/// # Errors
/// [`AgentError::OfGit`] and [`AgentError::NotIgnored`] with the folder's name.
pub(crate) fn check_shared_folders(
    checkout: &dyn Checkout,
    shared: &[(PathBuf, String)],
) -> Result<(), AgentError> {
    let is_of_git = |(from, name): &&(PathBuf, String)| RepoPath::new(name).is_err() || is_git_folder(from);
    if let Some((_, name)) = shared.iter().find(is_of_git) {
        return Err(AgentError::OfGit(name.clone()));
    }
    let files = checkout.files();
    let own =
        |name: &str| is_below_link(&files, Path::new(name)) || !checkout.is_ignored(&format!("{name}/"));
    match shared.iter().find(|(_, name)| own(name)) {
        Some((_, name)) => Err(AgentError::NotIgnored(name.clone())),
        None => Ok(()),
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
