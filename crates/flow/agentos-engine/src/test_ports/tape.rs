//! A tape in memory.
//!
//! Owns: its records and blobs, and the failure that a test asks for. Never: part of the product.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use agentos_evidence::{Record, RecordKind, SyncFile};
use serde_json::Value;

use super::{EffectLog, NoonClock, failed};
use crate::Cause;
use crate::ports::{Clock as _, Durability, EffectError, Evidence, RecordReader, RecordStream, RunPhase};

/// A tape that fails on one kind of record, and keeps what it was asked in order.
#[derive(Default)]
pub(crate) struct TestTape {
    pub(crate) fails_on: Option<RecordKind>,
    pub(crate) kinds: Vec<RecordKind>,
    pub(crate) log: EffectLog,
    pub(crate) run: String,
    pub(crate) content: Rc<RefCell<TapeContent>>,
}

/// The records and blobs of every run.
#[derive(Default)]
pub(crate) struct TapeContent {
    records: Vec<Record>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl TestTape {
    /// Begins another run on the same tape.
    pub(crate) fn begin_run(&self, run: &str) -> Self {
        Self {
            run: run.to_owned(),
            content: Rc::clone(&self.content),
            ..Self::default()
        }
    }

    /// Changes every record.
    pub(crate) fn rewrite(&self, change: impl Fn(&mut Record)) {
        self.content.borrow_mut().records.iter_mut().for_each(change);
    }

    /// Deletes the blobs.
    pub(crate) fn delete_blobs(&self) {
        self.content.borrow_mut().blobs.clear();
    }

    /// Returns the tape for reading.
    pub(crate) fn reader(&self) -> TestReader {
        TestReader(Rc::clone(&self.content))
    }
}

impl Evidence for TestTape {
    fn record(
        &mut self,
        kind: RecordKind,
        body: Value,
        durability: Durability,
    ) -> Result<Option<String>, EffectError> {
        if self.fails_on == Some(kind) {
            return Err(EffectError::new(
                Cause::Evidence,
                "evidence-not-durable",
                "the disk is full",
            ));
        }
        self.kinds.push(kind);
        self.log.borrow_mut().push(format!("{kind:?}: {durability:?}"));
        let hash = format!("sha256:{}", self.kinds.len());
        let records = &mut self.content.borrow_mut().records;
        records.push(Record {
            v: 2,
            seq: records.len() as u64 + 1,
            ts: NoonClock::default().now().to_string(),
            run: self.run.clone(),
            kind,
            body,
            body_salt: None,
            body_sha256: None,
            prev: String::new(),
            hash: hash.clone(),
        });
        Ok((durability != Durability::WithNext).then_some(hash))
    }

    fn make_durable(&mut self, phase: RunPhase, sync: Option<&mut SyncFile<'_>>) -> Result<(), EffectError> {
        self.log
            .borrow_mut()
            .push(format!("make durable, the run {phase:?}"));
        // The real tape has the executor sync the file too, so a test sees that call in the log.
        sync.map_or(Ok(()), |sync| sync(Path::new("tape")))
            .map_err(|error| EffectError::new(Cause::Evidence, "x", error.to_string()))
    }

    fn store_blob(&mut self, bytes: &[u8]) -> Result<String, EffectError> {
        let blobs = &mut self.content.borrow_mut().blobs;
        let id = format!("sha256:{:064}", blobs.len());
        blobs.insert(id.clone(), bytes.to_vec());
        Ok(id)
    }
}

/// A tape for reading, while a run writes on it.
pub(crate) struct TestReader(Rc<RefCell<TapeContent>>);

impl RecordReader for TestReader {
    fn records(&self) -> Result<RecordStream<'_>, EffectError> {
        // A copy: a run may append while the reader is used.
        let records = self.0.borrow().records.clone();
        Ok(Box::new(records.into_iter().map(Ok)))
    }

    fn load_blob(&self, id: &str) -> Result<Vec<u8>, EffectError> {
        let found = self.0.borrow().blobs.get(id).cloned();
        found.ok_or_else(|| failed(Cause::Evidence, "no-such-blob"))
    }
}
