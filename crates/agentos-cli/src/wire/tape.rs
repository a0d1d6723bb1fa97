//! The evidence store as the engine's port.
//!
//! Owns: one run's view of the tape. Never: goes on when a record is not durable.

use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError, Evidence};
use agentos_evidence::{EvidenceError, RecordKind, Store};
use agentos_tool::RunId;

use crate::clock::SystemClock;

/// One run on the tape.
pub struct Tape {
    store: Store,
    run: RunId,
}

impl Tape {
    /// A run on this store's tape.
    pub fn new(store: Store, run: &RunId) -> Self {
        Self {
            store,
            run: run.clone(),
        }
    }

    /// The store, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl Evidence for Tape {
    fn append(&mut self, kind: RecordKind, body: serde_json::Value) -> Result<String, EffectError> {
        let now = SystemClock.now();
        let record = self
            .store
            .append(self.run.as_str(), kind, body, now.as_str())
            .map_err(|error| broken(&error))?;
        Ok(record.hash)
    }

    fn blob(&mut self, bytes: &[u8]) -> Result<String, EffectError> {
        self.store.put_blob(bytes).map_err(|error| broken(&error))
    }
}

/// A tape that cannot be read or written.
pub fn broken(error: &EvidenceError) -> EffectError {
    if let EvidenceError::Io { source, .. } = error
        && let Some(code) = agentos_executor::unwritable(source.kind())
    {
        let effect = EffectError::new(Cause::Repository, code, error.to_string());
        return effect.hint("free some space, or make the folder writable, and run the command again");
    }
    EffectError::new(Cause::Evidence, error.code(), error.to_string()).hint(
        "nothing is landed without evidence; `agentos evidence verify` says what is wrong with the tape",
    )
}
