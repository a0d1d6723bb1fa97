//! Bringing the database of the ledger up to the end of its tape.
//!
//! Owns: the order of reading and writing. Never: changes the tape.

use std::ops::ControlFlow;
use std::path::Path;

use agentos_engine::ports::EffectError;
use agentos_evidence::{EvidenceError, Record, RecordKind, Store, TapeMark};
use agentos_ledger::TurnRecord;
use agentos_model::{ChatMessage, ChatRole, MessagePart};
use agentos_store::{EntryHead, EntryPlace, LedgerStore, SessionText, StoreBatch, StoreError, StoreMark};

use super::{ledger_error, store_error};

/// Records that become visible together. A larger number makes a rebuild faster, and lets other processes wait longer.
const BATCH: usize = 2_000;

/// Opens the database in a folder after the records were added that it does not have yet.
///
/// A database that is damaged, or was made from another tape, is replaced by a new one.
///
/// # Errors
/// If the tape cannot be read, or the database cannot be used.
pub fn open_current(tape: &Store, folder: &Path) -> Result<LedgerStore, EffectError> {
    let opened = LedgerStore::open(folder).map_err(|error| store_error(&error))?;
    match catch_up(tape, opened) {
        Err(BatchError::Outdated) => open_new(tape, folder),
        other => other.map_err(BatchError::into_effect),
    }
}

/// Makes the database again from the first record on, and opens it.
///
/// # Errors
/// Those of [`open_current`].
pub fn open_new(tape: &Store, folder: &Path) -> Result<LedgerStore, EffectError> {
    // A new file and not emptied tables: whoever has the old one open never sees a part of the new rows.
    let empty = LedgerStore::replace(folder).map_err(|error| store_error(&error))?;
    catch_up(tape, empty).map_err(BatchError::into_effect)
}

fn catch_up(tape: &Store, mut database: LedgerStore) -> Result<LedgerStore, BatchError> {
    while let ControlFlow::Continue(()) = add_batch(tape, &mut database)? {}
    Ok(database)
}

/// Failure to add records.
enum BatchError {
    /// The database is damaged, or the tape does not continue where it ends: nothing in it is certain.
    Outdated,
    /// Any other failure.
    Other(EffectError),
}

impl BatchError {
    fn into_effect(self) -> EffectError {
        match self {
            // Of a database that was made a moment ago: the tape was replaced meanwhile.
            Self::Outdated => ledger_error(&EvidenceError::WrongMark),
            Self::Other(error) => error,
        }
    }
}

impl From<EvidenceError> for BatchError {
    fn from(error: EvidenceError) -> Self {
        match error {
            EvidenceError::WrongMark => Self::Outdated,
            other => Self::Other(ledger_error(&other)),
        }
    }
}

impl From<StoreError> for BatchError {
    fn from(error: StoreError) -> Self {
        match error.is_damage() {
            true => Self::Outdated,
            false => Self::Other(store_error(&error)),
        }
    }
}

/// Adds the next records. Breaks at the end of the tape.
fn add_batch(tape: &Store, database: &mut LedgerStore) -> Result<ControlFlow<()>, BatchError> {
    let batch = database.begin_batch()?;
    // Read after the batch began: another process may have added records until then.
    let mut place = batch.read_mark()?.map(to_tape_mark).unwrap_or_default();
    let mut records = tape.records_after(&place)?;
    for _ in 0..BATCH {
        let Some(record) = records.next_record()? else {
            finish_batch(batch, &place)?;
            return Ok(ControlFlow::Break(()));
        };
        add_record(tape, &batch, &place, &record)?;
        place = records.mark().clone();
    }
    finish_batch(batch, &place)?;
    Ok(ControlFlow::Continue(()))
}

fn finish_batch(batch: StoreBatch<'_>, place: &TapeMark) -> Result<(), BatchError> {
    Ok(batch.commit(&to_store_mark(place))?)
}

fn add_record(
    tape: &Store,
    batch: &StoreBatch<'_>,
    place: &TapeMark,
    record: &Record,
) -> Result<(), BatchError> {
    let at = EntryHead {
        place: EntryPlace {
            seq: record.seq,
            file: place.file as u64,
            byte: place.offset,
        },
        ts: &record.ts,
        turn: &record.run,
    };
    match record.kind {
        RecordKind::Turn => {
            // A record of a later version may have another shape. It is on the tape, and this version cannot count it.
            let Ok(turn) = serde_json::from_value::<TurnRecord>(record.body.clone()) else {
                tracing::warn!(seq = record.seq, "a turn of the ledger has an unknown shape");
                return Ok(());
            };
            batch.add_turn(at, &turn, &read_texts(tape, &turn))?;
        }
        RecordKind::Session => match serde_json::from_value(record.body.clone()) {
            Ok(session) => batch.add_session(at, &session)?,
            Err(_) => tracing::warn!(seq = record.seq, "a session of the ledger has an unknown shape"),
        },
        RecordKind::Task
        | RecordKind::Attempt
        | RecordKind::Answer
        | RecordKind::ToolResult
        | RecordKind::Boundary
        | RecordKind::Landing
        | RecordKind::Check
        | RecordKind::Decision
        | RecordKind::Consent
        | RecordKind::Intent
        | RecordKind::Receipt
        | RecordKind::Refusal
        | RecordKind::Undo
        | RecordKind::Recovered
        | RecordKind::Checkpoint
        | RecordKind::Removed => {}
    }
    Ok(())
}

/// Reads the texts of a turn's messages for search. A text that was removed is left out.
fn read_texts(tape: &Store, turn: &TurnRecord) -> SessionText {
    let mut texts = SessionText::default();
    for message in &turn.messages {
        let Ok(bytes) = tape.get_blob(&message.message_sha256) else {
            continue;
        };
        let Ok(message) = serde_json::from_slice::<ChatMessage>(&bytes) else {
            continue;
        };
        let text = message.text();
        if message.role == ChatRole::User && texts.question.is_empty() {
            texts.question.clone_from(&text);
        }
        // Results of tools are not searched: they are the repository's files, and there is `git grep` for those.
        let is_said = message
            .parts
            .iter()
            .any(|part| matches!(part, MessagePart::Text(_)));
        if is_said {
            texts.all.push_str(&text);
            texts.all.push('\n');
        }
    }
    texts
}

fn to_tape_mark(mark: StoreMark) -> TapeMark {
    TapeMark {
        // No machine has so many files that the number does not fit; a wrong mark is found at once.
        file: usize::try_from(mark.file).unwrap_or(usize::MAX),
        offset: mark.byte,
        seq: mark.seq,
        hash: mark.hash,
    }
}

fn to_store_mark(mark: &TapeMark) -> StoreMark {
    StoreMark {
        file: mark.file as u64,
        byte: mark.offset,
        seq: mark.seq,
        hash: mark.hash.clone(),
    }
}
