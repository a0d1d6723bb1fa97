//! The evidence of one repository: appending records, storing blobs.
//!
//! Owns: the lock, the order of writes and their durability. Never: appends to a damaged tape, or repairs one without a
//! record of the repair.
//!
#![doc = include_str!("durable-append.md")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use agentos_durable::{FileSystemSync, SyncFile};
use serde_json::{Value, json};

use crate::checkpoint::Checkpoint;
use crate::head::{HeadFile, TapeHead};
use crate::placed::{PendingRecord, PlacedRecords};
use crate::record::GENESIS;
use crate::tail::{TailState, TapeTail};
use crate::{
    EvidenceError, RecordKind, RecordRef, RunFacts, SigningKey, blob, head, plain_file, segments, tail,
};

/// Evidence of one repository. Many stores, in many processes, may be open on one folder.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// End of the tape after this store's last write; used only if the tape still ends there.
    known: Mutex<Option<TapeTail>>,
    /// Records that were noted and have no number yet.
    noted: Mutex<Vec<PendingRecord>>,
    /// Records that have their number and are not in the file yet. `None` if there are none.
    placed: Mutex<Option<PlacedRecords>>,
    disk: OnceLock<FileSystemSync>,
    /// Blobs and their folders that may not be durable yet.
    unsynced: Mutex<BTreeSet<PathBuf>>,
    /// Size in bytes at which a file of the tape is full.
    full: u64,
}

impl Store {
    /// Opens the store in a folder. The folder need not exist; the first write creates it.
    ///
    /// # Errors
    /// When the folder or a part of it is a symbolic link, or anything else that could lead writes out of the folder.
    pub fn open(dir: &Path) -> Result<Self, EvidenceError> {
        // Later openings refuse links too. The check here reports a wrong folder before a run has begun.
        let folders = [dir.to_owned(), dir.join("blobs")];
        let files = segments::fixed_files(dir);
        for (path, is_folder) in folders
            .into_iter()
            .map(|at| (at, true))
            .chain(files.map(|at| (at, false)))
        {
            let odd = fs::symlink_metadata(&path).is_ok_and(|found| {
                if is_folder {
                    !found.is_dir()
                } else {
                    !found.is_file()
                }
            });
            if odd {
                let wanted = if is_folder {
                    "it is not a folder"
                } else {
                    "it is not a regular file"
                };
                let source = io::Error::new(io::ErrorKind::InvalidInput, wanted);
                return Err(EvidenceError::Io {
                    action: "use",
                    path,
                    source,
                });
            }
        }
        Ok(Self {
            dir: dir.to_owned(),
            known: Mutex::new(None),
            noted: Mutex::new(Vec::new()),
            placed: Mutex::new(None),
            disk: OnceLock::new(),
            unsynced: Mutex::new(BTreeSet::new()),
            full: segments::FULL_SIZE,
        })
    }

    /// Changes the size in bytes at which a file of the tape is full.
    #[must_use]
    pub fn full_at(self, bytes: u64) -> Self {
        Self { full: bytes, ..self }
    }

    /// Returns the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Keeps a record in memory until the next append, which writes it first, in the same write. A crash before that loses
    /// it, so nothing may rest on it.
    ///
    /// # Errors
    /// When the body cannot be recorded.
    pub fn note(&self, run: &str, kind: RecordKind, body: Value, ts: &str) -> Result<(), EvidenceError> {
        let entry = PendingRecord::new(run, kind, body, ts)?;
        self.noted_records().push(entry);
        Ok(())
    }

    /// Appends the noted records and this one. When it returns, they are durable. Secrets are removed from the body first.
    /// A torn line that a crash left is moved into a blob, and a record of kind `recovered` names that blob.
    ///
    /// # Errors
    /// When the records cannot be made durable, the body cannot be recorded, or the tape is damaged.
    pub fn append(
        &self,
        run: &str,
        kind: RecordKind,
        body: Value,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        let written = self.write(run, kind, body, ts)?;
        self.sync()?;
        Ok(written)
    }

    /// Gives the noted records and this one their numbers and hashes, without writing them. They are durable when
    /// [`Store::sync`] or the next append returns. Until then other writers wait, and a crash loses the records.
    ///
    /// # Errors
    /// When the body cannot be recorded, or the tape is damaged.
    pub fn write(
        &self,
        run: &str,
        kind: RecordKind,
        body: Value,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        let entry = PendingRecord::new(run, kind, body, ts)?;
        self.write_with(run, ts, |_| Ok(entry))
    }

