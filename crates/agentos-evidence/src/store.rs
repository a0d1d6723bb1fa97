//! The store of one repository's evidence: appending, blobs, reading back.
//!
//! Owns: the lock, the order of writes and their durability. Never: appends to a tape that is not whole, and never
//! mends one without saying so on it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::checkpoint::Checkpoint;
use crate::head::{Head, HeadFile};
use crate::record::{GENESIS, MAX_LINE};
use crate::tail::{Found, Tail};
use crate::{
    EvidenceError, Record, RecordKind, RecordRef, RunFacts, SigningKey, blob, guard, head, segments, tail,
};

/// The evidence of one repository. Many stores, in many processes, may be open on one folder.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// The end of the tape as this store left it; believed only while the tape still ends there.
    known: Mutex<Option<Tail>>,
    /// Noted, not yet written.
    noted: Mutex<Vec<Entry>>,
    /// Blobs and their folders that may not be on the disk yet.
    unsynced: Mutex<BTreeSet<PathBuf>>,
    /// Bytes at which a file of the tape is full.
    full: u64,
}

/// What a record will say, once its place on the tape is known.
#[derive(Debug)]
struct Entry {
    run: String,
    kind: RecordKind,
    body: Value,
    ts: String,
}

impl Entry {
    /// Without secrets, and surely recordable.
    fn new(run: &str, kind: RecordKind, body: Value, ts: &str) -> Result<Self, EvidenceError> {
        let body = guard::clean(body)?;
        let entry = Self {
            run: run.to_owned(),
            kind,
            body,
            ts: ts.to_owned(),
        };
        entry.line(u64::from(u32::MAX), GENESIS).map(|_| entry)
    }

