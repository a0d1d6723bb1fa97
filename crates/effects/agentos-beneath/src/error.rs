//! Failures to walk, fill or remove a tree.
//!
//! Owns: the error. Never: names more of a tree than the one entry that failed.

use std::ffi::OsStr;
use std::io;

/// Failure beneath an opened folder.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A system call failed.
    #[error("cannot {action} `{name}`: {source}")]
    Io {
        /// Attempted action, such as `open`.
        action: &'static str,
        /// Name of the entry, without the folders above it.
        name: String,
        /// Error that the system reported.
        source: io::Error,
    },
    /// A name is empty, `.`, `..`, or holds a separator or a NUL byte.
    #[error("`{0}` is not a valid file name")]
    BadName(String),
    /// An entry that has to be a folder is a link, a file or something else.
    #[error("`{0}` is not a folder")]
    NotAFolder(String),
    /// An entry that has to be a regular file is a link, a folder, a FIFO, a socket or a device.
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    /// A file is, or grew while it was read, longer than the limit in bytes.
    #[error("a file is larger than {0} bytes")]
    TooLarge(u64),
    /// A folder or a tree has more entries than the limit.
    #[error("there are more than {0} files and folders")]
    TooMany(u64),
    /// Folders are nested deeper than the limit.
    #[error("folders are nested more than {0} deep")]
    TooDeep(usize),
    /// Entries appear as fast as they are removed.
    #[error("a program keeps writing into the folder that is being removed")]
    StillWritten,
}

impl TreeError {
    /// Adds the action and the entry to a system's error.
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str, name: &OsStr) -> impl FnOnce(E) -> Self {
        let name = shown(name);
        move |error| Self::Io {
            action,
            name,
            source: error.into(),
        }
    }

    /// Returns true if the entry does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if the name of an entry that was to be created is taken.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
    }
}

impl From<TreeError> for io::Error {
    fn from(error: TreeError) -> Self {
        let kind = match &error {
            TreeError::Io { source, .. } => source.kind(),
            TreeError::BadName(_) => io::ErrorKind::InvalidInput,
            TreeError::NotAFolder(_) => io::ErrorKind::NotADirectory,
            TreeError::TooLarge(_) => io::ErrorKind::FileTooLarge,
            TreeError::NotAFile(_)
            | TreeError::TooMany(_)
            | TreeError::TooDeep(_)
            | TreeError::StillWritten => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Formats a name for an error. Bytes that are not UTF-8 are replaced.
pub(crate) fn shown(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}
