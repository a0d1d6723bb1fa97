//! Adding records of the tape to the tables.
//!
//! Owns: the rows of each kind of record. Never: reads the tape or a blob; the caller passes both.

use agentos_ledger::{
    CallRecord, ForkOrigin, SessionEvent, SessionRecord, SessionSettings, TurnRecord, TurnSource,
};
use agentos_tool::ExactCost;
use rusqlite::{Transaction, params};

use crate::words::split_words;
use crate::{EntryPlace, StoreError, StoreMark};

/// Longest beginning of a session's first message that is kept for lists, in characters.
const LONGEST_OPENING: usize = 120;

/// Records that are being added. Without [`StoreBatch::commit`], none of them is.
#[derive(Debug)]
pub struct StoreBatch<'a> {
    pub(crate) batch: Transaction<'a>,
}

/// Members of a record that every row takes from it.
#[derive(Debug, Clone, Copy)]
pub struct EntryHead<'a> {
    /// Place of the record on the tape.
    pub place: EntryPlace,
    /// Time of the record, RFC 3339, UTC.
    pub ts: &'a str,
    /// Id of the turn, which is the `run` of the record.
    pub turn: &'a str,
}

/// Texts of a turn, for lists and search.
#[derive(Debug, Clone, Default)]
pub struct SessionText {
    /// Text of the user's message. Empty if there is none, or it was removed.
    pub question: String,
    /// All texts of the turn.
    pub all: String,
}

