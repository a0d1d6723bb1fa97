//! The files a gate leaves behind.
//!
//! Owns: the hash-chained tape, rotating an older tape away, and the two reports. Never: changes a line that was
//! written, or decides anything.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use agentos_chain::ChainWriter;
use agentos_tool::Timestamp;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::GateError;

/// The tape of one run of a gate. Each record holds the hash of the one before.
pub(crate) struct Tape {
    file: File,
    path: PathBuf,
    chain: ChainWriter,
}

impl Tape {
    /// Begins a new tape in `<folder>/audit/`. A tape that is there already is kept under the time of its first
    /// record.
    pub(crate) fn begin(folder: &Path, run: &str) -> Result<Self, GateError> {
        let audit = folder.join("audit");
        std::fs::create_dir_all(&audit).map_err(GateError::file(&audit))?;
        let path = audit.join("run_tape.jsonl");
        rotate(&path)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(GateError::file(&path))?;
        Ok(Self {
            file,
            path,
            chain: ChainWriter::new(run),
        })
    }

    /// Adds one record.
    pub(crate) fn add(&mut self, ts: &Timestamp, kind: &str, body: impl Serialize) -> Result<(), GateError> {
        let body = serde_json::to_value(body)?;
        let line = self.chain.append_record(ts.as_str(), kind, body)?;
        self.file
            .write_all(line.as_bytes())
            .map_err(GateError::file(&self.path))
    }
}

/// Writes one report to `<folder>/reports/`.
pub(crate) fn report(folder: &Path, name: &str, body: &impl Serialize) -> Result<(), GateError> {
    let reports = folder.join("reports");
    std::fs::create_dir_all(&reports).map_err(GateError::file(&reports))?;
    let path = reports.join(name);
    let text = serde_json::to_string_pretty(body)? + "\n";
    std::fs::write(&path, text).map_err(GateError::file(&path))
}

/// SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn rotate(tape: &Path) -> Result<(), GateError> {
    let Ok(text) = std::fs::read_to_string(tape) else {
        return Ok(());
    };
    let first: Option<Value> = text
        .lines()
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    let began = first
        .as_ref()
        .and_then(|record| record.get("ts"))
        .and_then(Value::as_str)
        .unwrap_or("unknown");
    let stamp: String = began.chars().filter(char::is_ascii_alphanumeric).collect();
    let kept = (0_u32..)
        .map(|again| match again {
            0 => format!("run_tape.{stamp}.jsonl"),
            _ => format!("run_tape.{stamp}.{again}.jsonl"),
        })
        .map(|name| tape.with_file_name(name))
        .find(|path| !path.exists())
        .unwrap_or_else(|| tape.with_extension("old"));
    std::fs::rename(tape, &kept).map_err(GateError::file(&kept))
}

#[cfg(test)]
mod tests {
    use agentos_chain::LinkForm;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tape_is_chained_and_older_ones_are_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let now = Timestamp::from_unix_seconds(1_795_252_440);
        for _ in 0..3 {
            let mut tape = Tape::begin(folder.path(), "tl_r2_lmstudio").unwrap();
            tape.add(&now, "gate-started", json!({"a": 1})).unwrap();
            tape.add(&now, "check", json!({"b": 2})).unwrap();
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
        let mut previous = LinkForm::PlainRecord.genesis().to_owned();
        for line in std::fs::read_to_string(audit.join("run_tape.jsonl"))
            .unwrap()
            .lines()
        {
            let record = LinkForm::PlainRecord.verify_link(line.as_bytes(), &previous);
            previous = record.unwrap()["hash"].as_str().unwrap().to_owned();
        }
    }
}
