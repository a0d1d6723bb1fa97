//! The store of one repository's evidence: appending, blobs, reading back.
//!
//! Owns: the lock, the order of writes and their durability. Never: appends to a tape that is not whole, and never
//! mends one without saying so on it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::head::{Head, HeadFile};
use crate::record::MAX_LINE;
use crate::tail::{Found, Tail};
use crate::{EvidenceError, Record, RecordKind, RecordRef, blob, guard, head, tail};

/// The evidence of one repository. Many stores, in many processes, may be open on one folder.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// The end of the tape as this store left it; believed only while the tape still has that length.
    known: Mutex<Option<Tail>>,
}

impl Store {
    /// The store in a folder, which need not exist: it is made by the first write.
    ///
    /// # Errors
    /// When the folder or a part of it is a symbolic link or another thing that leads elsewhere: evidence stays where
    /// it belongs.
    pub fn open(dir: &Path) -> Result<Self, EvidenceError> {
        let folders = [dir.to_owned(), dir.join("blobs")];
        let files = [dir.join("tape.jsonl"), dir.join("head.json")];
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
        })
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends a record; when this returns, it is on the disk. Secrets in the body are taken out first. A torn line
    /// that a crash left behind is put aside as a blob, and a record of kind `recovered` tells of it.
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
        let body = guard::clean(body)?;
        let mut tape = self.open_tape()?;
        tape.lock()
            .map_err(EvidenceError::io("lock", &self.tape_path()))?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tail = match known.take() {
            Some(tail) if self.len_of(&tape)? == tail.len => tail,
            Some(_) | None => self.sound_tail(&mut tape, run, ts)?,
        };
        let written = self.write(&mut tape, &mut tail, run, kind, body, ts)?;
        *known = Some(tail);
        Ok(written)
    }

    /// Stores bytes durably by content; gives `sha256:` and 64 hex digits. A record refers to a blob by a member
    /// whose name ends in `_sha256` and whose value is exactly that text.
    ///
    /// # Errors
    /// When it cannot be made durable.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String, EvidenceError> {
        let tape = self.open_tape()?;
        tape.lock()
            .map_err(EvidenceError::io("lock", &self.tape_path()))?;
        blob::put(&self.dir, bytes)
    }

    /// Reads a blob back.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is not what was stored.
    pub fn get_blob(&self, id: &str) -> Result<Vec<u8>, EvidenceError> {
        blob::get(&self.dir, id)
    }

    pub(crate) fn tape_path(&self) -> PathBuf {
        self.dir.join("tape.jsonl")
    }

    pub(crate) fn head_path(&self) -> PathBuf {
        self.dir.join("head.json")
    }

    fn open_tape(&self) -> Result<File, EvidenceError> {
        let path = self.tape_path();
        let is_new = !path.exists();
        blob::make_dir(&self.dir)?;
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
        let behind = self.check_head(&tail)?;
        let mut told = Vec::new();
        if !fragment.is_empty() {
            let kept = blob::put(&self.dir, &fragment)?;
            tape.set_len(tail.len)
                .map_err(EvidenceError::io("mend", &self.tape_path()))?;
            told.push(json!({ "what": "torn-line", "fragment_sha256": kept, "bytes": fragment.len() }));
        }
        if let Some(behind) = behind {
            told.push(json!({ "what": "head-behind", "head": behind, "tape": tail.seq }));
        }
        for body in told {
            self.write(tape, &mut tail, run, RecordKind::Recovered, body, ts)?;
        }
        Ok(tail)
    }

    /// The number in a head that is behind the tape, if it is.
    fn check_head(&self, tail: &Tail) -> Result<Option<u64>, EvidenceError> {
        let head = match head::read(&self.head_path())? {
            HeadFile::Says(head) => head,
            // The first record of a tape whose writer was killed before it could write a head; or a lost head.
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

    /// One record: one write with its line end, synced, then the head.
    fn write(
        &self,
        tape: &mut File,
        tail: &mut Tail,
        run: &str,
        kind: RecordKind,
        body: Value,
        ts: &str,
    ) -> Result<RecordRef, EvidenceError> {
        let path = self.tape_path();
        let record = Record::sealed(tail.seq + 1, &tail.hash, run, kind, body, ts)?;
        let line = record.line()? + "\n";
        if line.len() > MAX_LINE {
            return Err(EvidenceError::RecordTooLarge {
                bytes: line.len(),
                limit: MAX_LINE,
            });
        }
        let written = tape.write_all(line.as_bytes()).and_then(|()| tape.sync_data());
        if let Err(source) = written {
            // Take back what a full disk let through, so that the next reader finds a whole tape. If even that
            // fails, the torn line is found and told by the next append.
            let _ = tape.set_len(tail.len);
            return Err(EvidenceError::Io {
                action: "append to",
                path,
                source,
            });
        }
        tail.len += u64::try_from(line.len()).unwrap_or(0);
        tail.seq = record.seq;
        tail.hash.clone_from(&record.hash);
        head::write(&self.head_path(), &Head::new(record.seq, &record.hash))?;
        Ok(RecordRef {
            seq: record.seq,
            hash: record.hash,
        })
    }
}