    /// Makes the records of [`Store::write`] durable: first the blobs that they refer to, then the tape with one write and
    /// one sync, then `head.json`.
    ///
    /// # Errors
    /// When they cannot be made durable. Then they are not on the tape.
    pub fn sync(&self) -> Result<(), EvidenceError> {
        self.sync_with(&mut agentos_durable::sync_alone)
    }

    /// Makes the records durable as [`Store::sync`] does, but syncs the tape by `sync`, so that the caller can sync other
    /// files in the same wait.
    ///
    /// # Errors
    /// Those of [`Store::sync`], and those of `sync`.
    pub fn sync_with(&self, sync: &mut SyncFile<'_>) -> Result<(), EvidenceError> {
        // Taken out, so that the lock is released when this function returns, with success or not.
        let Some(placed) = self.placed_records().take() else {
            return Ok(());
        };
        let synced = self.write_durably(&placed, sync);
        let PlacedRecords {
            lines,
            noted,
            len,
            at,
            ..
        } = placed;
        if let Err(error) = synced {
            // The noted records go to the next append. The last one is reported as not written, so its caller decides.
            self.noted_records().splice(0..0, noted);
            return Err(error);
        }
        *self.known_tail() = Some(TapeTail {
            len: len + u64::try_from(lines.len()).unwrap_or(0),
            seq: at.seq,
            hash: at.hash,
        });
        Ok(())
    }

    fn write_durably(&self, placed: &PlacedRecords, sync: &mut SyncFile<'_>) -> Result<(), EvidenceError> {
        // A record must not be durable before the blobs that it, or a record noted before it, refers to.
        self.sync_blobs()?;
        let mut tape = &placed.tape;
        let written = tape
            .write_all(placed.lines.as_bytes())
            .and_then(|()| sync(&self.tape_path()));
        let written = written
            .map_err(EvidenceError::io_error("append to", &self.tape_path()))
            .and_then(|()| head::write(&self.head_path(), &TapeHead::new(placed.at.seq, &placed.at.hash)));
        if written.is_err() {
            // Cut off the part that a full disk accepted, and records that `head.json` does not name, so that the next
            // reader finds a whole tape. If that fails too, the next append finds the torn line and records it.
            let _ = tape.set_len(placed.len);
        }
        written
    }

    /// Ends a run with a signed record that holds the hash of the last record before it and the statements about the run's
    /// facts. Without a key it holds the reason why there is none. The noted records are written directly before it.
    ///
    /// # Errors
    /// Those of [`Store::append`].
    pub fn checkpoint(
        &self,
        run: &str,
        facts: &RunFacts,
        signer: Result<&SigningKey, &str>,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        let written = self.write_checkpoint(run, facts, signer, ts)?;
        self.sync()?;
        Ok(written)
    }

    /// Gives the record of [`Store::checkpoint`] its number and hash, without writing it.
    ///
    /// # Errors
    /// Those of [`Store::write`].
    pub fn write_checkpoint(
        &self,
        run: &str,
        facts: &RunFacts,
        signer: Result<&SigningKey, &str>,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        self.write_with(run, ts, |head| {
            let body = Checkpoint::new(facts.build_statements(run, head, ts), signer)?.to_body()?;
            PendingRecord::new(run, RecordKind::Checkpoint, body, ts)
        })
    }

    fn write_with(
        &self,
        run: &str,
        ts: &str,
        last: impl FnOnce(&RecordRef) -> Result<PendingRecord, EvidenceError>,
    ) -> Result<RecordRef, EvidenceError> {
        blob::make_dir(&self.dir)?;
        let mut place = self.placed_records();
        let mut placed = match place.take() {
            Some(placed) => placed,
            None => self.lock_tape(run, ts)?,
        };
        let record = placed.add_records(&mut self.noted_records(), last);
        // Even if the last record was refused, earlier ones may have their numbers. Without any, dropping `placed`
        // releases the lock.
        if !placed.lines.is_empty() {
            *place = Some(placed);
        }
        record
    }

