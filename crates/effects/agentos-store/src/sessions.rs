//! Sessions: lists, the places of their records, their texts, and search.
//!
//! Owns: these queries. Never: contains more of a conversation than the first line of a session and the words of its turns.

use agentos_tool::ExactCost;
use rusqlite::{OptionalExtension as _, Row, params};
use schemars::JsonSchema;
use serde::Serialize;

use crate::batch::join_cost;
use crate::words::{join_words, split_words};
use crate::{LedgerStore, StoreError};

/// Place of a record on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPlace {
    /// Number of the record.
    pub seq: u64,
    /// Number of the tape's files before the one with the record.
    pub file: u64,
    /// Bytes of that file before the record.
    pub byte: u64,
}

/// Session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionRow {
    /// Name, as in `conversation:default`.
    pub session: String,
    /// Time at which it began, RFC 3339, UTC.
    pub began: String,
    /// Time of its last record, RFC 3339, UTC.
    pub last: String,
    /// Title. `None` if it has none.
    pub title: Option<String>,
    /// First line of the first message. `None` if there is none. Untrusted.
    pub opening: Option<String>,
    /// Provider of the next turn. `None` if the user's default is meant.
    pub provider: Option<String>,
    /// Model of the next turn. `None` if the provider's own is meant.
    pub model: Option<String>,
    /// Folder of the repository that tools read. `None` if there is none.
    pub repository: Option<String>,
    /// Number of turns.
    pub turns: u64,
    /// Sum of the known costs in US dollars, exact. `None` if it is too large to count.
    pub cost_usd: Option<ExactCost>,
    /// Number of calls whose cost is not known.
    pub unknown: u64,
}

/// Turn that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundTurn {
    /// Session of the turn.
    pub session: String,
    /// Number of the turn's record on the tape.
    pub seq: u64,
    /// Text around the first found word. Untrusted.
    pub snippet: String,
}

const COLUMNS: &str =
    "key, began, last, title, opening, provider, model, repository, turns, dollars, pico, unknown";

fn read_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        session: row.get(0)?,
        began: row.get(1)?,
        last: row.get(2)?,
        title: row.get(3)?,
        opening: row.get(4)?,
        provider: row.get(5)?,
        model: row.get(6)?,
        repository: row.get(7)?,
        turns: row.get(8)?,
        cost_usd: join_cost(row.get(9)?, row.get(10)?),
        unknown: row.get(11)?,
    })
}

impl LedgerStore {
    /// Lists the sessions, the last used first, and counts all of them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn list_sessions(&self, most: usize) -> Result<(Vec<SessionRow>, u64), StoreError> {
        // Counted apart, so that the list itself ends at its limit.
        let all = self
            .db
            .query_row("SELECT count(*) FROM session WHERE deleted = 0", [], |row| {
                row.get(0)
            })?;
        let mut query = self.db.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM session WHERE deleted = 0 ORDER BY last_seq DESC LIMIT ?1"
        ))?;
        let rows = query.query_map([most], read_row)?;
        Ok((rows.collect::<Result<_, _>>()?, all))
    }

    /// Finds a session by its name. `None` if there is none, or it was deleted.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn find_session(&self, session: &str) -> Result<Option<SessionRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM session WHERE key = ?1 AND deleted = 0");
        Ok(self.db.query_row(&sql, [session], read_row).optional()?)
    }

    /// Lists the records of a session since it began, in their order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn list_entries(&self, session: &str) -> Result<Vec<EntryPlace>, StoreError> {
        let mut query = self
            .db
            .prepare_cached("SELECT seq, file, byte FROM entry WHERE session = ?1 ORDER BY seq")?;
        let rows = query.query_map([session], |row| {
            Ok(EntryPlace {
                seq: row.get(0)?,
                file: row.get(1)?,
                byte: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Lists the texts that only this session refers to.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn list_own_texts(&self, session: &str) -> Result<Vec<String>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT blob FROM text_use AS mine WHERE session = ?1
             AND NOT EXISTS (SELECT 1 FROM text_use WHERE blob = mine.blob AND session <> ?1) ORDER BY blob",
        )?;
        let rows = query.query_map([session], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns whether a session that was not deleted refers to a text.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_text_used(&self, blob: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM text_use WHERE blob = ?1)";
        Ok(self.db.query_row(sql, [blob], |row| row.get(0))?)
    }

    /// Finds the turns that contain all words of a text, the newest first.
    ///
    /// Not the best first: a rank needs every match, and a frequent word has one in each turn. In their order, FTS5 reads only as
    /// many matches as are returned.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn search_turns(&self, text: &str, most: usize) -> Result<Vec<FoundTurn>, StoreError> {
        // Each word in quotes: the search has a language of its own (sqlite.org/fts5.html section 3), which nobody types by intention.
        let words = text
            .split_whitespace()
            .map(|word| format!("\"{}\"", split_words(word).replace('"', "\"\"")));
        let wanted = words.collect::<Vec<_>>().join(" ");
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut query = self.db.prepare_cached(
            // The limit is inside, because an order by a column of `entry` would read all matches.
            "SELECT entry.session, found.seq, found.shown FROM (
                 SELECT rowid AS seq, snippet(words, 0, '', '', '…', 16) AS shown FROM words
                 WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2
             ) AS found JOIN entry ON entry.seq = found.seq ORDER BY found.seq DESC, entry.session LIMIT ?2",
        )?;
        let rows = query.query_map(params![wanted, most], |row| {
            Ok(FoundTurn {
                session: row.get(0)?,
                seq: row.get(1)?,
                snippet: join_words(&row.get::<_, String>(2)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
