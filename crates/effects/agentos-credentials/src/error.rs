//! What can go wrong with a store of keys.
//!
//! Owns: the errors and what to do about each. Never: holds a key or a piece of one.

use std::io;
use std::path::PathBuf;

use agentos_api::NextStep;

/// A key could not be stored, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// There is no keyring, as on a machine without a desktop session.
    #[error("there is no keyring to use: {reason}")]
    NoKeyring {
        /// What the system says.
        reason: String,
    },
    /// The keyring is there and does not open.
    #[error("the keyring is locked: {reason}")]
    Locked {
        /// What the system says.
        reason: String,
    },
    /// The keyring does not answer.
    #[error("the keyring does not answer within {seconds} seconds")]
    KeyringSilent {
        /// How long was waited.
        seconds: u64,
    },
    /// The keyring refused.
    #[error("the keyring failed: {reason}")]
    Keyring {
        /// What it says.
        reason: String,
    },
    /// The key is empty or too long for the store.
    #[error("a key must have 1 to {most} bytes, and this one has {len}")]
    Length {
        /// The key's length in bytes.
        len: usize,
        /// What the store takes.
        most: usize,
    },
    /// The name is not one.
    #[error("`{0}` cannot name a key: use 1 to 128 letters, digits, `.`, `-` and `_`")]
    Name(String),
    /// The file or its folder can be reached by others.
    #[error("`{}` {problem}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// In which way.
        problem: String,
        /// The command that puts it right.
        fix: String,
    },
    /// The file is not one of ours.
    #[error("`{}` is not a file of keys: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong; never a value from it.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// What was being done, as in `write`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl CredentialError {
    /// Returns what to do about it, where that is a sentence which names no flag of a front end.
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

    /// Returns what can be done about it, as alternatives that a front end words.
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