    /// Locks the tape, checks its end and repairs it after a crash, and begins a new file if the current one is full.
    ///
    /// # Errors
    /// When the tape is damaged or cannot be opened.
    fn lock_tape(&self, run: &str, ts: &str) -> Result<PlacedRecords, EvidenceError> {
        let lock = segments::lock_to_write(&self.dir)?;
        let mut tape = self.open_tape()?;
        // Taken out, so that a failure below leaves no end of the tape that may be wrong. `sync_with` sets the new one.
        let known = self.known_tail().take();
        let (mut tail, odd) = match known {
            // Reading the last line can be skipped if nobody has written since our last write.
            Some(tail) if self.len_of(&tape)? == tail.len && self.is_head(&tail)? => (tail, Vec::new()),
            Some(_) | None => self.repaired_tail(&mut tape)?,
        };
        // Only here, before any record of this append has a number: no run of records is divided between two files.
        if tail.len >= self.full {
            segments::rotate_tape(&self.dir)?;
            tape = self.open_tape()?;
            tail.len = 0;
        }
        let mut placed = PlacedRecords {
            _lock: lock,
            tape,
            lines: String::new(),
            noted: Vec::new(),
            len: tail.len,
            at: RecordRef {
                seq: tail.seq,
                hash: tail.hash,
            },
        };
        for body in odd {
            let entry = PendingRecord::new(run, RecordKind::Recovered, body, ts)?;
            placed.add_records(&mut Vec::new(), |_| Ok(entry))?;
        }
        Ok(placed)
    }

    fn sync_blobs(&self) -> Result<(), EvidenceError> {
        let mut unsynced = self.unsynced_paths();
        if !unsynced.is_empty() {
            let paths = Vec::from_iter(unsynced.iter().cloned());
            self.file_system().sync(&paths).map_err(blob::not_synced)?;
            unsynced.clear();
        }
        Ok(())
    }

