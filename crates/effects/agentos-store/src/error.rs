//! Failures of the database.
//!
//! Owns: the error. Never: contains a text of a conversation.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Failure to use the database of the ledger.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the database cannot be made.
    #[error("cannot make the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The database cannot be read or written.
    #[error("cannot use the database of the ledger: {0}")]
    Database(#[from] rusqlite::Error),
}

impl StoreError {
    /// Returns whether the file is damaged, or no database at all. Any other failure, such as a full disk or another process that
    /// writes for too long, is no reason to replace the file.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Database(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
            Self::Folder { .. } => false,
        }
    }
}
