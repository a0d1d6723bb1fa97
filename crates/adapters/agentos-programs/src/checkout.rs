//! The copy that a program works on, as a port.
//!
//! Owns: what is asked of it. Never: makes one; the executor does, which alone reads git.

use std::path::{Path, PathBuf};

use agentos_beneath::{EntryKind, OpenFolder};

use agentos_landing::RepoPath;
use agentos_sandbox::SandboxError;

use crate::AgentError;

/// Gives copies of the commit that a change would be made on.
pub trait Copies: Send + Sync {
    /// The folder in which runs may have folders of their own.
    fn folder(&self) -> PathBuf;

    /// A copy, for as long as the value lives. `owner` is the user that its files shall belong to; `None` if that is ours.
    ///
    /// # Errors
    /// One sentence why there is none.
    fn take(&self, owner: Option<u32>) -> Result<Box<dyn Checkout>, String>;
}

/// One copy.
pub trait Checkout {
    /// Its files; nobody writes to them.
    fn files(&self) -> PathBuf;

    /// How many files of the commit are not in it, because policy keeps them from the tool.
    fn withheld(&self) -> usize;

    /// Do the commit's own rules ignore this path? A folder's name ends in `/`.
    fn is_ignored(&self, path: &str) -> bool;

    /// Makes a git directory in `folder`, at the base commit and with the files that are shown, and returns the folders of
    /// objects that it borrows from: they hold nothing else, and must be readable.
    ///
    /// # Errors
    /// One sentence why there is none.
    fn give_history(&self, folder: &Path) -> Result<Vec<PathBuf>, String>;
}

/// Keeps a copy as it is, for as long as this program runs, if processes of a run over it may still live: another run must not
/// turn it into that of another base under them.
pub(crate) fn keep_if_alive<T>(checkout: Box<dyn Checkout>, done: &Result<T, AgentError>) {
    if matches!(done, Err(AgentError::Sandbox(SandboxError::NotEnded))) {
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
    holds(".git") || (holds("HEAD") && (holds("objects") || holds("commondir")))
}

/// Refuses to show the user's folders where the commit has something of its own: what it does not ignore, and what lies
/// below a link of it, which leads anywhere.
pub(crate) fn shareable(checkout: &dyn Checkout, shared: &[(PathBuf, String)]) -> Result<(), AgentError> {
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

/// Returns true if a path of a copy is a link or leads through something that is no folder. What cannot be looked at counts
/// as such.
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
