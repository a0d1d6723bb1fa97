//! The ledger: the user's tape of turns and sessions, and the database made from it.
//!
//! Owns: where both are, what is written to the tape, and how the database catches up. Never: contains the text of a single message
//! or of a run: the ledger has hashes and costs, and only sessions keep texts.
//!
//! | folder | content |
//! |---|---|
//! | `$XDG_STATE_HOME/agentos`, else `~/.local/state/agentos` | only its owner can read it |
//! | `ledger/` in it | tape, blobs and `head.json`, as in a repository's evidence |
//! | `ledger.sqlite` in it | the database; it may be deleted at any time |
//! | `budgets.sqlite` in it | what open calls can cost; a rebuild leaves it alone |
//!
//! A turn is on the tape before it is reported. The database is read after that, so it may be behind: every reader first lets it
//! catch up.

pub mod collector;
mod update;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_api::Notice;
use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError};
use agentos_evidence::{EvidenceError, RecordKind, RunFacts, Store};
use agentos_ledger::{SessionEvent, SessionKey, SessionRecord, TurnRecord};
use agentos_store::{LedgerLock, LedgerStore, StoreError, make_private_folder};
use agentos_tool::RunId;
use serde::Serialize;
use serde_json::Value;

use agentos_ground::Ground;
use agentos_ground::clock::{self, SystemClock};
use agentos_ground::error::usage_error;
use agentos_ground::evidence_key::{self, StoredKey, UnsignedReason};
use agentos_ground::runtime::run_blocking;
use agentos_ground::tape::evidence_error;
pub use writer::{ExpectedTurn, LedgerWriter, lost_writer};

/// Code of a database that cannot be used.
const DATABASE: &str = "ledger-database";
/// Name of the tape's folder.
const TAPE: &str = "ledger";

/// Way of a front end's turns to the ledger.
#[derive(Clone)]
pub enum TurnLedger {
    /// Each turn by itself, on the thread of its caller.
    Single(Arc<Ledger>),
    /// By a thread that writes those together that wait together.
    Shared(LedgerWriter),
}

impl TurnLedger {
    /// Announces a turn, so that others may wait for it a moment. `None` if nobody else writes here.
    pub fn expect_turn(&self) -> Option<ExpectedTurn> {
        match self {
            Self::Single(_) => None,
            Self::Shared(writer) => Some(writer.expect_turn()),
        }
    }

    /// Writes a turn without texts. When it returns, the turn is durable.
    ///
    /// # Errors
    /// If it cannot be made durable.
    pub async fn record_turn(&self, turn: &RunId, record: TurnRecord) -> Result<(), EffectError> {
        match self {
            Self::Single(ledger) => run_blocking(|| ledger.record_turn(turn, &record)),
            Self::Shared(writer) => writer
                .send_turn(turn, record)
                .await
                .unwrap_or_else(|_| Err(lost_writer())),
        }
    }

    /// Writes the turn of a caller that cannot wait. With a shared writer it is durable a moment later.
    ///
    /// # Errors
    /// If it cannot be made durable, as far as that is known.
    pub fn record_at_once(&self, turn: &RunId, record: TurnRecord) -> Result<(), EffectError> {
        match self {
            Self::Single(ledger) => run_blocking(|| ledger.record_turn(turn, &record)),
            Self::Shared(writer) => {
                drop(writer.send_turn(turn, record));
                Ok(())
            }
        }
    }
}

/// Turn of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedTurn<'a> {
    /// Id.
    pub turn: &'a RunId,
    /// Record without texts.
    pub body: &'a TurnRecord,
}

/// The user's ledger.
#[derive(Debug)]
pub struct Ledger {
    ground: Ground,
    folder: PathBuf,
    tape: Store,
}

impl Ledger {
    /// Opens the ledger, and makes its folder if it is missing.
    ///
    /// # Errors
    /// If there is no home folder, or the folder cannot be made.
    pub fn open(ground: &Ground) -> Result<Self, EffectError> {
        let folder = find_folder(ground)?;
        // Before the tape makes its own folder in it, which others could read.
        make_private_folder(&folder).map_err(|error| store_error(&error))?;
        let tape = Store::open(&folder.join(TAPE)).map_err(|error| ledger_error(&error))?;
        Ok(Self {
            ground: ground.clone(),
            folder,
            tape,
        })
    }

