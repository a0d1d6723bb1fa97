//! A store in a temporary folder, and ways to spoil it.

use std::path::Path;

use agentos_evidence::{
    Checks, Envelope, Finding, PublicKey, RecordKind, RecordRef, SigningKey, Store, Tampering,
};
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
        let name = id.strip_prefix("sha256:").unwrap();
        self.folder.path().join("blobs").join(name)
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

/// The signed statements of a checkpoint's body.
pub fn envelopes(body: &Value) -> Vec<Envelope> {
    serde_json::from_value(body["envelopes"].clone()).unwrap()
}

/// The body of a checkpoint as it was made before its first statement named the others.
pub fn of_old(body: &Value, key: &SigningKey) -> Value {
    let by = PublicKey::from_line(body["key"].as_str().unwrap()).unwrap();
    let resealed = envelopes(body).into_iter().map(|envelope| {
        let mut statement = envelope.open(&by).unwrap();
        statement["predicate"]
            .as_object_mut()
            .unwrap()
            .remove("envelopes");
        Envelope::seal(&statement, key).unwrap()
    });
    let mut old = body.clone();
    old["envelopes"] = serde_json::to_value(resealed.collect::<Vec<_>>()).unwrap();
    old
}

/// The same tape written anew in another folder, every hash right, its checkpoints made into other ones.
pub fn rewritten(from: &Path, to: &Path, change: impl Fn(usize, &Value) -> Value) {
    let (from, to) = (Store::open(from).unwrap(), Store::open(to).unwrap());
    let mut checkpoints = 0;
    for record in from.records().unwrap().map(Result::unwrap) {
        let mut body = record.body;
        if record.kind == RecordKind::Checkpoint {
            body = change(checkpoints, &body);
            checkpoints += 1;
        }
        to.append(&record.run, record.kind, body, &record.ts).unwrap();
    }
}
