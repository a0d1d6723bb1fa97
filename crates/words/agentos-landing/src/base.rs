//! Read access to the state an answer is judged against, as a trait: landing itself does no I/O.
//!
//! Owns: the questions landing may ask. Never: answers them; the executor does, from git objects, and tests do
//! from memory.

use std::sync::Arc;

use crate::FileMode;

/// What stands at a path of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File(FileMode),
    /// A symbolic link.
    Symlink,
    /// A submodule.
    Gitlink,
    /// A directory.
    Directory,
}

/// One thing in the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Object id in hexadecimal.
    pub id: String,
}

/// One name in a directory of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, as the bytes git stores; not always UTF-8.
    pub name: Vec<u8>,
    /// What it is.
    pub entry: Entry,
}

/// The base could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the base: {0}")]
pub struct BaseError(pub String);

/// A blob that is in the object store: its full id and its content.
pub type KnownBlob = (String, Arc<[u8]>);

/// Read access to one state of a repository. Calls cost what they touch, not the size of the repository,
/// except [`Base::paths_ending_with`].
pub trait Base {
    /// What stands at `path` (`/` between parts, no leading one), or nothing.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn entry(&self, path: &str) -> Result<Option<Entry>, BaseError>;

    /// The content of a file or link by its object id in full.
    ///
    /// # Errors
    /// When the object is missing or cannot be read.
    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError>;

    /// The names in a directory; `""` is the root. Empty when there is no such directory.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError>;

    /// The full id and content of the one blob whose id begins with `prefix` (4 or more hex digits), wherever
    /// in the object store it is: what an `index` line says the tool saw. None when it is unknown or not unique.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError>;

    /// Paths of files whose last parts are `suffix`, at most `limit`. May walk the whole state; asked only when
    /// a named path is not there.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError>;
}
