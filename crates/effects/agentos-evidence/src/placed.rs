//! Records that are not on the tape yet.
//!
//! Owns: their content, and the lines of those that have a number. Never: writes.

use std::fs::File;

use agentos_chain::write_canonical;
use serde_json::Value;

use crate::record::{MAX_LINE, new_salt};
use crate::{EvidenceError, Record, RecordKind, RecordRef, guard};

/// Locked tape, and the records with a number that are to be appended to it. Other writers wait until this is dropped.
#[derive(Debug)]
pub(crate) struct PlacedRecords {
    pub _lock: File,
    pub tape: File,
    /// Lines to append, each with its line feed.
    pub lines: String,
    /// Records of these lines that were noted, to be noted again if the write fails.
    pub noted: Vec<PendingRecord>,
    /// Length of the tape before the append.
    pub len: u64,
    /// Last record of the tape after the append.
    pub at: RecordRef,
}

/// Content of a record that has no number yet.
#[derive(Debug)]
pub(crate) struct PendingRecord {
    run: String,
    kind: RecordKind,
    /// Body as canonical JSON.
    body: String,
    /// Salt that is hashed with the body, and left out with it in a redacted copy.
    salt: String,
    ts: String,
}

/// Upper limit of the bytes that all other members of a record take.
const OTHER_MEMBERS: usize = 640;

impl PendingRecord {
    /// Removes secrets from a body and checks that it can be recorded.
    ///
    /// # Errors
    /// When the body is too large, nested too deeply or holds an inexact number, or run or time have a wrong form.
    pub fn new(run: &str, kind: RecordKind, body: Value, ts: &str) -> Result<Self, EvidenceError> {
        Record::check_plain(run, ts)?;
        let body = write_canonical(&guard::remove_secrets(body)?)?;
        // Checked here, so that `note` can refuse a record. When it gets its number, its caller cannot be asked any more.
        let bytes = body.len() + OTHER_MEMBERS;
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

    /// Builds the line of the record, with its line feed, and the reference to it.
    fn seal_line(&self, seq: u64, prev: &str) -> (String, RecordRef) {
        let Self {
            run,
            kind,
            body,
            salt,
            ts,
        } = self;
        let record = Record::seal_line(seq, prev, run, *kind, (body, salt), ts);
        let hash = record.hash;
        (record.line + "\n", RecordRef { seq, hash })
    }
}

impl PlacedRecords {
    /// Gives the noted records and a last one their numbers. `last` gets the record before it. If it fails, nothing has
    /// changed, and the noted records stay noted.
    ///
    /// # Errors
    /// Those of `last`.
    pub fn add_records(
        &mut self,
        noted: &mut Vec<PendingRecord>,
        last: impl FnOnce(&RecordRef) -> Result<PendingRecord, EvidenceError>,
    ) -> Result<RecordRef, EvidenceError> {
        // Built apart from `self`, which changes only when `last` has succeeded.
        let mut at = self.at.clone();
        let mut lines = String::new();
        for entry in noted.iter() {
            let (line, next) = entry.seal_line(at.seq + 1, &at.hash);
            lines.push_str(&line);
            at = next;
        }
        let (line, at) = last(&at)?.seal_line(at.seq + 1, &at.hash);
        self.noted.append(noted);
        self.lines.push_str(&lines);
        self.lines.push_str(&line);
        self.at = at.clone();
        Ok(at)
    }
}