    fn unsynced_paths(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted_records(&self) -> MutexGuard<'_, Vec<PendingRecord>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn placed_records(&self) -> MutexGuard<'_, Option<PlacedRecords>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_tail(&self) -> MutexGuard<'_, Option<TapeTail>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores bytes under their hash and returns it, `sha256:` and 64 hexadecimal digits. The bytes become durable before
    /// the next record. A record refers to a blob by a member whose name ends in `_sha256` and whose value is that text.
    ///
    /// # Errors
    /// When the blob cannot be written or is too large.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String, EvidenceError> {
        blob::make_dir(&self.dir)?;
        let placed = self.placed_records();
        // Records that wait for the disk hold the lock already; taking it a second time would wait forever.
        let _lock = match &*placed {
            Some(_) => None,
            None => Some(segments::lock_to_write(&self.dir)?),
        };
        // The file system must be opened before the first write: see `FileSystemSync`.
        self.file_system();
        let stored = blob::store_blob(&self.dir, bytes)?;
        self.unsynced_paths().extend(stored.unsynced);
        Ok(stored.id)
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or its content does not match its hash.
    pub fn get_blob(&self, id: &str) -> Result<Vec<u8>, EvidenceError> {
        blob::read_blob(&self.dir, id)
    }

    /// Reads a blob of exactly this length. `None` if it has another one.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or its content does not match its hash.
    pub(crate) fn get_blob_of(&self, id: &str, bytes: u64) -> Result<Option<Vec<u8>>, EvidenceError> {
        blob::read_blob_of(&self.dir, id, bytes)
    }

    /// Compares a blob's content with its hash, without holding it in memory.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or its content does not match its hash.
    pub(crate) fn check_blob(&self, id: &str) -> Result<(), EvidenceError> {
        blob::check_blob(&self.dir, id)
    }

    /// Returns the file system of the folder, which it opens at the first call, before the first blob is written.
    fn file_system(&self) -> &FileSystemSync {
        self.disk.get_or_init(|| FileSystemSync::open(&self.dir))
    }

    pub(crate) fn tape_path(&self) -> PathBuf {
        self.dir.join(segments::CURRENT)
    }

    pub(crate) fn head_path(&self) -> PathBuf {
        self.dir.join("head.json")
    }

    fn open_tape(&self) -> Result<File, EvidenceError> {
        let path = self.tape_path();
        let is_new = !path.exists();
        let tape = plain_file::open_to_append(&path).map_err(EvidenceError::io_error("open", &path))?;
        if is_new {
            // Syncing a file does not sync its name in the folder (fsync(2)). Without the name, its records are lost.
            blob::sync_dir(&self.dir)?;
        }
        Ok(tape)
    }

    /// Returns whether `head.json` names this end of the tape.
    fn is_head(&self, tail: &TapeTail) -> Result<bool, EvidenceError> {
        // The length of the tape alone proves nothing: another writer may have begun a new file that is just as long.
        Ok(head::read_locked(&self.head_path())? == HeadFile::Says(TapeHead::new(tail.seq, &tail.hash)))
    }

    fn len_of(&self, tape: &File) -> Result<u64, EvidenceError> {
        Ok(tape
            .metadata()
            .map_err(EvidenceError::io_error("read", &self.tape_path()))?
            .len())
    }

    /// Reads the end of the tape and repairs what a crash left. Returns the bodies of the `recovered` records to write.
    ///
    /// # Errors
    /// When the tape is damaged in a way that no crash explains.
    fn repaired_tail(&self, tape: &mut File) -> Result<(TapeTail, Vec<Value>), EvidenceError> {
        let found = tail::read_tail(tape).map_err(EvidenceError::io_error("read", &self.tape_path()))?;
        let TailState::Whole(mut tail, fragment) = found else {
            return Err(EvidenceError::BrokenTail);
        };
        if tail.seq == 0 {
            self.continue_full_file(&mut tail)?;
        }
        if tail.seq == 0 && head::read(&self.head_path())? == HeadFile::Missing {
            // Written before the first record, so that a missing file later means that somebody removed it.
            head::write(&self.head_path(), &TapeHead::new(0, GENESIS))?;
        }
        let behind = self.check_head(&tail)?;
        let mut repairs = Vec::new();
        if !fragment.is_empty() {
            // The fragment is stored before it is cut off, so that a crash in between loses nothing.
            let disk = self.file_system();
            let kept = blob::store_blob(&self.dir, &fragment)?;
            disk.sync(&kept.unsynced).map_err(blob::not_synced)?;
            tape.set_len(tail.len).map_err(EvidenceError::io_error(
                "remove an incomplete last line from",
                &self.tape_path(),
            ))?;
            repairs.push(json!({ "what": "torn-line", "fragment_sha256": kept.id, "bytes": fragment.len() }));
        }
        if let Some(behind) = behind {
            repairs.push(json!({ "what": "head-behind", "head": behind, "tape": tail.seq }));
        }
        Ok((tail, repairs))
    }

    /// Continues the chain of the last full file in a current file that is still empty.
    fn continue_full_file(&self, tail: &mut TapeTail) -> Result<(), EvidenceError> {
        let Some(path) = segments::full_files(&self.dir)?.pop() else {
            return Ok(());
        };
        let mut file = plain_file::open_regular(&path).map_err(EvidenceError::io_error("open", &path))?;
        match tail::read_tail(&mut file).map_err(EvidenceError::io_error("read", &path))? {
            // A full file is never appended to again, so a torn line in it is no crash of ours.
            TailState::Whole(last, fragment) if fragment.is_empty() => {
                tail.seq = last.seq;
                tail.hash = last.hash;
                Ok(())
            }
            TailState::Whole(..) | TailState::Broken => Err(EvidenceError::BrokenTail),
        }
    }

    /// Compares `head.json` with the tape and returns the number that it names. `None` if it names the last record.
    ///
    /// # Errors
    /// When it names a record after the last one, or another last record.
    fn check_head(&self, tail: &TapeTail) -> Result<Option<u64>, EvidenceError> {
        let head = match head::read(&self.head_path())? {
            HeadFile::Says(head) => head,
            HeadFile::Missing | HeadFile::Unreadable if tail.seq == 0 => return Ok(None),
            HeadFile::Missing | HeadFile::Unreadable => return Ok(Some(0)),
        };
        if head.seq > tail.seq {
            return Err(EvidenceError::CutOff {
                expected: head.seq,
                found: tail.seq,
            });
        }
        if head.seq == tail.seq && head.hash != tail.hash {
            return Err(EvidenceError::BrokenTail);
        }
        Ok((head.seq < tail.seq).then_some(head.seq))
    }
}