impl StoreBatch<'_> {
    /// Adds a turn.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn add_turn(
        &self,
        at: EntryHead<'_>,
        turn: &TurnRecord,
        text: &SessionText,
    ) -> Result<(), StoreError> {
        let session = turn.session.as_ref().map(|key| key.as_str());
        if let Some(session) = session {
            self.require_session(session, at)?;
        }
        let counted = turn.counted_as();
        for (position, call) in turn.calls.iter().enumerate() {
            self.add_call(at, position, counted.as_deref(), turn.source, call)?;
        }
        let Some(session) = session else {
            return Ok(());
        };
        self.add_entry(at, session)?;
        let opening: String = first_line(&text.question).chars().take(LONGEST_OPENING).collect();
        self.batch
            .prepare_cached(
                "UPDATE session SET turns = turns + 1, last = ?2, last_seq = ?3, opening = coalesce(opening, nullif(?4, ''))
                 WHERE key = ?1",
            )?
            .execute(params![session, at.ts, at.place.seq, opening])?;
        for message in &turn.messages {
            self.add_text_use(&message.message_sha256, session)?;
        }
        if !text.all.is_empty() {
            self.batch
                .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?
                .execute(params![at.place.seq, split_words(&text.all)])?;
        }
        Ok(())
    }

    /// Adds what happened to a session.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn add_session(&self, at: EntryHead<'_>, record: &SessionRecord) -> Result<(), StoreError> {
        let session = record.session.as_str();
        self.add_entry(at, session)?;
        self.require_session(session, at)?;
        match &record.event {
            SessionEvent::Begun { settings, fork } => {
                // A name may be used again after its session was deleted.
                self.batch.execute(
                    "UPDATE session SET began = ?2, turns = 0, dollars = 0, pico = 0, unknown = 0, opening = NULL, deleted = 0 WHERE key = ?1",
                    params![session, at.ts],
                )?;
                if let Some(fork) = fork {
                    self.copy_fork(fork, session)?;
                }
                self.set_settings(session, settings)?;
            }
            SessionEvent::Changed { settings } => self.set_settings(session, settings)?,
            SessionEvent::Compressed(receipt) => {
                self.add_text_use(&receipt.summary_sha256, session)?;
                if let Some(call) = &receipt.call {
                    self.add_call(at, 0, Some(session), TurnSource::Session, call)?;
                }
            }
            // Lists show turns and costs, which these events leave as they are, because the records stay.
            SessionEvent::Restored { .. }
            | SessionEvent::Cleared
            | SessionEvent::Dropped { .. }
            | SessionEvent::Shared { .. } => {}
            SessionEvent::Deleted => self.remove_session(session)?,
        }
        Ok(())
    }

    /// Makes the rows visible, and notes the place up to which the tape was read.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn commit(self, mark: &StoreMark) -> Result<(), StoreError> {
        self.batch.execute(
            "INSERT OR REPLACE INTO mark (id, file, byte, seq, hash) VALUES (0, ?1, ?2, ?3, ?4)",
            params![mark.file, mark.byte, mark.seq, mark.hash],
        )?;
        Ok(self.batch.commit()?)
    }

    /// Returns the place up to which the tape was read when the batch began. `None` if nothing was read yet.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn read_mark(&self) -> Result<Option<StoreMark>, StoreError> {
        crate::database::query_mark(&self.batch)
    }

    fn add_entry(&self, at: EntryHead<'_>, session: &str) -> Result<(), StoreError> {
        self.batch
            .prepare_cached("INSERT INTO entry (seq, session, turn, file, byte) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![
                at.place.seq,
                session,
                at.turn,
                at.place.file,
                at.place.byte
            ])?;
        Ok(())
    }

    /// Makes the row of a session if it has none.
    // The tape may begin in the middle of a session: its beginning may be on a tape that was set aside.
    fn require_session(&self, session: &str, at: EntryHead<'_>) -> Result<(), StoreError> {
        self.batch
            .prepare_cached(
                "INSERT INTO session (key, began, last, last_seq, turns, dollars, pico, unknown, deleted)
                 VALUES (?1, ?2, ?2, ?3, 0, 0, 0, 0, 0)
                 ON CONFLICT (key) DO UPDATE SET last = ?2, last_seq = ?3",
            )?
            .execute(params![session, at.ts, at.place.seq])?;
        Ok(())
    }

    fn set_settings(&self, session: &str, settings: &SessionSettings) -> Result<(), StoreError> {
        let SessionSettings {
            title_sha256,
            provider,
            model,
            system_sha256,
            pins,
            repository,
            // No list and no search asks for them.
            toolboxes: _,
            thinking: _,
        } = settings;
        self.batch
            .prepare_cached(
                "UPDATE session SET title = ?2, provider = ?3, model = ?4, repository = ?5 WHERE key = ?1",
            )?
            .execute(params![session, title_sha256, provider, model, repository])?;
        let texts = pins
            .iter()
            .map(|pin| &pin.pin_sha256)
            .chain(system_sha256)
            .chain(title_sha256);
        texts
            .into_iter()
            .try_for_each(|text| self.add_text_use(text, session))
    }

    /// Gives a fork the records and texts that it has in common with the other session. They stay if that one is deleted.
    fn copy_fork(&self, fork: &ForkOrigin, to: &str) -> Result<(), StoreError> {
        let from = fork.session.as_str();
        // All of them, which may be more than both have in common: whoever reads them ends at the last common turn. A record or text
        // too many does no harm, and none is lost.
        self.batch.execute(
            "INSERT OR IGNORE INTO entry (seq, session, turn, file, byte)
             SELECT seq, ?2, turn, file, byte FROM entry WHERE session = ?1",
            params![from, to],
        )?;
        self.batch.execute(
            "INSERT OR IGNORE INTO text_use (blob, session) SELECT blob, ?2 FROM text_use WHERE session = ?1",
            params![from, to],
        )?;
        // The origin may be on a tape that was set aside.
        self.batch.execute(
            "UPDATE session SET turns = coalesce((SELECT turns FROM session WHERE key = ?1), 0),
             opening = (SELECT opening FROM session WHERE key = ?1) WHERE key = ?2",
            params![from, to],
        )?;
        Ok(())
    }

    /// Removes what a deleted session has alone. Its calls stay: they were paid for.
    fn remove_session(&self, session: &str) -> Result<(), StoreError> {
        let clear = "UPDATE session SET deleted = 1, title = NULL, opening = NULL WHERE key = ?1";
        self.batch.execute(clear, [session])?;
        self.batch
            .execute("DELETE FROM text_use WHERE session = ?1", [session])?;
        self.batch.execute(
            "DELETE FROM words WHERE rowid IN (SELECT seq FROM entry AS mine WHERE session = ?1
             AND NOT EXISTS (SELECT 1 FROM entry WHERE seq = mine.seq AND session <> ?1))",
            [session],
        )?;
        // Also so that a session of the same name that begins later has none of these records.
        self.batch
            .execute("DELETE FROM entry WHERE session = ?1", [session])?;
        Ok(())
    }

    fn add_text_use(&self, blob: &str, session: &str) -> Result<(), StoreError> {
        self.batch
            .prepare_cached("INSERT OR IGNORE INTO text_use (blob, session) VALUES (?1, ?2)")?
            .execute(params![blob, session])?;
        Ok(())
    }

    fn add_call(
        &self,
        at: EntryHead<'_>,
        position: usize,
        session: Option<&str>,
        source: TurnSource,
        call: &CallRecord,
    ) -> Result<(), StoreError> {
        let usage = call.usage.unwrap_or_default();
        let cost = call.cost_usd.map(split_cost);
        let (dollars, pico) = (cost.map(|cost| cost.0), cost.map(|cost| cost.1));
        self.batch
            .prepare_cached(
                "INSERT INTO call (seq, position, ts, session, source, provider, model, input, cached, output, dollars, pico, failed,
                 requested, latency, reservation, failure)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            )?
            .execute(params![
                at.place.seq,
                position,
                at.ts,
                session,
                source_word(source),
                call.provider,
                call.answering_model(),
                bound_tokens(usage.input_tokens),
                bound_tokens(usage.cached_tokens),
                bound_tokens(usage.output_tokens),
                dollars,
                pico,
                call.failure.is_some(),
                call.model,
                call.latency_ms.min(MOST_MILLISECONDS),
                call.reservation,
                call.failure,
            ])?;
        // Kept as a sum, so that a list of sessions does not read their calls.
        self.batch
            .prepare_cached(
                "UPDATE session SET dollars = dollars + coalesce(?2, 0), pico = pico + coalesce(?3, 0), unknown = unknown + (?2 IS NULL)
                 WHERE key = ?1",
            )?
            .execute(params![session, dollars, pico])?;
        Ok(())
    }
}

