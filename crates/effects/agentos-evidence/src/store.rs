//! The store of one repository's evidence: appending, blobs, reading back.
//!
//! Owns: the lock, the order of writes and their durability. Never: appends to a tape that is not whole, and never
//! mends one without saying so on it.
//!
//! A record gets its place and is brought to the disk in two steps that a caller may take apart, to do other work in
//! between. From the first to the second other writers wait.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use agentos_durable::{Disk, SyncFile};
use serde_json::{Value, json};

use crate::checkpoint::Checkpoint;
use crate::head::{Head, HeadFile};
use crate::placed::{Entry, Placed};
use crate::record::GENESIS;
use crate::tail::{Found, Tail};
use crate::{
    EvidenceError, RecordKind, RecordRef, RunFacts, SigningKey, blob, head, plain_file, segments, tail,
};

/// The evidence of one repository. Many stores, in many processes, may be open on one folder.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// The end of the tape as this store left it; believed only while the tape still ends there.
    known: Mutex<Option<Tail>>,
    /// Noted, not yet written.
    noted: Mutex<Vec<Entry>>,
    /// With a place, not yet on the disk.
    placed: Mutex<Option<Placed>>,
    disk: OnceLock<Disk>,
    /// Blobs and their folders that may not be on the disk yet.
    unsynced: Mutex<BTreeSet<PathBuf>>,
    /// Bytes at which a file of the tape is full.
    full: u64,
}

