//! Reading what earlier runs left on the tape.
//!
//! Owns: the trait. Never: says what a record means; see [`recorded`](crate::recorded).

use agentos_evidence::Record;

use super::EffectError;

/// The records of a tape, first to last. Nothing follows an error.
pub type RecordStream<'a> = Box<dyn Iterator<Item = Result<Record, EffectError>> + 'a>;

/// The tape of every run, for reading.
pub trait RecordReader {
    /// Reads every record, first to last.
    ///
    /// # Errors
    /// If the tape cannot be opened. A tape that does not exist has no records.
    fn records(&self) -> Result<RecordStream<'_>, EffectError>;

    /// Reads bytes by the SHA-256 under which they were stored.
    ///
    /// # Errors
    /// If they are missing or damaged.
    fn load_blob(&self, id: &str) -> Result<Vec<u8>, EffectError>;
}
