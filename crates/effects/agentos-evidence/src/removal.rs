//! Removing texts of conversations on purpose.
//!
//! Owns: the `removed` record, and the files that it names. Never: changes the tape's earlier records, or decides which texts
//! nobody needs any more.
//!
//! The caller writes the record together with the end of the conversation, so that a signature covers both.
//!
//! | state that a crash leaves | consequence |
//! |---|---|
//! | no record, all files | nothing was removed |
//! | record, some files | [`Store::finish_removals`] removes the rest |
//! | record, no files | complete |

use std::fs;
use std::io;

use serde_json::json;

use crate::{EvidenceError, RecordKind, Store, blob};

/// Most blobs that one record names: with 72 bytes each, a record stays below its limit of 1 MiB.
const MOST_NAMED: usize = 10_000;

impl Store {
    /// Notes the records that name blobs that only records of conversations refer to. They are written directly before the next
    /// record. [`Store::verify`] accepts that these blobs are missing.
    ///
    /// # Errors
    /// When an id cannot be recorded.
    pub fn note_removal(&self, run: &str, ids: &[String], ts: &str) -> Result<(), EvidenceError> {
        ids.chunks(MOST_NAMED)
            .try_for_each(|part| self.note(run, RecordKind::Removed, json!({ "blobs": part }), ts))
    }

    /// Removes the files of blobs. The records of [`Store::note_removal`] must be durable: a file that is missing without them would
    /// look like an attack.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove_texts(&self, ids: &[String]) -> Result<(), EvidenceError> {
        ids.iter().try_for_each(|id| self.remove_file(id))
    }

    /// Removes the files that `removed` records name and that a crash left, unless `is_used` says that a later record refers to
    /// them. Returns their number.
    ///
    /// # Errors
    /// When the tape cannot be read, or a file cannot be removed.
    pub fn finish_removals(&self, is_used: impl Fn(&str) -> bool) -> Result<usize, EvidenceError> {
        let mut removed = 0;
        for record in self.records_with(|kind| kind == RecordKind::Removed)? {
            let record = record?;
            let blobs = record.body.get("blobs").and_then(serde_json::Value::as_array);
            for id in blobs.into_iter().flatten().filter_map(serde_json::Value::as_str) {
                if blob::path_of(self.dir(), id)?.exists() && !is_used(id) {
                    self.remove_file(id)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    fn remove_file(&self, id: &str) -> Result<(), EvidenceError> {
        let path = blob::path_of(self.dir(), id)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(EvidenceError::io_error("remove", &path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
