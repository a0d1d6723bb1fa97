//! A copy of the evidence for a reviewer: a folder that can be verified by itself.
//!
//! Owns: the files of the copy, the content that a redacted copy leaves out, and its signatures. Never: changes the
//! evidence, or writes into a folder that is not empty.
//!
//! A redacted copy has no blobs, and records that quote a task, an answer or a rule lack their body and its salt. Their
//! hash covers the digest of both, so all other members can still be checked. The hash of a record of an earlier version
//! covers the body itself and cannot be checked without it; for those, only the signature over the whole export remains.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

mod manifest;

use manifest::ATTESTATIONS;
pub use manifest::is_own_evidence;
pub(crate) use manifest::{ExportManifest, ListedFile, changed_files, lies_in_git_directory, read_manifest};

use crate::checkpoint::Checkpoint;
use crate::head::{self, TapeHead};
use crate::line_view::LineView;
use crate::record::fields_fit;
use crate::runs::{TapeLines, record_fact};
use crate::{EvidenceError, RecordKind, SigningKey, Store, blob, plain_file, segments};

/// Copy of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedCopy {
    /// Folder of the copy.
    pub dir: PathBuf,
    /// Number of records.
    pub records: u64,
    /// Number of blobs.
    pub blobs: u64,
    /// Number of blobs that records name and that could not be copied, because they are missing or were changed.
    pub lost: u64,
    /// Hash of the last record.
    pub head: String,
    /// True if content was left out.
    pub redacted: bool,
}

impl Store {
    /// Copies tape and blobs to `out`, which must be empty or is created, and writes the signed statements of each run to a
    /// file below `attestations/`, one DSSE envelope in each line. The caller adds other files and ends with
    /// [`ExportedCopy::seal`].
    ///
    /// # Errors
    /// When there is no tape, a line that must be redacted is no record, or the copy cannot be written.
    pub fn export(&self, out: &Path, redact: bool) -> Result<ExportedCopy, EvidenceError> {
        prepare_folder(out)?;
        let mut lines = TapeLines::open(self)?.ok_or(EvidenceError::NoTape)?;
        let path = out.join(segments::CURRENT);
        let mut tape = BufWriter::new(create_file(&path)?);
        let mut copy = ExportedCopy {
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
            let failed = EvidenceError::io_error("write", &path);
            let Some(record) = LineView::parse_line(line.text()).filter(|_| line.is_whole()) else {
                // Nobody knows which part of such a line would have to be left out.
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
            let written = if redact && record.kind.quotes_content() {
                writeln!(tape, "{}", record.without_body())
            } else {
                tape.write_all(line.text()).and_then(|()| tape.write_all(b"\n"))
            };
            written.map_err(failed)?;
            self.copy_attachments(&record, &mut copy, redact)?;
        }
        tape.flush().map_err(EvidenceError::io_error("write", &path))?;
        head::write(&out.join("head.json"), &TapeHead::new(last, &copy.head))?;
        Ok(copy)
    }

    /// Adds the canonical diffs of landed changes to a redacted copy, for those commits that `is_public` accepts.
    ///
    /// # Errors
    /// When the tape cannot be read, or the copy cannot be written.
    pub fn add_diffs(
        &self,
        copy: &mut ExportedCopy,
        is_public: &dyn Fn(&str) -> bool,
    ) -> Result<(), EvidenceError> {
        for record in self.records()? {
            let record = record?;
            let fact = |name: &str| record_fact(&record, name);
            let (Some(commit), Some(diff)) = (fact("commit"), fact("diff_sha256")) else {
                continue;
            };
            if record.kind != RecordKind::Receipt || !is_public(&commit) {
                continue;
            }
            let id = format!("sha256:{diff}");
            // A fault of the evidence is reported by its verification.
            if let Ok(bytes) = self.get_blob(&id) {
                copy.blobs += u64::from(blob::copy_blob(&copy.dir, &id, &bytes)?);
            }
        }
        Ok(())
    }

    /// Copies the blobs and signed statements of a record.
    fn copy_attachments(
        &self,
        record: &LineView<'_>,
        copy: &mut ExportedCopy,
        redact: bool,
    ) -> Result<(), EvidenceError> {
        if record.kind == RecordKind::Checkpoint
            && let Some(checkpoint) = Checkpoint::from_body(&record.parse_body()?)
            && !checkpoint.envelopes.is_empty()
            // In records of earlier versions a run may be any text. As a file name it must not lead out of the folder.
            && fields_fit(record.run, record.ts)
        {
            let mut text = String::new();
            for envelope in &checkpoint.envelopes {
                text.push_str(&serde_json::to_string(envelope).map_err(EvidenceError::Json)?);
                text.push('\n');
            }
            let folder = copy.dir.join(ATTESTATIONS);
            blob::make_dir(&folder)?;
            // Appended, since a run that continued after its checkpoint has another one.
            let path = folder.join(format!("{}.intoto.jsonl", record.run));
            plain_file::open_to_append(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(EvidenceError::io_error("write", &path))?;
        }
        if redact || !record.may_refer() {
            return Ok(());
        }
        for id in blob::find_references(&record.parse_body()?) {
            match self.get_blob(&id) {
                Ok(bytes) => copy.blobs += u64::from(blob::copy_blob(&copy.dir, &id, &bytes)?),
                // A fault of the evidence does not stop the export: verifying the copy reports it to the reviewer.
                Err(EvidenceError::NoBlob { .. } | EvidenceError::BlobChanged { .. }) => copy.lost += 1,
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
}

impl ExportedCopy {
    /// Writes a file into the folder of the copy.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<(), EvidenceError> {
        let path = self.dir.join(name);
        blob::write_plain(&path, bytes).map_err(EvidenceError::io_error("write", &path))
    }

    /// Ends the export: writes the digests of its files and the time to `export.json`, and signs that list and the last
    /// record if there is a key. No file may be added afterwards.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn seal(&self, created: &str, key: Option<&SigningKey>) -> Result<(), EvidenceError> {
        let about = ExportManifest {
            version: 2,
            redacted: self.redacted,
            records: self.records,
            head: self.head.clone(),
            created: Some(created.to_owned()),
            files: manifest::list_files(&self.dir, u64::MAX)?,
            attestations: manifest::list_attestations(&self.dir, u64::MAX)?,
        };
        let text = serde_json::to_string_pretty(&about).map_err(EvidenceError::Json)?;
        let text = format!("{text}\n");
        self.add(manifest::NAME, text.as_bytes())?;
        // The signature covers the bytes of the file, so that checking it needs no parser. The head keeps a signature of
        // its own, since exports of version 1 have only that one.
        let Some(key) = key else { return Ok(()) };
        self.add("export.json.sig", key.ssh_signature(text.as_bytes()).as_bytes())?;
        let head = self.dir.join("head.json");
        let head = fs::read(&head).map_err(EvidenceError::io_error("read", &head))?;
        self.add("head.json.sig", key.ssh_signature(&head).as_bytes())
    }
}

fn prepare_folder(out: &Path) -> Result<(), EvidenceError> {
    blob::make_dir(out)?;
    let mut entries = fs::read_dir(out).map_err(EvidenceError::io_error("read", out))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let source = io::Error::new(io::ErrorKind::AlreadyExists, "it is not empty");
    Err(EvidenceError::io_error("export to", out)(source))
}

fn create_file(path: &Path) -> Result<File, EvidenceError> {
    // `prepare_folder` found the folder empty. A file that has appeared since is somebody else's and is not overwritten.
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(EvidenceError::io_error("make", path))
}
