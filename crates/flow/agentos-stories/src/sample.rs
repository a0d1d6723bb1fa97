//! A small sample repository for a demonstration.
//!
//! Owns: creating it, and a drill on a copy of its evidence. Never: changes a folder that exists already.

use std::path::Path;

use agentos_engine::ports::{Clock as _, EffectError};
use agentos_evidence::{Store, VerifyChecks, VerifyReport};
use agentos_executor::{Identity, Repository};

use crate::Stories;
use agentos_ground::clock::SystemClock;
use agentos_ground::evidence_key;
use agentos_ground::history::History;
use agentos_ground::repository::{self, exec_error};
use agentos_ground::tape::evidence_error;

/// Author of a sample repository's commits.
pub const SAMPLE_NAME: &str = "AgentOS demo";
/// The address of [`SAMPLE_NAME`].
pub const SAMPLE_EMAIL: &str = "demo@agentos.invalid";

/// Creates a repository with one commit of these files.
///
/// # Errors
/// If the folder cannot be created or written.
pub fn create_sample(dir: &Path, files: &[(&str, &[u8])], message: &str) -> Result<(), EffectError> {
    let identity = Identity {
        name: SAMPLE_NAME.to_owned(),
        email: SAMPLE_EMAIL.to_owned(),
    };
    let now = SystemClock.now().unix_seconds();
    let made = Repository::create(dir, files, &identity, message, now);
    made.map(drop).map_err(|error| exec_error(&error))
}

impl Stories<'_> {
    /// Verifies the evidence, then flips one bit of a byte in a copy and verifies that. Returns both reports.
    ///
    /// # Errors
    /// If the evidence cannot be read, or the copy cannot be made.
    pub fn drill_evidence(self, byte: usize) -> Result<[VerifyReport; 2], EffectError> {
        let repo = repository::open(self.ground)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))?;
        let whole = store.verify(&VerifyChecks {
            history: Some(&History::read(&repo)?),
            keys: evidence_key::read_trusted_keys(self.ground)?
                .iter()
                .map(|known| known.key)
                .collect(),
            ..VerifyChecks::default()
        });
        let spoiled = store.drill(&repo.state_dir().join("drill"), byte);
        Ok([
            whole.map_err(|error| evidence_error(&error))?,
            spoiled.map_err(|error| evidence_error(&error))?,
        ])
    }
}
