//! A store in a temporary folder, and ways to spoil it.

use std::path::Path;

use agentos_evidence::{Checks, Finding, RecordKind, RecordRef, Store, Tampering};
use agentos_testkit::repo::{read_file, write_file};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const TS: &str = "2026-11-21T09:14:00.000Z";

pub struct Tape {
    pub folder: TempDir,
    pub store: Store,
}

impl Tape {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        Self { folder, store }
    }

    /// Five records of one run, the second with a blob.
    pub fn example() -> Self {
        let tape = Self::new();
        let blob = tape.store.put_blob(b"the answer").unwrap();
        tape.add(RecordKind::Task, json!({ "instruction": "say hello" }));
        tape.add(RecordKind::Answer, json!({ "answer_sha256": blob }));
        tape.add(RecordKind::Landing, json!({ "hunks": 1 }));
        tape.add(RecordKind::Decision, json!({ "effect": "allow" }));
        tape.add(RecordKind::Refusal, json!({ "code": "stale" }));
        tape
    }

    pub fn add(&self, kind: RecordKind, body: Value) -> RecordRef {
        self.store.append("run-1", kind, body, TS).unwrap()
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("tape.jsonl")
    }

    pub fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(read_file(&self.path())).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    pub fn set_lines(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        write_file(&self.path(), text);
    }

    pub fn blob_path(&self, id: &str) -> std::path::PathBuf {
        let (first, rest) = id.strip_prefix("sha256:").unwrap().split_at(2);
        self.folder.path().join("blobs").join(first).join(rest)
    }

    pub fn findings(&self) -> Vec<Finding> {
        verify(self.folder.path())
    }

    pub fn first(&self) -> Option<(Tampering, Option<u64>)> {
        let report = self.store.verify(&Checks::default()).unwrap();
        assert_eq!(report.ok, report.findings.is_empty());
        report.first().map(|finding| (finding.tampering, finding.line))
    }
}

pub fn verify(dir: &Path) -> Vec<Finding> {
    Store::open(dir)
        .unwrap()
        .verify(&Checks::default())
        .unwrap()
        .findings
}
