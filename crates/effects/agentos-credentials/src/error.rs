//! The errors of a key store.
//!
//! Owns: the errors and their hints. Never: holds a key or a piece of one.

use std::io;
use std::path::{Path, PathBuf};

use agentos_api::NextStep;

/// Reason why a key could not be stored, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// There is no keyring, as on a machine without a desktop session.
    #[error("no keyring is available: {reason}")]
    NoKeyring {
        /// Message of the system.
        reason: String,
    },
    /// The keyring is locked.
    #[error("the keyring is locked: {reason}")]
    Locked {
        /// Message of the system.
        reason: String,
    },
    /// The keyring does not answer.
    #[error("the keyring did not answer within {seconds} seconds")]
    KeyringSilent {
        /// Timeout in seconds.
        seconds: u64,
    },
    /// The keyring reported an error.
    #[error("the keyring failed: {reason}")]
    Keyring {
        /// Message of the keyring.
        reason: String,
    },
    /// The key is empty or too long for the store.
    #[error("a key must have 1 to {most} bytes, and this one has {len}")]
    Length {
        /// Length of the key in bytes.
        len: usize,
        /// Maximum length that the store accepts.
        most: usize,
    },
    /// The name contains other characters than key names may have.
    #[error("`{0}` cannot name a key: use 1 to 128 letters, digits, `.`, `-` and `_`")]
    Name(String),
    /// Other users can reach the file or its folder.
    #[error("`{}` {problem}", path.display())]
    Exposed {
        /// Path of the file or folder.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
        /// Command that fixes it.
        fix: String,
    },
    /// The file is not a key file, or damaged.
    #[error("`{}` is not a file of keys: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Description of the problem, without a value from the file.
        reason: String,
    },
    /// The file system returned an error.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// Failed action, such as `write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl CredentialError {
    /// Returns a hint in words. `None` if the next steps of [`Self::next_steps`] say it, or there is none.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Locked { .. } => Some("unlock the keyring in your desktop session".to_owned()),
            Self::Exposed { fix, .. } => Some(fix.clone()),
            Self::Format { .. } => Some("move the file away and set the keys again".to_owned()),
            Self::NoKeyring { .. }
            | Self::KeyringSilent { .. }
            | Self::Keyring { .. }
            | Self::Length { .. }
            | Self::Name(_)
            | Self::Io { .. } => None,
        }
    }

    /// Returns possible next steps, which a front end words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::NoKeyring { .. } | Self::KeyringSilent { .. } | Self::Locked { .. } => {
                vec![NextStep::KeepInFile]
            }
            Self::Exposed { .. }
            | Self::Format { .. }
            | Self::Keyring { .. }
            | Self::Length { .. }
            | Self::Name(_)
            | Self::Io { .. } => Vec::new(),
        }
    }
}

/// Returns a conversion for the error of a file operation. `doing` is a verb, as in `cannot write`.
pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CredentialError {
    move |source| CredentialError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