/// Largest number of tokens of one call that is counted. No model takes so many, and sums of larger ones would not fit.
const MOST_TOKENS: u64 = 1 << 40;

/// Longest time of one call that is counted: SQLite's integers have 63 bits, and a sum must fit.
const MOST_MILLISECONDS: u64 = 1 << 40;

fn bound_tokens(tokens: Option<u64>) -> u64 {
    tokens.unwrap_or(0).min(MOST_TOKENS)
}

/// Splits a cost into whole dollars and the rest: SQLite's integers have 63 bits, and a sum of them must not overflow.
fn split_cost(cost: ExactCost) -> (u64, u64) {
    let pico = cost.pico_dollars();
    (pico / PICO, pico % PICO)
}

/// Parts of a dollar in which costs are counted.
const PICO: u64 = 1_000_000_000_000;

/// Joins a sum of whole dollars and of rests. `None` if it is too large to count.
pub(crate) fn join_cost(dollars: u64, pico: u64) -> Option<ExactCost> {
    let whole = dollars.checked_mul(PICO)?.checked_add(pico)?;
    Some(ExactCost::from_pico_dollars(whole))
}

/// Returns the word of a source in a row.
fn source_word(source: TurnSource) -> &'static str {
    match source {
        TurnSource::Message => "message",
        TurnSource::Session => "session",
        TurnSource::Run => "run",
        TurnSource::Agent => "agent",
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}
