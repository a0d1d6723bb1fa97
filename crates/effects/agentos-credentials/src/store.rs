//! The two key stores behind one interface, and the order in which they are searched.
//!
//! Owns: keyring before file. Never: writes to a store that was not named.

use std::fmt;

use agentos_tool::Secret;

use crate::{CredentialError, FileStore, KeyringStore};

/// Maximum bytes of a key.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// Kind of key store.
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

/// Store of keys.
#[derive(Debug)]
pub enum SecretStore {
    /// The system's keyring.
    Keyring(KeyringStore),
    /// The owner-only file.
    File(FileStore),
}

impl SecretStore {
    /// Returns the kind of the store.
    #[must_use]
    pub fn store_kind(&self) -> StoreKind {
        match self {
            Self::Keyring(_) => StoreKind::Keyring,
            Self::File(_) => StoreKind::File,
        }
    }

    /// Stores a key under a name, and replaces an existing one.
    ///
    /// # Errors
    /// [`CredentialError`] if the name or the key is not valid, or the store cannot be used.
    pub fn set_key(&self, name: &str, key: &Secret) -> Result<(), CredentialError> {
        check_name(name)?;
        let len = key.expose().len();
        if !(1..=MOST_BYTES).contains(&len) {
            return Err(CredentialError::Length {
                len,
                most: MOST_BYTES,
            });
        }
        match self {
            Self::Keyring(store) => store.set_key(name, key),
            Self::File(store) => store.set_key(name, key),
        }
    }

    /// Reads the key of a name. `None` if there is none.
    ///
    /// # Errors
    /// [`CredentialError`] if the name is not valid, or the store cannot be used.
    pub fn read_key(&self, name: &str) -> Result<Option<Secret>, CredentialError> {
        check_name(name)?;
        match self {
            Self::Keyring(store) => store.read_key(name),
            Self::File(store) => store.read_key(name),
        }
    }

    /// Removes the key of a name. Returns false if there was none.
    ///
    /// # Errors
    /// [`CredentialError`] if the name is not valid, or the store cannot be used.
    pub fn remove_key(&self, name: &str) -> Result<bool, CredentialError> {
        check_name(name)?;
        match self {
            Self::Keyring(store) => store.remove_key(name),
            Self::File(store) => store.remove_key(name),
        }
    }
}

/// Key with the store that it was found in.
#[derive(Debug)]
pub struct FoundKey {
    /// The key.
    pub key: Secret,
    /// Kind of the store.
    pub store: StoreKind,
}

/// Result of searching for a key.
#[derive(Debug)]
pub struct KeyLookup {
    /// Key of the first store that has one. `None` if no store has it.
    pub found: Option<FoundKey>,
    /// Errors of stores that were searched before the key was found. They matter if no key was found.
    pub problems: Vec<(StoreKind, CredentialError)>,
}

/// Searches the stores for a key in the given order. An error of one store does not prevent searching the next.
#[must_use]
pub fn find_key(stores: &[SecretStore], name: &str) -> KeyLookup {
    let mut problems = Vec::new();
    for store in stores {
        match store.read_key(name) {
            Ok(Some(key)) => {
                let store = store.store_kind();
                return KeyLookup {
                    found: Some(FoundKey { key, store }),
                    problems,
                };
            }
            Ok(None) => {}
            Err(problem) => problems.push((store.store_kind(), problem)),
        }
    }
    KeyLookup {
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