impl Store {
    /// The store in a folder, which need not exist: it is made by the first write.
    ///
    /// # Errors
    /// When the folder or a part of it is a symbolic link or another thing that leads elsewhere: evidence stays where
    /// it belongs.
    pub fn open(dir: &Path) -> Result<Self, EvidenceError> {
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
            full: segments::FULL,
        })
    }

    /// The same with files of the tape that are full at another size, in bytes.
    #[must_use]
    pub fn full_at(self, bytes: u64) -> Self {
        Self { full: bytes, ..self }
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Notes a record that need not be on the disk yet: it is written, in one step, before the next record that is
    /// appended. Until then a crash loses it, and nothing that rests on it was done.
    ///
    /// # Errors
    /// When the body cannot be recorded.
    pub fn note(&self, run: &str, kind: RecordKind, body: Value, ts: &str) -> Result<(), EvidenceError> {
        let entry = Entry::new(run, kind, body, ts)?;
        self.noted().push(entry);
        Ok(())
    }

    /// Appends a record, and what was noted before it; when this returns, they are on the disk. Secrets in the body
    /// are taken out first. A torn line that a crash left behind is put aside as a blob, and a record of kind
    /// `recovered` tells of it.
    ///
    /// # Errors
    /// When it cannot be made durable, the body cannot be recorded, or the tape is not whole.
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

    /// The same without waiting for the disk: the record has its place and its hash, and is on the disk when
    /// [`Store::sync`] or the next append returns. Until then other writers wait, and a crash loses it.
    ///
    /// # Errors
    /// When the body cannot be recorded, or the tape is not whole.
    pub fn write(
        &self,
        run: &str,
        kind: RecordKind,
        body: Value,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        let entry = Entry::new(run, kind, body, ts)?;
        self.write_with(run, ts, |_| Ok(entry))
    }

    /// Brings what was written to the disk, after the blobs that it refers to: one write, synced, then the note of the
    /// last record.
    ///
    /// # Errors
    /// When it cannot be made durable: then it is not on the tape.
    pub fn sync(&self) -> Result<(), EvidenceError> {
        self.sync_with(&mut agentos_durable::sync_alone)
    }

    /// The same, where whoever calls has more to bring to the disk, and `sync` brings the file of the tape there with it.
    ///
    /// # Errors
    /// As [`Store::sync`]; a failure of `sync` is one.
    pub fn sync_with(&self, sync: &mut SyncFile<'_>) -> Result<(), EvidenceError> {
        let Some(placed) = self.placed().take() else {
            return Ok(());
        };
        let synced = self.bring_to_disk(&placed, sync);
        let Placed {
            lines,
            noted,
            len,
            at,
            ..
        } = placed;
        if let Err(error) = synced {
            self.noted().splice(0..0, noted);
            return Err(error);
        }
        *self.known() = Some(Tail {
            len: len + u64::try_from(lines.len()).unwrap_or(0),
            seq: at.seq,
            hash: at.hash,
        });
        Ok(())
    }

    fn bring_to_disk(&self, placed: &Placed, sync: &mut SyncFile<'_>) -> Result<(), EvidenceError> {
        // A record must not be on the disk before the blobs that it, or one noted before it, refers to.
        self.sync_blobs()?;
        let mut tape = &placed.tape;
        let written = tape
            .write_all(placed.lines.as_bytes())
            .and_then(|()| sync(&self.tape_path()));
        let written = written
            .map_err(EvidenceError::io("append to", &self.tape_path()))
            .and_then(|()| head::write(&self.head_path(), &Head::new(placed.at.seq, &placed.at.hash)));
        if written.is_err() {
            // Take back what a full disk let through, records without their note included, so that the next reader
            // finds a whole tape. If even that fails, the next append finds it and tells.
            let _ = tape.set_len(placed.len);
        }
        written
    }

    /// Ends a run: a record that holds the head of the tape up to here, signed, and what the run's facts amount to.
    /// Without a key it says why there is none. What was noted before is written first, and nothing comes between.
    ///
    /// # Errors
    /// As [`Store::append`].
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

    /// The same without waiting for the disk.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_checkpoint(
        &self,
        run: &str,
        facts: &RunFacts,
        signer: Result<&SigningKey, &str>,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        self.write_with(run, ts, |head| {
            let body = Checkpoint::new(facts.statements(run, head, ts), signer)?.to_body()?;
            Entry::new(run, RecordKind::Checkpoint, body, ts)
        })
    }

    fn write_with(
        &self,
        run: &str,
        ts: &str,
        last: impl FnOnce(&RecordRef) -> Result<Entry, EvidenceError>,
    ) -> Result<RecordRef, EvidenceError> {
        blob::make_dir(&self.dir)?;
        let mut place = self.placed();
        let mut placed = match place.take() {
            Some(placed) => placed,
            None => self.begin(run, ts)?,
        };
        let record = placed.add(&mut self.noted(), last);
        // What was written before stands.
        if !placed.lines.is_empty() {
            *place = Some(placed);
        }
        record
    }

    /// The tape, whole and with room, for a writer who is alone with it.
    fn begin(&self, run: &str, ts: &str) -> Result<Placed, EvidenceError> {
        let lock = segments::lock(&self.dir)?;
        let mut tape = self.open_tape()?;
        let known = self.known().take();
        let (mut tail, odd) = match known {
            Some(tail) if self.len_of(&tape)? == tail.len && self.is_head(&tail)? => (tail, Vec::new()),
            Some(_) | None => self.sound_tail(&mut tape)?,
        };
        if tail.len >= self.full {
            segments::turn(&self.dir)?;
            tape = self.open_tape()?;
            tail.len = 0;
        }
        let mut placed = Placed {
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
            let entry = Entry::new(run, RecordKind::Recovered, body, ts)?;
            placed.add(&mut Vec::new(), |_| Ok(entry))?;
        }
        Ok(placed)
    }

    fn sync_blobs(&self) -> Result<(), EvidenceError> {
        let mut unsynced = self.unsynced();
        if !unsynced.is_empty() {
            let paths = Vec::from_iter(unsynced.iter().cloned());
            self.disk().sync(&paths).map_err(blob::not_synced)?;
            unsynced.clear();
        }
        Ok(())
    }

    fn unsynced(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn placed(&self) -> MutexGuard<'_, Option<Placed>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Option<Tail>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores bytes by content; gives `sha256:` and 64 hex digits. They are on the disk before the next record that is
    /// appended. A record refers to a blob by a member whose name ends in `_sha256` and whose value is exactly that
    /// text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String, EvidenceError> {
        blob::make_dir(&self.dir)?;
        let placed = self.placed();
        // Whose records wait for the disk has the lock already.
        let _lock = match &*placed {
            Some(_) => None,
            None => Some(segments::lock(&self.dir)?),
        };
        self.disk();
        let stored = blob::put(&self.dir, bytes)?;
        self.unsynced().extend(stored.unsynced);
        Ok(stored.id)
    }

    /// Reads a blob back.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is not what was stored.
    pub fn get_blob(&self, id: &str) -> Result<Vec<u8>, EvidenceError> {
        blob::get(&self.dir, id)
    }

    /// Checks a blob against its name, without reading it into memory.
    pub(crate) fn check_blob(&self, id: &str) -> Result<(), EvidenceError> {
        blob::check(&self.dir, id)
    }

    /// The file system of the folder, from before the first blob is written there.
    fn disk(&self) -> &Disk {
        self.disk.get_or_init(|| Disk::of(&self.dir))
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
        let tape = plain_file::open_to_append(&path).map_err(EvidenceError::io("open", &path))?;
        if is_new {
            blob::sync_dir(&self.dir)?;
        }
        Ok(tape)
    }

    /// Another writer may have begun a new file since, which happens to be just as long.
    fn is_head(&self, tail: &Tail) -> Result<bool, EvidenceError> {
        Ok(head::read(&self.head_path())? == HeadFile::Says(Head::new(tail.seq, &tail.hash)))
    }

    fn len_of(&self, tape: &File) -> Result<u64, EvidenceError> {
        Ok(tape
            .metadata()
            .map_err(EvidenceError::io("read", &self.tape_path()))?
            .len())
    }

    /// The end of the tape, after anything a crash left was put right, and what is to be told of it.
    fn sound_tail(&self, tape: &mut File) -> Result<(Tail, Vec<Value>), EvidenceError> {
        let found = tail::read(tape).map_err(EvidenceError::io("read", &self.tape_path()))?;
        let Found::Whole(mut tail, fragment) = found else {
            return Err(EvidenceError::BrokenTail);
        };
        if tail.seq == 0 {
            self.carry_over(&mut tail)?;
        }
        if tail.seq == 0 && head::read(&self.head_path())? == HeadFile::Missing {
            // Before the first record: a tape without its head is one whose head was taken away.
            head::write(&self.head_path(), &Head::new(0, GENESIS))?;
        }
        let behind = self.check_head(&tail)?;
        let mut told = Vec::new();
        if !fragment.is_empty() {
            let disk = self.disk();
            let kept = blob::put(&self.dir, &fragment)?;
            disk.sync(&kept.unsynced).map_err(blob::not_synced)?;
            tape.set_len(tail.len)
                .map_err(EvidenceError::io("mend", &self.tape_path()))?;
            told.push(json!({ "what": "torn-line", "fragment_sha256": kept.id, "bytes": fragment.len() }));
        }
        if let Some(behind) = behind {
            told.push(json!({ "what": "head-behind", "head": behind, "tape": tail.seq }));
        }
        Ok((tail, told))
    }

    /// A file that is still empty goes on where the last full one ends.
    fn carry_over(&self, tail: &mut Tail) -> Result<(), EvidenceError> {
        let Some(path) = segments::full(&self.dir)?.pop() else {
            return Ok(());
        };
        let mut file = plain_file::open_regular(&path).map_err(EvidenceError::io("open", &path))?;
        match tail::read(&mut file).map_err(EvidenceError::io("read", &path))? {
            Found::Whole(last, fragment) if fragment.is_empty() => {
                tail.seq = last.seq;
                tail.hash = last.hash;
                Ok(())
            }
            Found::Whole(..) | Found::Broken => Err(EvidenceError::BrokenTail),
        }
    }

    /// The number in a head that is behind the tape, if it is.
    fn check_head(&self, tail: &Tail) -> Result<Option<u64>, EvidenceError> {
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
