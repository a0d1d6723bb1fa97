//! A copy of the evidence for a reviewer: a folder that verifies by itself.
//!
//! Owns: what is in it, and what a redacted copy leaves out. Never: changes the evidence, or writes into a folder
//! that holds anything.
//!
//! A redacted copy has no blobs, and of the records that quote a task, an answer or a rule only where they stand in
//! the chain. What ties the tape to commits and keys stays whole, so that links, signatures and commits can still be
//! checked; a record that is shown later can be held against its hash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use crate::checkpoint::Checkpoint;
use crate::glimpse::Glimpse;
use crate::head::{self, Head};
use crate::runs::Lines;
use crate::{EvidenceError, RecordKind, Store, blob, segments};

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
}

impl Store {
    /// Copies tape and blobs to `out`, which is made or must be empty, and puts every signed statement into a file of
    /// its run below `attestations/`, one DSSE envelope a line.
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
        let about = json!({ "version": 1, "redacted": redact, "records": copy.records, "head": copy.head });
        copy.add("export.json", format!("{about}\n").as_bytes())?;
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
        {
            let mut text = String::new();
            for envelope in &checkpoint.envelopes {
                text.push_str(
                    &serde_json::to_string(envelope)
                        .map_err(|error| EvidenceError::Json(error.to_string()))?,
                );
                text.push('\n');
            }
            blob::make_dir(&copy.dir.join("attestations"))?;
            copy.add(
                &format!("attestations/{}.intoto.jsonl", record.run),
                text.as_bytes(),
            )?;
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
}

/// Is a folder a redacted copy, by its own account?
///
/// # Errors
/// When the account is there and cannot be read.
pub fn is_redacted(dir: &Path) -> Result<bool, EvidenceError> {
    let path = dir.join("export.json");
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(EvidenceError::io("read", &path)(source)),
    };
    let about: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| EvidenceError::Json(error.to_string()))?;
    Ok(about.get("redacted") == Some(&serde_json::Value::Bool(true)))
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