    /// Returns the tape.
    pub fn tape(&self) -> &Store {
        &self.tape
    }

    /// Returns the folder of the ledger.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a turn without texts, with the signed end of its records. When it returns, both are durable.
    ///
    /// # Errors
    /// If they cannot be made durable.
    pub fn record_turn(&self, turn: &RunId, body: &TurnRecord) -> Result<(), EffectError> {
        self.record(turn, RecordKind::Turn, body, &[]).map(drop)
    }

    /// Writes turns without texts, each with the signed end of its records, with one wait for the disk. Returns the result of each: it
    /// is durable, or the reason why not.
    fn record_turns(
        &self,
        turns: &[RecordedTurn<'_>],
        key: &Result<StoredKey, UnsignedReason>,
    ) -> Vec<Result<(), EffectError>> {
        let signer = key
            .as_ref()
            .map(|found| &found.key)
            .map_err(UnsignedReason::in_words);
        // The folder may have been removed while a service runs. Made by the tape, others could read it.
        if let Err(error) = make_private_folder(&self.folder) {
            return vec![Err(store_error(&error)); turns.len()];
        }
        let now = SystemClock.now();
        let placed = turns.iter().map(|turn| {
            let body = to_body(turn.body)?;
            let mut facts = RunFacts::default();
            facts.add_record(RecordKind::Turn, &body, now.as_str());
            let run = turn.turn.as_str();
            let write = || {
                self.tape.write(run, RecordKind::Turn, body, now.as_str())?;
                self.tape.write_checkpoint(run, &facts, signer, now.as_str())
            };
            write().map(drop).map_err(|error| ledger_error(&error))
        });
        let placed: Vec<Result<(), EffectError>> = placed.collect();
        let synced = self.tape.sync().map_err(|error| ledger_error(&error));
        placed
            .into_iter()
            .map(|placed| placed.and_then(|()| synced.clone()))
            .collect()
    }

    /// Writes an event of a session and the texts that it refers to, as [`Ledger::record`] does.
    ///
    /// # Errors
    /// Those of [`Ledger::record`].
    pub fn record_event(&self, record: &SessionRecord, texts: &[String]) -> Result<u64, EffectError> {
        self.record(&clock::new_run(), RecordKind::Session, record, texts)
    }

    /// Writes a record and the texts that it refers to, with the signed end of its records. When it returns, all are durable. Returns
    /// the number of the record.
    ///
    /// # Errors
    /// If they cannot be made durable.
    pub fn record(
        &self,
        turn: &RunId,
        kind: RecordKind,
        body: &impl Serialize,
        texts: &[String],
    ) -> Result<u64, EffectError> {
        self.record_with(turn, kind, body, texts, &[])
    }

    /// Writes a record after those about removed texts, as [`Ledger::record`] does.
    fn record_with(
        &self,
        turn: &RunId,
        kind: RecordKind,
        body: &impl Serialize,
        texts: &[String],
        removed: &[String],
    ) -> Result<u64, EffectError> {
        let body = to_body(body)?;
        // Before the lock of the tape, because a keyring can take seconds.
        let key = evidence_key::find_or_make_key(&self.ground);
        let signer = key
            .as_ref()
            .map(|found| &found.key)
            .map_err(UnsignedReason::in_words);
        let now = SystemClock.now();
        let mut facts = RunFacts::default();
        facts.add_record(kind, &body, now.as_str());
        // Somebody may delete a session that has the same text: not between the text and the record that refers to it.
        let _kept = match texts.is_empty() {
            true => None,
            false => Some(LedgerLock::keep_texts(&self.folder).map_err(|error| store_error(&error))?),
        };
        let write = || {
            for text in texts {
                self.tape.put_blob(text.as_bytes())?;
            }
            self.tape.note_removal(turn.as_str(), removed, now.as_str())?;
            let written = self.tape.write(turn.as_str(), kind, body, now.as_str())?;
            self.tape
                .checkpoint(turn.as_str(), &facts, signer, now.as_str())?;
            Ok(written.seq)
        };
        write().map_err(|error| ledger_error(&error))
    }

    /// Deletes a session and the texts that no other session has: one signed group of records, then the files.
    ///
    /// # Errors
    /// If the ledger cannot be read or written.
    pub fn delete_session(&self, session: &SessionKey) -> Result<usize, EffectError> {
        // Held until the files are gone, so that no record begins to refer to one of them.
        let _alone = self.lock_texts()?;
        let database = self.open_database()?;
        self.finish_removals(&database)?;
        let texts = database.list_own_texts(session.as_str());
        let texts = texts.map_err(|error| store_error(&error))?;
        let record = SessionRecord {
            session: session.clone(),
            event: SessionEvent::Deleted,
        };
        let turn = clock::new_run();
        self.record_with(&turn, RecordKind::Session, &record, &[], &texts)?;
        self.tape
            .remove_texts(&texts)
            .map_err(|error| ledger_error(&error))?;
        // The words of the texts are in the database as well.
        let database = self.open_database()?;
        database.forget_pages().map_err(|error| store_error(&error))?;
        Ok(texts.len())
    }

    /// Waits until no record that refers to texts is being written, and keeps it so.
    ///
    /// # Errors
    /// If the lock cannot be taken.
    pub fn lock_texts(&self) -> Result<LedgerLock, EffectError> {
        LedgerLock::remove_texts(&self.folder).map_err(|error| store_error(&error))
    }

    /// Opens the database after it has caught up with the tape.
    ///
    /// # Errors
    /// If the tape cannot be read, or the database cannot be used.
    pub fn open_database(&self) -> Result<LedgerStore, EffectError> {
        update::open_current(&self.tape, &self.folder)
    }

    /// Opens the database of a user who has a ledger, as [`Ledger::open_database`] does. `None` if there is none yet: a question makes
    /// no ledger.
    ///
    /// # Errors
    /// Those of [`Ledger::open`] and [`Ledger::open_database`].
    pub fn open_existing(ground: &Ground) -> Result<Option<LedgerStore>, EffectError> {
        match existing_tape(ground) {
            Some(_) => Self::open(ground)?.open_database().map(Some),
            None => Ok(None),
        }
    }

    /// Makes the database again from the first record on, and opens it.
    ///
    /// # Errors
    /// Those of [`Ledger::open_database`].
    pub fn rebuild_database(&self) -> Result<LedgerStore, EffectError> {
        update::open_new(&self.tape, &self.folder)
    }

    /// Removes texts of deleted sessions that a crash left. Returns their number.
    ///
    /// # Errors
    /// If the tape cannot be read, or a text cannot be removed.
    pub fn finish_removals(&self, database: &LedgerStore) -> Result<usize, EffectError> {
        // A database that fails keeps the text: too many are better than one that is missed.
        let removed = self
            .tape
            .finish_removals(|id| database.is_text_used(id).unwrap_or(true));
        removed.map_err(|error| ledger_error(&error))
    }
}

/// Makes the notice of a turn that is not on the ledger.
pub fn unwritten_notice(error: &EffectError) -> Notice {
    let message = format!("the cost of this message is not in the ledger: {}", error.message);
    Notice::new("ledger-unwritten", message)
}

/// Returns the folder of the tape. `None` if there is no ledger yet.
pub fn existing_tape(ground: &Ground) -> Option<PathBuf> {
    let tape = ground.environment().state_dir()?.join(TAPE);
    tape.is_dir().then_some(tape)
}

fn to_body(body: &impl Serialize) -> Result<Value, EffectError> {
    serde_json::to_value(body).map_err(|error| {
        let message = format!("the record of this turn cannot be written: {error}");
        EffectError::from_source(Cause::Internal, "evidence-invalid-record", message, &error)
    })
}

fn find_folder(ground: &Ground) -> Result<PathBuf, EffectError> {
    let folder = ground.environment().state_dir();
    folder.ok_or_else(|| usage_error("there is no home folder for the ledger").hint("set `HOME`"))
}

/// Makes the error of a tape that cannot be read or written.
pub fn ledger_error(error: &EvidenceError) -> EffectError {
    let mut effect = evidence_error(error);
    if !effect.next.is_empty() {
        // The usual advice is about a repository's evidence, which has nothing to do with this.
        effect.next.clear();
        effect = effect.hint("rename the folder `ledger` in your state folder, usually `~/.local/state/agentos`, to begin a new one");
    }
    effect
}

/// Makes the error of a database that cannot be used.
pub fn store_error(error: &StoreError) -> EffectError {
    EffectError::from_error(Cause::Evidence, DATABASE, error)
}
