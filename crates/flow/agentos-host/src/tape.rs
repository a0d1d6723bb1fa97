//! The evidence store as the engine's port.
//!
//! Owns: one run's view of the tape. Never: goes on when a record is not durable.

use agentos_engine::Cause;
use agentos_engine::ports::{Clock, Durability, EffectError, Evidence, RunPhase};
use agentos_evidence::SyncFile;
use agentos_evidence::{EvidenceError, Record, RecordKind, RunFacts, Store};
use agentos_tool::{RunId, Timestamp};

use crate::clock::SystemClock;
use crate::evidence_key::{self, Kept, Unsigned};
use crate::host::Host;
use crate::notice::Notice;

/// One run on the tape.
pub struct Tape {
    host: Host,
    store: Store,
    run: RunId,
    facts: RunFacts,
    /// The facts of what is durable, while something is not.
    durable: Option<RunFacts>,
    /// Whether the run left a record since its last checkpoint.
    begun: bool,
    /// The key that signs the run's end, once it was looked up.
    key: Option<Result<Kept, Unsigned>>,
}

impl Tape {
    /// A run on this store's tape.
    pub fn new(host: &Host, store: Store, run: &RunId) -> Self {
        Self {
            host: host.clone(),
            store,
            run: run.clone(),
            facts: RunFacts::default(),
            durable: None,
            begun: false,
            key: None,
        }
    }

    /// Returns the time of a record and its body without secrets.
    fn begin_record(
        &mut self,
        body: serde_json::Value,
    ) -> Result<(Timestamp, serde_json::Value), EffectError> {
        let body = agentos_evidence::clean(body).map_err(|error| broken(&error))?;
        self.begun = true;
        Ok((SystemClock.now(), body))
    }

    /// Looks up the key that signs the run's end, while no lock is held yet.
    fn look_up_key(&mut self) {
        let host = &self.host;
        self.key.get_or_insert_with(|| evidence_key::signer(host));
    }

    /// Gives a record its place on the tape and returns its hash.
    fn place_record(&mut self, kind: RecordKind, body: serde_json::Value) -> Result<String, EffectError> {
        let (now, body) = self.begin_record(body)?;
        let record = self
            .store
            .write(self.run.as_str(), kind, body.clone(), now.as_str())
            .map_err(|error| broken(&error))?;
        self.host.observer().record(kind, &now, &body);
        // What could not be recorded is no fact: the checkpoint speaks of what is on the tape.
        self.durable.get_or_insert_with(|| self.facts.clone());
        self.facts.take(kind, &body, now.as_str());
        Ok(record.hash)
    }

    /// Keeps a record until the next one is placed.
    fn defer_record(&mut self, kind: RecordKind, body: serde_json::Value) -> Result<(), EffectError> {
        let (now, body) = self.begin_record(body)?;
        self.store
            .note(self.run.as_str(), kind, body.clone(), now.as_str())
            .map_err(|error| broken(&error))?;
        self.host.observer().record(kind, &now, &body);
        self.facts.take(kind, &body, now.as_str());
        Ok(())
    }

    /// A checkpoint, if the run left any record since the last. What could not be signed is told and stands: what was
    /// done is recorded.
    fn write_checkpoint(&mut self) {
        if !std::mem::take(&mut self.begun) {
            return;
        }
        let host = &self.host;
        let kept = self.key.get_or_insert_with(|| evidence_key::signer(host));
        let note = |why: &str| {
            let message = format!("the evidence of this run is not signed: {why}");
            host.notify(Notice::new("evidence-unsigned", message));
        };
        if let Err(Unsigned::Failed(why)) = &kept {
            note(why);
        }
        let key = kept.as_ref().map(|kept| &kept.key).map_err(Unsigned::words);
        let now = SystemClock.now();
        let written = self
            .store
            .write_checkpoint(self.run.as_str(), &self.facts, key, now.as_str());
        if let Err(error) = written {
            note(&error.to_string());
        }
    }

    /// The store, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl Evidence for Tape {
    fn record(
        &mut self,
        kind: RecordKind,
        body: serde_json::Value,
        durability: Durability,
    ) -> Result<Option<String>, EffectError> {
        match durability {
            Durability::AtSync => {
                self.look_up_key();
                self.place_record(kind, body).map(Some)
            }
            Durability::Now => {
                let hash = self.place_record(kind, body)?;
                self.make_durable(RunPhase::Continues, None)?;
                Ok(Some(hash))
            }
            Durability::WithNext => {
                self.look_up_key();
                self.defer_record(kind, body).map(|()| None)
            }
        }
    }

    fn make_durable(&mut self, phase: RunPhase, sync: Option<&mut SyncFile<'_>>) -> Result<(), EffectError> {
        match phase {
            RunPhase::Continues => {}
            RunPhase::Ends => self.write_checkpoint(),
        }
        let synced = match sync {
            Some(sync) => self.store.sync_with(sync),
            None => self.store.sync(),
        };
        // What is not on the tape is no fact.
        if let Some(facts) = self.durable.take()
            && synced.is_err()
        {
            self.facts = facts;
        }
        synced.map_err(|error| broken(&error))
    }

    fn store_blob(&mut self, bytes: &[u8]) -> Result<String, EffectError> {
        self.store.put_blob(bytes).map_err(|error| broken(&error))
    }
}

/// A record's body, from its blob if it was too long for a line.
///
/// # Errors
/// When the blob is gone, changed, or no JSON.
pub fn body_of(store: &Store, record: &Record) -> Result<serde_json::Value, EffectError> {
    let Some(id) = record.body.get("body_sha256").and_then(serde_json::Value::as_str) else {
        return Ok(record.body.clone());
    };
    let bytes = store.get_blob(id).map_err(|error| broken(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let what = format!("record {}: {error}", record.seq);
        EffectError::new(Cause::Evidence, "evidence-invalid-record", what)
    })
}

/// A tape that cannot be read or written.
pub fn broken(error: &EvidenceError) -> EffectError {
    if let EvidenceError::Io { source, .. } = error
        && let Some(code) = agentos_executor::unwritable(source.kind())
    {
        let effect = EffectError::new(Cause::Repository, code, error.to_string());
        return effect.hint(agentos_executor::mend(source.kind()));
    }
    if matches!(error, EvidenceError::NoTape) {
        return EffectError::new(Cause::Usage, error.code(), error.to_string())
            .hint("`agentos apply` and `agentos run` leave evidence here");
    }
    let mut effect = EffectError::new(Cause::Evidence, error.code(), error.to_string());
    effect.hint = error.hint().map(str::to_owned);
    effect.next = error.next_steps();
    effect
}

/// Reads a record's body as what its kind holds.
///
/// # Errors
/// If the tape does not hold what it should.
pub fn read_record<T: serde::de::DeserializeOwned>(store: &Store, record: &Record) -> Result<T, EffectError> {
    serde_json::from_value(body_of(store, record)?).map_err(|error| {
        let what = format!("record {} is not what it should be: {error}", record.seq);
        EffectError::new(Cause::Evidence, "evidence-invalid-record", what)
    })
}
