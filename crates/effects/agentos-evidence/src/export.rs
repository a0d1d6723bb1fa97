//! A copy of the evidence for a reviewer: a folder that verifies by itself.
//!
//! Owns: what is in it, what a redacted copy leaves out, and its signatures. Never: changes the evidence, or writes
//! into a folder that holds anything.
//!
//! A redacted copy has no blobs, and records that quote a task, an answer or a rule lack their body and its salt. Their
//! hash covers the digest of both, so everything else they say can still be checked. Records of earlier versions have
//! hashes over the body itself: theirs cannot be checked, and the signature over the whole export has to do instead.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

mod manifest;

use manifest::ATTESTATIONS;
pub use manifest::is_own_evidence;
pub(crate) use manifest::{ListedFile, Manifest, changed_files, lies_in_git_directory, read_manifest};

use crate::checkpoint::Checkpoint;
use crate::glimpse::Glimpse;
use crate::head::{self, Head};
use crate::record::fields_fit;
use crate::runs::Lines;
use crate::{EvidenceError, RecordKind, SigningKey, Store, blob, plain_file, segments};

/// A copy that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Where it is.
    pub dir: PathBuf,
    /// Records in it.
    pub records: u64,
    /// Blobs in it.
    pub blobs: u64,
    /// Blobs that records name and that could not be copied: gone, or not what was stored.
    pub lost: u64,
    /// The hash of its last record.
    pub head: String,
    /// Content was left out.
    pub redacted: bool,
}

impl Store {
    /// Copies tape and blobs to `out`, which is made or must be empty, and puts every signed statement into a file of
    /// its run below `attestations/`, one DSSE envelope a line. The caller adds what else belongs into it and ends with
    /// [`Exported::seal`].
    ///
    /// # Errors
    /// When there is no tape, a line is no record and should be redacted, or the copy cannot be written.
    pub fn export(&self, out: &Path, redact: bool) -> Result<Exported, EvidenceError> {
        prepare(out)?;
        let mut lines = Lines::open(self)?.ok_or(EvidenceError::NoTape)?;
        let path = out.join(segments::CURRENT);
        let mut tape = BufWriter::new(create(&path)?);
        let mut copy = Exported {
            dir: out.to_owned(),
            records: 0,
            blobs: 0,
            lost: 0,
            head: String::new(),
            redacted: redact,
        };
        let mut last = 0;
        while let Some(line) = lines.next()? {
            copy.records += 1;
            let failed = EvidenceError::io("write", &path);
            let Some(record) = Glimpse::of(line.text()).filter(|_| line.is_whole()) else {
                if redact {
                    return Err(EvidenceError::BrokenRecord { line: copy.records });
                }
                tape.write_all(line.text())
                    .and_then(|()| tape.write_all(b"\n"))
                    .map_err(failed)?;
                continue;
            };
            last = record.seq;
            record.hash.clone_into(&mut copy.head);
            let written = if redact && record.kind.quotes() {
                writeln!(tape, "{}", record.withheld())
            } else {
                tape.write_all(line.text()).and_then(|()| tape.write_all(b"\n"))
            };
            written.map_err(failed)?;
            self.copy_beside(&record, &mut copy, redact)?;
        }
        tape.flush().map_err(EvidenceError::io("write", &path))?;
        head::write(&out.join("head.json"), &Head::new(last, &copy.head))?;
        Ok(copy)
    }

    /// A record's blobs and statements.
    fn copy_beside(
        &self,
        record: &Glimpse<'_>,
        copy: &mut Exported,
        redact: bool,
    ) -> Result<(), EvidenceError> {
        if record.kind == RecordKind::Checkpoint
            && let Some(checkpoint) = Checkpoint::from_body(&record.body()?)
            && !checkpoint.envelopes.is_empty()
            // Records of earlier versions were read with any run: it must not lead out of the folder.
            && fields_fit(record.run, record.ts)
        {
            let mut text = String::new();
            for envelope in &checkpoint.envelopes {
                text.push_str(
                    &serde_json::to_string(envelope)
                        .map_err(|error| EvidenceError::Json(error.to_string()))?,
                );
                text.push('\n');
            }
            let folder = copy.dir.join(ATTESTATIONS);
            blob::make_dir(&folder)?;
            // A run that went on after its checkpoint has another one.
            let path = folder.join(format!("{}.intoto.jsonl", record.run));
            plain_file::open_to_append(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(EvidenceError::io("write", &path))?;
        }
        if redact || !record.may_refer() {
            return Ok(());
        }
        for id in blob::references(&record.body()?) {
            match self.get_blob(&id) {
                Ok(bytes) => copy.blobs += u64::from(blob::copy(&copy.dir, &id, &bytes)?),
                Err(EvidenceError::NoBlob { .. } | EvidenceError::BlobChanged { .. }) => copy.lost += 1,
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
}

impl Exported {
    /// Puts a file beside the tape of the copy.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<(), EvidenceError> {
        let path = self.dir.join(name);
        blob::write_plain(&path, bytes).map_err(EvidenceError::io("write", &path))
    }

    /// Ends the export: lists the digests of its files in `export.json`, with the time, and signs that list and the
    /// last record if there is a key. Nothing may be added afterwards.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn seal(&self, created: &str, key: Option<&SigningKey>) -> Result<(), EvidenceError> {
        let about = Manifest {
            version: 2,
            redacted: self.redacted,
            records: self.records,
            head: self.head.clone(),
            created: Some(created.to_owned()),
            files: manifest::list_files(&self.dir, u64::MAX)?,
            attestations: manifest::list_attestations(&self.dir, u64::MAX)?,
        };
        let text =
            serde_json::to_string_pretty(&about).map_err(|error| EvidenceError::Json(error.to_string()))?;
        let text = format!("{text}\n");
        self.add(manifest::NAME, text.as_bytes())?;
        let Some(key) = key else { return Ok(()) };
        self.add("export.json.sig", key.ssh_signature(text.as_bytes()).as_bytes())?;
        let head = self.dir.join("head.json");
        let head = fs::read(&head).map_err(EvidenceError::io("read", &head))?;
        self.add("head.json.sig", key.ssh_signature(&head).as_bytes())
    }
}

fn prepare(out: &Path) -> Result<(), EvidenceError> {
    blob::make_dir(out)?;
    let mut entries = fs::read_dir(out).map_err(EvidenceError::io("read", out))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "it is not empty");
    Err(EvidenceError::io("export to", out)(source))
}

fn create(path: &Path) -> Result<File, EvidenceError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(EvidenceError::io("make", path))
}
