//! Keys: the system's keyring first, an owner-only file on request.
//!
//! Owns: storing, finding and removing keys by the name a profile gives them (`api_key_ref`). Never: falls back to
//! the file if the keyring was requested, prints a key, reads a key from the environment, or writes any other
//! file but small settings that name keys. Start at [`find_key`].

mod error;
mod file;
mod keyring_store;
mod own_file;
mod owner_only;
mod store;

pub use error::CredentialError;
pub use file::FileStore;
pub use keyring_store::KeyringStore;
pub use own_file::{lock_own_file, remove_own_file, replace_own_file, try_lock_own_file};
pub use store::{FoundKey, KeyLookup, SecretStore, StoreKind, find_key};
