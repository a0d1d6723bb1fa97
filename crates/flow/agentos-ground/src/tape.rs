//! The evidence store as the engine's port.
//!
//! Owns: one run's view of the tape, and the tape for reading. Never: continues if a record is not durable.

use std::ops::Deref;
use std::rc::Rc;

use agentos_api::{NextStep, Notice};
use agentos_engine::Cause;
use agentos_engine::ports::{Clock, Durability, EffectError, Evidence, RecordReader, RecordStream, RunPhase};
use agentos_evidence::{EvidenceError, RecordKind, RunFacts, Store, SyncFile};
use agentos_tool::{RunId, Timestamp};

use crate::Ground;
use crate::clock::SystemClock;
use crate::evidence_key::{self, StoredKey, UnsignedReason};
use crate::repository;

/// The tape of one run, for writing.
pub struct Tape {
    ground: Ground,
    store: Rc<Store>,
    run: RunId,
    facts: RunFacts,
    /// The facts of the durable records. `None` if every record is durable.
    durable: Option<RunFacts>,
    /// True if the run has left a record since its last checkpoint.
    begun: bool,
    /// The key that signs the run's end. `None` until it is looked up.
    key: Option<Result<StoredKey, UnsignedReason>>,
}

impl Tape {
    /// Begins a run on this store's tape. Writes nothing yet.
    pub fn new(ground: &Ground, store: Rc<Store>, run: &RunId) -> Self {
        Self {
            ground: ground.clone(),
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
        let body = agentos_evidence::remove_secrets(body).map_err(|error| evidence_error(&error))?;
        self.begun = true;
        Ok((SystemClock.now(), body))
    }

    /// Looks up the key that signs the run's end. Called before any lock is taken, because a keyring can take seconds.
    fn look_up_key(&mut self) {
        let ground = &self.ground;
        self.key
            .get_or_insert_with(|| evidence_key::find_or_make_key(ground));
    }

    /// Gives a record its place on the tape and returns its hash.
    fn place_record(&mut self, kind: RecordKind, body: serde_json::Value) -> Result<String, EffectError> {
        let (now, body) = self.begin_record(body)?;
        let record = self
            .store
            .write(self.run.as_str(), kind, body.clone(), now.as_str())
            .map_err(|error| evidence_error(&error))?;
        // After the write: a front end must not show a record that the tape does not have.
        self.ground.observer().on_record(kind, &now, &body);
        // The facts before this record are kept, to return to them if it does not become durable: the checkpoint must
        // describe only what is on the tape.
        self.durable.get_or_insert_with(|| self.facts.clone());
        self.facts.add_record(kind, &body, now.as_str());
        Ok(record.hash)
    }

    /// Keeps a record until the next one is placed.
    fn defer_record(&mut self, kind: RecordKind, body: serde_json::Value) -> Result<(), EffectError> {
        let (now, body) = self.begin_record(body)?;
        self.store
            .note(self.run.as_str(), kind, body.clone(), now.as_str())
            .map_err(|error| evidence_error(&error))?;
        self.ground.observer().on_record(kind, &now, &body);
        self.facts.add_record(kind, &body, now.as_str());
        Ok(())
    }

    /// Writes a checkpoint, if the run has left any record since the last. A checkpoint that cannot be signed or written is only
    /// reported: the records of the run are on the tape.
    fn write_checkpoint(&mut self) {
        // A run without records has nothing to sign, and a second call must not sign the same end again.
        if !std::mem::take(&mut self.begun) {
            return;
        }
        let ground = &self.ground;
        let kept = self
            .key
            .get_or_insert_with(|| evidence_key::find_or_make_key(ground));
        let note = |why: &str| {
            let message = format!("the evidence of this run is not signed: {why}");
            ground.notify(Notice::new("evidence-unsigned", message));
        };
        // A missing key is usual on a server and is not reported.
        if let Err(UnsignedReason::Failed(why)) = &kept {
            note(why);
        }
        let key = kept
            .as_ref()
            .map(|kept| &kept.key)
            .map_err(UnsignedReason::in_words);
        let now = SystemClock.now();
        let written = self
            .store
            .write_checkpoint(self.run.as_str(), &self.facts, key, now.as_str());
        if let Err(error) = written {
            note(&error.to_string());
        }
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
                // The key is not looked up here: a run with such records alone holds no lock when it ends, and can look it up then.
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
        // The records are not on the tape, so the facts go back to those before them.
        if let Some(facts) = self.durable.take()
            && synced.is_err()
        {
            self.facts = facts;
        }
        synced.map_err(|error| evidence_error(&error))
    }

    fn store_blob(&mut self, bytes: &[u8]) -> Result<String, EffectError> {
        self.store.put_blob(bytes).map_err(|error| evidence_error(&error))
    }
}

/// The evidence store as the engine's port for reading.
pub struct TapeReader<S>(pub S);

impl<S: Deref<Target = Store>> RecordReader for TapeReader<S> {
    fn records(&self) -> Result<RecordStream<'_>, EffectError> {
        let records = self.0.records().map_err(|error| evidence_error(&error))?;
        Ok(Box::new(
            records.map(|record| record.map_err(|error| evidence_error(&error))),
        ))
    }

    fn load_blob(&self, id: &str) -> Result<Vec<u8>, EffectError> {
        self.0.get_blob(id).map_err(|error| evidence_error(&error))
    }
}

/// Makes the error of a tape that cannot be read or written.
pub fn evidence_error(error: &EvidenceError) -> EffectError {
    // A full or read-only disk is a state of the repository, not damage to the evidence.
    if let EvidenceError::Io { source, .. } = error
        && let Some(code) = agentos_executor::unwritable_code(source.kind())
    {
        let effect = EffectError::from_error(Cause::Repository, code, error);
        return effect.hint(agentos_executor::advise_unwritable(source.kind()));
    }
    if matches!(error, EvidenceError::NoTape) {
        return EffectError::new(Cause::Usage, error.code(), error.to_string())
            .suggest_steps([NextStep::LandDiff, NextStep::RunTask { provider: None }]);
    }
    let mut effect = EffectError::from_error(Cause::Evidence, error.code(), error);
    effect.hint = error.hint().map(str::to_owned);
    effect.next = error.next_steps();
    effect
}

/// Opens the evidence of the call's repository.
///
/// # Errors
/// If there is no repository, or its evidence cannot be opened.
pub fn open_store(ground: &Ground) -> Result<Store, EffectError> {
    let repo = repository::open(ground)?;
    Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))
}
