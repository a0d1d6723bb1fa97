//! The database file: opening, its tables, and the place up to which the tape was read.
//!
//! Owns: the schema and its version. Never: deletes a file that is not a database of this crate's name.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _};

use crate::{StoreBatch, StoreError};

/// Version of the tables. A file with another one is replaced.
const VERSION: i64 = 6;
/// Name of the file in its folder.
const FILE: &str = "ledger.sqlite";
/// Longest wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
CREATE TABLE mark (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, byte INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE session (
    key TEXT PRIMARY KEY, began TEXT NOT NULL, last TEXT NOT NULL, last_seq INTEGER NOT NULL, title TEXT, opening TEXT,
    provider TEXT, model TEXT, repository TEXT, turns INTEGER NOT NULL, dollars INTEGER NOT NULL, pico INTEGER NOT NULL,
    unknown INTEGER NOT NULL,
    deleted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_by_time ON session (deleted, last_seq);
CREATE TABLE entry (
    seq INTEGER NOT NULL, session TEXT NOT NULL, turn TEXT NOT NULL, file INTEGER NOT NULL, byte INTEGER NOT NULL,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE INDEX entry_by_seq ON entry (seq);
CREATE TABLE call (
    seq INTEGER NOT NULL, position INTEGER NOT NULL, ts TEXT NOT NULL, session TEXT, source TEXT NOT NULL, provider TEXT NOT NULL,
    model TEXT NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, output INTEGER NOT NULL, dollars INTEGER, pico INTEGER,
    failed INTEGER NOT NULL, requested TEXT, latency INTEGER NOT NULL, reservation TEXT, failure TEXT,
    PRIMARY KEY (seq, position)
) WITHOUT ROWID;
CREATE INDEX call_by_time ON call (ts);
CREATE TABLE text_use (blob TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY (blob, session)) WITHOUT ROWID;
CREATE INDEX text_of_session ON text_use (session);
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'unicode61');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
";

/// The database of the ledger.
#[derive(Debug)]
pub struct LedgerStore {
    pub(crate) db: Connection,
}

/// Place on the tape up to which records were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreMark {
    /// Number of the tape's files before the one with the place.
    pub file: u64,
    /// Bytes of that file before the place.
    pub byte: u64,
    /// Number of the last record that was read.
    pub seq: u64,
    /// Hash of that record.
    pub hash: String,
}

/// Pause between two tries to change the journal's kind.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
/// Tries to change it, five seconds in all. The change itself takes milliseconds.
const MOST_TRIES: u32 = 1_000;

/// Lets a database use a write-ahead log. A new file is changed once, and whoever opens it at the same moment is refused at once:
/// SQLite does not wait there, whatever the busy timeout says, because both hold a lock that the other one needs.
pub(crate) fn use_write_ahead_log(db: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        match db.pragma_update(None, "journal_mode", "WAL") {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == rusqlite::ErrorCode::DatabaseBusy && tries < MOST_TRIES =>
            {
                tries += 1;
                std::thread::sleep(RETRY_PAUSE);
            }
            other => return other,
        }
    }
}

impl LedgerStore {
    /// Opens the database in a folder. Makes the folder, which only its owner can read, and the file if they are missing.
    ///
    /// # Errors
    /// When the folder or the file cannot be made or used.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        make_private_folder(folder)?;
        let path = folder.join(FILE);
        match Self::open_file(&path) {
            // Every row is on the tape, so nothing is lost.
            Err(error) if error.is_damage() => {
                remove_database(&path)?;
                Self::open_file(&path)
            }
            other => other,
        }
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let mut db = Connection::open(path)?;
        db.busy_timeout(PATIENCE)?;
        // A reader then never waits for a writer. `NORMAL` may lose the last batches at a loss of power, and keeps the file whole
        // (sqlite.org/pragma.html#pragma_synchronous); what is lost is read from the tape again.
        use_write_ahead_log(&db)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        // Texts of a deleted session must not stay in free parts of the file.
        db.pragma_update(None, "secure_delete", true)?;
        let version =
            |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        if version(&db)? != VERSION {
            let batch = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            // Another process may have made the tables while this one waited.
            if version(&batch)? != VERSION {
                drop_tables(&batch)?;
                batch.execute_batch(SCHEMA)?;
                batch.pragma_update(None, "user_version", VERSION)?;
            }
            batch.commit()?;
        }
        Ok(Self { db })
    }

    /// Returns the place up to which the tape was read. `None` if nothing was read yet.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn read_mark(&self) -> Result<Option<StoreMark>, StoreError> {
        query_mark(&self.db)
    }

    /// Begins to add records. Other processes that want to do the same wait.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn begin_batch(&mut self) -> Result<StoreBatch<'_>, StoreError> {
        let batch = self
            .db
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        Ok(StoreBatch { batch })
    }

    /// Opens an empty database in the place of the one that is there, damaged or not.
    ///
    /// # Errors
    /// Those of [`LedgerStore::open`].
    pub fn replace(folder: &Path) -> Result<Self, StoreError> {
        remove_database(&folder.join(FILE))?;
        Self::open(folder)
    }

    /// Empties the log of SQLite, which keeps earlier contents of pages, after a deletion. Does nothing while others read.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn forget_pages(&self) -> Result<(), StoreError> {
        Ok(self
            .db
            .query_row("PRAGMA wal_checkpoint (TRUNCATE)", [], |_| Ok(()))?)
    }
}

/// Reads the row of `mark`.
pub(crate) fn query_mark(db: &Connection) -> Result<Option<StoreMark>, StoreError> {
    let row = db.query_row("SELECT file, byte, seq, hash FROM mark", [], |row| {
        Ok(StoreMark {
            file: row.get(0)?,
            byte: row.get(1)?,
            seq: row.get(2)?,
            hash: row.get(3)?,
        })
    });
    Ok(row.optional()?)
}

/// Drops every table of this database.
fn drop_tables(db: &Connection) -> Result<(), StoreError> {
    db.execute_batch(
        "DROP TABLE IF EXISTS mark; DROP TABLE IF EXISTS session; DROP TABLE IF EXISTS entry; DROP TABLE IF EXISTS call;
         DROP TABLE IF EXISTS text_use; DROP TABLE IF EXISTS words;",
    )?;
    Ok(())
}

/// Removes the database with the two files that SQLite keeps next to it.
fn remove_database(path: &Path) -> Result<(), StoreError> {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let path = PathBuf::from(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::Folder { path, source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Makes a folder and those above it, if it is missing. Only its owner can read the folder itself.
///
/// # Errors
/// When it cannot be made.
pub fn make_private_folder(folder: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Folder {
        path: folder.to_owned(),
        source,
    };
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above).map_err(failed)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was faster. A file of this name is no folder.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        other => other.map_err(failed),
    }
}

#[cfg(test)]
mod tests;
