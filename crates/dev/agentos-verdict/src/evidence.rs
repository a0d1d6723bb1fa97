//! The files a gate leaves behind.
//!
//! Owns: the hash-chained tape, rotating an older tape away, and the reports. Never: changes a line that was written, or
//! decides anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_chain::ChainWriter;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{GateResults, Mode};

/// A file of the evidence cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A file or folder cannot be written.
    #[error("`{path}` cannot be used: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A record cannot be written as JSON.
    #[error("a record cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl EvidenceError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { path, source }
    }
}

/// The tape of one run of a gate. Each record holds the hash of the one before.
pub struct Tape {
    file: File,
    path: PathBuf,
    folder: PathBuf,
    chain: ChainWriter,
}

impl Tape {
    /// Begins a new tape in `<folder>/audit/`. A tape that is there already is kept under the time of its first
    /// record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(folder: &Path, gate: &str, mode: Mode, started_at: &str) -> Result<Self, EvidenceError> {
        let audit = folder.join("audit");
        std::fs::create_dir_all(&audit).map_err(EvidenceError::file(&audit))?;
        let path = audit.join("run_tape.jsonl");
        rotate(&path)?;
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let mut tape = Self {
            file: file.map_err(EvidenceError::file(&path))?,
            path,
            folder: folder.to_path_buf(),
            chain: ChainWriter::new(&format!("{gate}-{started_at}")),
        };
        tape.add(started_at, "gate-started", json!({"gate": gate, "mode": mode}))?;
        Ok(tape)
    }

    /// Adds one record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, at: &str, kind: &str, body: impl Serialize) -> Result<(), EvidenceError> {
        let line = self.chain.append_record(at, kind, serde_json::to_value(body)?)?;
        let written = self.file.write_all(line.as_bytes());
        written.map_err(EvidenceError::file(&self.path))
    }

    /// Ends the tape with a record of each check and one of the verdict, and writes the verdict's report.
    ///
    /// # Errors
    /// When one of them cannot be written.
    pub fn finish(mut self, at: &str, results: &GateResults) -> Result<(), EvidenceError> {
        for check in &results.checks {
            self.add(at, "check", check)?;
        }
        let GateResults {
            gate, status, counts, ..
        } = results;
        let verdict = json!({"gate": gate, "status": status, "counts": counts});
        self.add(at, "gate-finished", verdict)?;
        write_report(&self.folder, "gate_results.json", results)
    }
}

/// Writes one report to `<folder>/reports/`.
///
/// # Errors
/// When it cannot be written.
pub fn write_report(folder: &Path, name: &str, body: &impl Serialize) -> Result<(), EvidenceError> {
    let reports = folder.join("reports");
    std::fs::create_dir_all(&reports).map_err(EvidenceError::file(&reports))?;
    let path = reports.join(name);
    let text = serde_json::to_string_pretty(body)? + "\n";
    std::fs::write(&path, text).map_err(EvidenceError::file(&path))
}

/// Gives an older tape the time of its first record as part of its name.
fn rotate(tape: &Path) -> Result<(), EvidenceError> {
    let Ok(text) = std::fs::read_to_string(tape) else {
        return Ok(());
    };
    let first = text.lines().next().unwrap_or_default();
    let first: Value = serde_json::from_str(first).unwrap_or_default();
    let began = first.get("ts").and_then(Value::as_str).unwrap_or("unknown");
    let stamp: String = began.chars().filter(char::is_ascii_alphanumeric).collect();
    let kept = (0_u32..)
        .map(|again| match again {
            0 => format!("run_tape.{stamp}.jsonl"),
            _ => format!("run_tape.{stamp}.{again}.jsonl"),
        })
        .map(|name| tape.with_file_name(name))
        .find(|path| !path.exists())
        .unwrap_or_else(|| tape.with_extension("old"));
    std::fs::rename(tape, &kept).map_err(EvidenceError::file(&kept))
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
            let tape = Tape::begin(folder.path(), "boundary", Mode::Gate, now).unwrap();
            tape.finish(now, &results).unwrap();
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
