//! Records on their way to the tape.
//!
//! Owns: what a record will say, and the lines of those that have their place. Never: writes.

use std::fs::File;

use agentos_chain::write_canonical;
use serde_json::Value;

use crate::record::{MAX_LINE, new_salt};
use crate::{EvidenceError, Record, RecordKind, RecordRef, guard};

/// The tape while records with a place on it are not on the disk. Other writers wait until this is dropped.
#[derive(Debug)]
pub(crate) struct Placed {
    pub _lock: File,
    pub tape: File,
    /// The lines to come, with their ends.
    pub lines: String,
    /// Those of them that were only noted.
    pub noted: Vec<Entry>,
    /// Where the tape stands.
    pub len: u64,
    /// Where it will stand.
    pub at: RecordRef,
}

/// What a record will say, once its place on the tape is known.
#[derive(Debug)]
pub(crate) struct Entry {
    run: String,
    kind: RecordKind,
    /// Canonical.
    body: String,
    /// Hashed with the body, and left out with it.
    salt: String,
    ts: String,
}

/// More than the members beside a body ever take.
const BESIDE_BODY: usize = 640;

impl Entry {
    /// Without secrets, and surely recordable.
    pub fn new(run: &str, kind: RecordKind, body: Value, ts: &str) -> Result<Self, EvidenceError> {
        Record::check_plain(run, ts)?;
        let body = write_canonical(&guard::clean(body)?)?;
        let bytes = body.len() + BESIDE_BODY;
        if bytes > MAX_LINE {
            return Err(EvidenceError::RecordTooLarge {
                bytes,
                limit: MAX_LINE,
            });
        }
        Ok(Self {
            run: run.to_owned(),
            kind,
            body,
            salt: new_salt()?,
            ts: ts.to_owned(),
        })
    }

    /// The record's line, with its end, and where it stands.
    fn line(&self, seq: u64, prev: &str) -> (String, RecordRef) {
        let Self {
            run,
            kind,
            body,
            salt,
            ts,
        } = self;
        let record = Record::sealed(seq, prev, run, *kind, (body, salt), ts);
        let hash = record.hash;
        (record.line + "\n", RecordRef { seq, hash })
    }
}

impl Placed {
    /// What was noted, and a last record. Taken only for good: what was noted stays so when there is no last one.
    pub fn add(
        &mut self,
        noted: &mut Vec<Entry>,
        last: impl FnOnce(&RecordRef) -> Result<Entry, EvidenceError>,
    ) -> Result<RecordRef, EvidenceError> {
        let mut at = self.at.clone();
        let mut lines = String::new();
        for entry in noted.iter() {
            let (line, next) = entry.line(at.seq + 1, &at.hash);
            lines.push_str(&line);
            at = next;
        }
        let (line, at) = last(&at)?.line(at.seq + 1, &at.hash);
        self.noted.append(noted);
        self.lines.push_str(&lines);
        self.lines.push_str(&line);
        self.at = at.clone();
        Ok(at)
    }
}
