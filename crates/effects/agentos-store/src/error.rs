//! Failures of the database.
//!
//! Owns: the error. Never: contains a text of a conversation.

use std::io;
use std::path::PathBuf;

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