    /// The record's line, with its end, and where it stands.
    fn line(&self, seq: u64, prev: &str) -> Result<(String, RecordRef), EvidenceError> {
        let record = Record::sealed(seq, prev, &self.run, self.kind, &self.body, &self.ts)?;
        let line = record.line + "\n";
        if line.len() > MAX_LINE {
            return Err(EvidenceError::RecordTooLarge {
                bytes: line.len(),
                limit: MAX_LINE,
            });
        }
        Ok((
            line,
            RecordRef {
                seq,
                hash: record.hash,
            },
        ))
    }
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
        let entry = Entry::new(run, kind, body, ts)?;
        self.append_with(run, ts, |_| Ok(entry))
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
        self.append_with(run, ts, |head| {
            let body = Checkpoint::new(&facts.statements(run, head, ts), signer)?.to_body()?;
            Entry::new(run, RecordKind::Checkpoint, body, ts)
        })
    }

    fn append_with(
        &self,
        run: &str,
        ts: &str,
        last: impl FnOnce(&RecordRef) -> Result<Entry, EvidenceError>,
    ) -> Result<RecordRef, EvidenceError> {
        blob::make_dir(&self.dir)?;
        self.sync_blobs()?;
        let _lock = segments::lock(&self.dir)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tape = self.open_tape()?;
        let mut tail = match known.take() {
            Some(tail) if self.len_of(&tape)? == tail.len && self.is_head(&tail)? => tail,
            Some(_) | None => self.sound_tail(&mut tape, run, ts)?,
        };
        if tail.len >= self.full {
            segments::turn(&self.dir)?;
            tape = self.open_tape()?;
            tail.len = 0;
        }
        // Taken only for good: what was noted stays noted when it cannot be written.
        let noted = std::mem::take(&mut *self.noted());
        let written = self.write(&mut tape, &mut tail, &noted, last);
        if written.is_err() {
            self.noted().splice(0..0, noted);
        }
        let written = written?;
        *known = Some(tail);
        Ok(written)
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The note of the last record, as it stands.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn head_bytes(&self) -> Result<Vec<u8>, EvidenceError> {
        let path = self.head_path();
        fs::read(&path).map_err(EvidenceError::io("read", &path))
    }

    /// Stores bytes by content; gives `sha256:` and 64 hex digits. They are on the disk before the next record that is
    /// appended. A record refers to a blob by a member whose name ends in `_sha256` and whose value is exactly that
    /// text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String, EvidenceError> {
        blob::make_dir(&self.dir)?;
        let _lock = segments::lock(&self.dir)?;
        let stored = blob::put(&self.dir, bytes)?;
        let mut unsynced = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        unsynced.extend(stored.unsynced);
        Ok(stored.id)
    }

    /// Reads a blob back.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is not what was stored.
    pub fn get_blob(&self, id: &str) -> Result<Vec<u8>, EvidenceError> {
        blob::get(&self.dir, id)
    }

    /// A record must not be on the disk before the blobs that it, or one noted before it, refers to.
    fn sync_blobs(&self) -> Result<(), EvidenceError> {
        let mut unsynced = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        blob::sync_each(&Vec::from_iter(unsynced.iter().cloned()))?;
        unsynced.clear();
        Ok(())
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
        let tape = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(EvidenceError::io("open", &path))?;
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

    /// The end of the tape, after anything a crash left was put right and told.
    fn sound_tail(&self, tape: &mut File, run: &str, ts: &str) -> Result<Tail, EvidenceError> {
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
            let kept = blob::put(&self.dir, &fragment)?;
            blob::sync_each(&kept.unsynced)?;
            tape.set_len(tail.len)
                .map_err(EvidenceError::io("mend", &self.tape_path()))?;
            told.push(json!({ "what": "torn-line", "fragment_sha256": kept.id, "bytes": fragment.len() }));
        }
        if let Some(behind) = behind {
            told.push(json!({ "what": "head-behind", "head": behind, "tape": tail.seq }));
        }
        let told: Result<Vec<Entry>, EvidenceError> = told
            .into_iter()
            .map(|body| Entry::new(run, RecordKind::Recovered, body, ts))
            .collect();
        let mut told = told?;
        if let Some(last) = told.pop() {
            self.write(tape, &mut tail, &told, |_| Ok(last))?;
        }
        Ok(tail)
    }

    /// A file that is still empty goes on where the last full one ends.
    fn carry_over(&self, tail: &mut Tail) -> Result<(), EvidenceError> {
        let Some(path) = segments::full(&self.dir)?.pop() else {
            return Ok(());
        };
        let mut file = File::open(&path).map_err(EvidenceError::io("open", &path))?;
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

    /// Some records and a last one: one write with their line ends, synced, then the head.
    fn write(
        &self,
        tape: &mut File,
        tail: &mut Tail,
        entries: &[Entry],
        last: impl FnOnce(&RecordRef) -> Result<Entry, EvidenceError>,
    ) -> Result<RecordRef, EvidenceError> {
        let mut at = RecordRef {
            seq: tail.seq,
            hash: tail.hash.clone(),
        };
        let mut lines = String::new();
        for entry in entries {
            let (line, next) = entry.line(at.seq + 1, &at.hash)?;
            lines.push_str(&line);
            at = next;
        }
        let (line, at) = last(&at)?.line(at.seq + 1, &at.hash)?;
        lines.push_str(&line);
        let written = tape.write_all(lines.as_bytes()).and_then(|()| tape.sync_data());
        let written = written
            .map_err(EvidenceError::io("append to", &self.tape_path()))
            .and_then(|()| head::write(&self.head_path(), &Head::new(at.seq, &at.hash)));
        if let Err(error) = written {
            // Take back what a full disk let through, records without their note included, so that the next reader
            // finds a whole tape. If even that fails, the next append finds it and tells.
            let _ = tape.set_len(tail.len);
            return Err(error);
        }
        tail.len += u64::try_from(lines.len()).unwrap_or(0);
        tail.seq = at.seq;
        tail.hash.clone_from(&at.hash);
        Ok(at)
    }
}
