//! The records of a repository's tape as a stream of events that a listener can resume.
//!
//! Owns: reading the records after a number. Never: waits, or keeps anything between two reads but a place.

use agentos_engine::ports::EffectError;
use agentos_evidence::{EvidenceError, TapeMark};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Stories;
use agentos_ground::tape::evidence_error;
use agentos_ground::tape::open_store;

/// Record of the tape, without its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TapeEvent {
    /// Version of this shape: 1.
    pub version: u32,
    /// Number of the record on the tape, 1 for the first. A listener resumes after it.
    pub seq: u64,
    /// Time of the record, RFC 3339, UTC.
    pub at: String,
    /// Run of the record.
    pub run: String,
    /// Kind of the record, as in `consent`.
    pub kind: String,
}

/// Place of a listener on the tape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TapePlace {
    /// Records up to this number were received.
    after: u64,
    mark: TapeMark,
}

impl TapePlace {
    /// Makes the place after the record of this number; 0 is the beginning.
    #[must_use]
    pub fn after(number: u64) -> Self {
        Self {
            after: number,
            mark: TapeMark::default(),
        }
    }
}

impl Stories<'_> {
    /// Reads the next records after a place, at most so many, and the place after them.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn read_events(
        self,
        place: &TapePlace,
        most: usize,
    ) -> Result<(Vec<TapeEvent>, TapePlace), EffectError> {
        let store = open_store(self.ground)?;
        let mut reader = match store.records_after(&place.mark) {
            // The tape was replaced, as a recovery does. Its numbers begin again, and so does the listener.
            Err(EvidenceError::WrongMark) => return Ok((Vec::new(), TapePlace::default())),
            reader => reader.map_err(|error| evidence_error(&error))?,
        };
        let mut events = Vec::new();
        while events.len() < most {
            let record = match reader.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(EvidenceError::WrongMark) => return Ok((Vec::new(), TapePlace::default())),
                Err(error) => return Err(evidence_error(&error)),
            };
            if record.seq > place.after {
                events.push(TapeEvent {
                    version: 1,
                    seq: record.seq,
                    at: record.ts,
                    run: record.run,
                    kind: record.kind.as_str().to_owned(),
                });
            }
        }
        let mark = reader.mark().clone();
        let place = TapePlace {
            after: place.after.max(mark.seq),
            mark,
        };
        Ok((events, place))
    }
}
