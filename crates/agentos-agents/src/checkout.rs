//! The copy that a program works on, as a port.
//!
//! Owns: what is asked of it. Never: makes one; the executor does, which alone reads git.

use std::path::{Path, PathBuf};

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

    /// Makes a git directory in `folder`; gives the folders it borrows from, which must be readable.
    ///
    /// # Errors
    /// One sentence why there is none.
    fn give_history(&self, folder: &Path) -> Result<Vec<PathBuf>, String>;
}

/// Refuses to show the user's folders where the commit has something of its own: what it does not ignore, and what lies
/// below a link of it, which leads anywhere.
pub(crate) fn shareable(checkout: &dyn Checkout, shared: &[(PathBuf, String)]) -> Result<(), AgentError> {
    let files = checkout.files();
    let below_link = |name: &str| {
        let is_link = |part: &Path| {
            let found = files.join(part).symlink_metadata();
            found.is_ok_and(|found| found.is_symlink())
        };
        Path::new(name).ancestors().any(is_link)
    };
    let own = |name: &str| below_link(name) || !checkout.is_ignored(&format!("{name}/"));
    match shared.iter().find(|(_, name)| own(name)) {
        Some((_, name)) => Err(AgentError::NotIgnored(name.clone())),
        None => Ok(()),
    }
}
