//! Read access to the state that an answer is judged against, as a trait: landing itself does no I/O.
//!
//! Owns: the questions that landing may ask. Never: answers them; the executor does from git objects, and tests do
//! from memory.

use std::sync::Arc;

use crate::FileMode;

/// Kind of object at a path of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// Regular file with its mode.
    File(FileMode),
    /// Symbolic link.
    Symlink,
    /// Submodule.
    Gitlink,
    /// Directory.
    Directory,
}

/// Object at a path of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseEntry {
    /// Kind of the object.
    pub kind: EntryKind,
    /// Object id in hexadecimal.
    pub id: String,
}

/// Name in a directory of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Name, as the bytes that git stores; not always UTF-8.
    pub name: Vec<u8>,
    /// Object of that name.
    pub entry: BaseEntry,
}

/// Failure to read the base.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseError {
    /// The base is damaged, or the system does not permit reading it.
    #[error("cannot read the base: {0}")]
    Unreadable(String),
    /// A partial clone, whose remote has promised the object, has not fetched it.
    #[error("{} has not been fetched into this partial clone", name_object(path.as_deref(), id))]
    NotFetched {
        /// Id of the object.
        id: String,
        /// Path that has the object in the base. `None` if no path has it.
        path: Option<String>,
    },
}

fn name_object(path: Option<&str>, id: &str) -> String {
    match path {
        Some(path) => format!("`{path}` (object `{id}`)"),
        None => format!("the object `{id}`"),
    }
}

/// Full id and content of a blob in the object store.
pub type KnownBlob = (String, Arc<[u8]>);

/// Read access to one state of a repository. A call costs only what it touches, not the size of the repository,
/// except [`Base::paths_ending_with`].
pub trait Base {
    /// Returns the object at `path` (`/` between parts, no leading one). Returns `None` if there is none.
    ///
    /// # Errors
    /// Fails if the state cannot be read.
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError>;

    /// Returns the content of a file or link by its full object id.
    ///
    /// # Errors
    /// Fails if the object is missing or cannot be read.
    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError>;

    /// Returns the size of a file's content without reading it. `None` if it is not known.
    fn size(&self, _id: &str) -> Option<u64> {
        None
    }

    /// Returns the names in a directory; `""` is the root. Empty if there is no such directory.
    ///
    /// # Errors
    /// Fails if the state cannot be read.
    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError>;

    /// Returns the full id and content of the blob whose id begins with `prefix` (4 or more hex digits), wherever it
    /// is in the object store. This is how the `index` line of a diff names the content that the tool saw. Returns
    /// `None` if the blob is unknown or the prefix is not unique.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError>;

    /// Returns at most `limit` paths of files whose last parts are `suffix`. May walk the whole state, so landing
    /// asks only if a named path does not exist.
    ///
    /// # Errors
    /// Fails if the state cannot be read.
    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError>;
}
