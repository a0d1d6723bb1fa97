//! The certificate authority of the user's local service, by which other devices know the service over TLS.
//!
//! Owns: its file, which only its owner can read. Never: makes a key or a certificate; the service does.

use std::path::PathBuf;

use agentos_credentials::{CredentialError, FileStore, SecretStore};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_tool::Secret;

use crate::Host;

/// Code of errors about the file.
const CODE: &str = "service-file";
/// Name of the file, in the folder of the service's files.
const FILE: &str = "authority.json";
/// Name of the entry in the file.
const ENTRY: &str = "authority";

impl Host {
    /// Reads the authority of this user's service. `None` if the service has made none.
    ///
    /// # Errors
    /// Fails if other users can read or replace the file, or it is damaged.
    pub fn read_service_authority(&self) -> Result<Option<Secret>, EffectError> {
        open_store(self)?.read_key(ENTRY).map_err(|error| failed(&error))
    }

    /// Returns the path of the authority's file.
    ///
    /// # Errors
    /// Fails if the user has no home folder.
    pub fn service_authority_path(&self) -> Result<PathBuf, EffectError> {
        Ok(self.service_folder()?.join(FILE))
    }

    /// Keeps the authority of this user's service, for the next start.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn keep_service_authority(&self, authority: &Secret) -> Result<(), EffectError> {
        let store = open_store(self)?;
        store.set_key(ENTRY, authority).map_err(|error| failed(&error))
    }
}

fn open_store(host: &Host) -> Result<SecretStore, EffectError> {
    Ok(SecretStore::File(FileStore::new(host.service_authority_path()?)))
}

fn failed(error: &CredentialError) -> EffectError {
    EffectError::from_error(Cause::Usage, CODE, error)
}
