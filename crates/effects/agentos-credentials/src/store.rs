//! The two stores behind one interface, and the order in which they are asked.
//!
//! Owns: keyring before file. Never: writes to a store that was not named.

use std::fmt;

use agentos_tool::Secret;

use crate::{CredentialError, FileStore, KeyringStore};

/// The most bytes a key may have.
pub(crate) const MOST: usize = 64 * 1024;

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreKind {
    /// The system's keyring.
    Keyring,
    /// The owner-only file.
    File,
}

impl fmt::Display for StoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        })
    }
}

/// A place where keys are kept.
#[derive(Debug)]
pub enum Store {
    /// The system's keyring.
    Keyring(KeyringStore),
    /// The owner-only file.
    File(FileStore),
}

impl Store {
    /// Which store it is.
    #[must_use]
    pub fn kind(&self) -> StoreKind {
        match self {
            Self::Keyring(_) => StoreKind::Keyring,
            Self::File(_) => StoreKind::File,
        }
    }

    /// Keeps a key under a name, in place of any other of that name.
    ///
    /// # Errors
    /// The name or the key does not fit, or the store cannot be used.
    pub fn set(&self, name: &str, key: &Secret) -> Result<(), CredentialError> {
        check_name(name)?;
        let len = key.expose().len();
        if !(1..=MOST).contains(&len) {
            return Err(CredentialError::Length { len, most: MOST });
        }
        match self {
            Self::Keyring(store) => store.set(name, key),
            Self::File(store) => store.set(name, key),
        }
    }

    /// The key of a name, if there is one.
    ///
    /// # Errors
    /// The name does not fit, or the store cannot be used.
    pub fn get(&self, name: &str) -> Result<Option<Secret>, CredentialError> {
        check_name(name)?;
        match self {
            Self::Keyring(store) => store.get(name),
            Self::File(store) => store.get(name),
        }
    }

    /// Removes the key of a name. False when there was none.
    ///
    /// # Errors
    /// The name does not fit, or the store cannot be used.
    pub fn clear(&self, name: &str) -> Result<bool, CredentialError> {
        check_name(name)?;
        match self {
            Self::Keyring(store) => store.clear(name),
            Self::File(store) => store.clear(name),
        }
    }
}

/// A key and the store it was in.
#[derive(Debug)]
pub struct Found {
    /// The key.
    pub key: Secret,
    /// Where it was.
    pub store: StoreKind,
}

/// What looking for a key gave.
#[derive(Debug)]
pub struct Lookup {
    /// The key of the first store that has one.
    pub found: Option<Found>,
    /// Stores that could not be asked before the key was found. Worth telling when none was found.
    pub problems: Vec<(StoreKind, CredentialError)>,
}

/// Looks for a key in the stores in the given order. A store that cannot be used does not hide the next one.
#[must_use]
pub fn find(stores: &[Store], name: &str) -> Lookup {
    let mut problems = Vec::new();
    for store in stores {
        match store.get(name) {
            Ok(Some(key)) => {
                let store = store.kind();
                return Lookup {
                    found: Some(Found { key, store }),
                    problems,
                };
            }
            Ok(None) => {}
            Err(problem) => problems.push((store.kind(), problem)),
        }
    }
    Lookup {
        found: None,
        problems,
    }
}

fn check_name(name: &str) -> Result<(), CredentialError> {
    let fits = (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    if fits {
        Ok(())
    } else {
        Err(CredentialError::Name(name.chars().take(128).collect()))
    }
}
