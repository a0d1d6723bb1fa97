//! The files that a run of a gate leaves behind.
//!
//! Owns: the hash-chained tape, the renaming of an older tape, and the reports. Never: changes a written line, or decides
//! anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_chain::ChainWriter;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{GateResults, Mode};

/// Failure to write a file of the evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// Failure to create, write or rename a file or folder.
    #[error("`{path}` cannot be written: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Failure to express a record as JSON.
    #[error("a record cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl EvidenceError {
    fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }
}

/// The tape of one run of a gate. Each record contains the hash of the record before it.
pub struct GateTape {
    file: File,
    path: PathBuf,
    folder: PathBuf,
    chain: ChainWriter,
}

impl GateTape {
    /// Creates a new tape in `<folder>/audit/` and writes its first record. An existing tape is renamed after the time
    /// of its first record and kept.
    ///
    /// # Errors
    /// When the tape cannot be created or the existing one cannot be renamed.
    pub fn begin_run(folder: &Path, gate: &str, mode: Mode, started_at: &str) -> Result<Self, EvidenceError> {
        let audit = folder.join("audit");
        std::fs::create_dir_all(&audit).map_err(EvidenceError::file_error(&audit))?;
        let path = audit.join("run_tape.jsonl");
        rename_older(&path)?;
        // `create_new`: the chain begins with its first link, so it must never be appended to a tape that exists.
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let mut tape = Self {
            file: file.map_err(EvidenceError::file_error(&path))?,
            path,
            folder: folder.to_path_buf(),
            chain: ChainWriter::new(&format!("{gate}-{started_at}")),
        };
        tape.append_record(started_at, "gate-started", json!({"gate": gate, "mode": mode}))?;
        Ok(tape)
    }

    /// Appends one record.
    ///
    /// # Errors
    /// When the record cannot be expressed as JSON or cannot be written.
    pub fn append_record(&mut self, at: &str, kind: &str, body: impl Serialize) -> Result<(), EvidenceError> {
        let line = self.chain.append_record(at, kind, serde_json::to_value(body)?)?;
        let written = self.file.write_all(line.as_bytes());
        written.map_err(EvidenceError::file_error(&self.path))
    }

    /// Ends the tape with one record for each check and one for the verdict, and writes the report of the verdict.
    ///
    /// # Errors
    /// When a record or the report cannot be written.
    pub fn finish_run(mut self, at: &str, results: &GateResults) -> Result<(), EvidenceError> {
        for check in &results.checks {
            self.append_record(at, "check", check)?;
        }
        let GateResults {
            gate, status, counts, ..
        } = results;
        let verdict = json!({"gate": gate, "status": status, "counts": counts});
        self.append_record(at, "gate-finished", verdict)?;
        write_report(&self.folder, "gate_results.json", results)
    }
}

/// Writes one report to `<folder>/reports/`.
///
/// # Errors
/// When the report cannot be expressed as JSON or cannot be written.
pub fn write_report(folder: &Path, name: &str, body: &impl Serialize) -> Result<(), EvidenceError> {
    let reports = folder.join("reports");
    std::fs::create_dir_all(&reports).map_err(EvidenceError::file_error(&reports))?;
    let path = reports.join(name);
    let text = serde_json::to_string_pretty(body)? + "\n";
    std::fs::write(&path, text).map_err(EvidenceError::file_error(&path))
}

/// Renames an existing tape: the time of its first record becomes part of its name.
fn rename_older(tape: &Path) -> Result<(), EvidenceError> {
    // Most often there is no tape yet. If there is one that cannot be read, creating the new tape fails and reports it.
    let Ok(text) = std::fs::read_to_string(tape) else {
        return Ok(());
    };
    let first = text.lines().next().unwrap_or_default();
    let first: Value = serde_json::from_str(first).unwrap_or_default();
    let began = first.get("ts").and_then(Value::as_str).unwrap_or("unknown");
    // A colon is not allowed in a file name on Windows.
    let stamp: String = began.chars().filter(char::is_ascii_alphanumeric).collect();
    // Runs that started in the same millisecond have the same stamp; a number keeps their names apart.
    let kept = (0_u32..)
        .map(|again| match again {
            0 => format!("run_tape.{stamp}.jsonl"),
            _ => format!("run_tape.{stamp}.{again}.jsonl"),
        })
        .map(|name| tape.with_file_name(name))
        .find(|path| !path.exists())
        .unwrap_or_else(|| tape.with_extension("old"));
    std::fs::rename(tape, &kept).map_err(EvidenceError::file_error(&kept))
}

#[cfg(test)]
mod tests {
    use agentos_chain::LinkForm;

    use super::*;
    use crate::Check;

    #[test]
    fn the_tape_is_chained_and_an_older_one_is_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let now = "2026-11-21T09:14:00.000Z";
        let checks = vec![Check::new("x", "an x", true, "")];
        let results = GateResults::new("boundary", now, Mode::Gate, checks);
        for _ in 0..3 {
            let tape = GateTape::begin_run(folder.path(), "boundary", Mode::Gate, now).unwrap();
            tape.finish_run(now, &results).unwrap();
        }
        let audit = folder.path().join("audit");
        let mut names: Vec<String> = std::fs::read_dir(&audit)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "run_tape.20261121T091400000Z.1.jsonl",
                "run_tape.20261121T091400000Z.jsonl",
                "run_tape.jsonl"
            ]
        );
        assert_eq!(GateResults::read(folder.path()).unwrap(), results);

        let tape = std::fs::read_to_string(audit.join("run_tape.jsonl")).unwrap();
        let mut previous = LinkForm::PlainRecord.genesis().to_owned();
        for line in tape.lines() {
            let record = LinkForm::PlainRecord.verify_link(line.as_bytes(), &previous);
            previous = record.unwrap()["hash"].as_str().unwrap().to_owned();
        }
        assert_eq!(tape.lines().count(), 3);
    }
}
