//! A store in a temporary folder, and ways to spoil it.

use std::cell::Cell;
use std::path::Path;

use agentos_evidence::{
    Envelope, Finding, PublicKey, Record, RecordKind, RecordRef, SigningKey, Store, Tampering, VerifyChecks,
};
use agentos_testkit::repo::{read_file, write_file};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
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
        let report = self.store.verify(&VerifyChecks::default()).unwrap();
        assert_eq!(report.ok, report.findings.is_empty());
        report.first().map(|finding| (finding.tampering, finding.line))
    }
}

pub fn verify(dir: &Path) -> Vec<Finding> {
    Store::open(dir)
        .unwrap()
        .verify(&VerifyChecks::default())
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
        Envelope::sign_statement(&statement, key).unwrap()
    });
    let mut old = body.clone();
    old["envelopes"] = serde_json::to_value(resealed.collect::<Vec<_>>()).unwrap();
    old
}

/// Writes a tape again in another folder, with its salts and every hash right, its checkpoints made into other ones.
pub fn rewritten(from: &Path, to: &Path, change: impl Fn(usize, &Value) -> Value) {
    let checkpoints = Cell::new(0);
    rewritten_records(from, to, |record| {
        if record.kind != RecordKind::Checkpoint {
            return record.body.clone();
        }
        checkpoints.set(checkpoints.get() + 1);
        change(checkpoints.get() - 1, &record.body)
    });
}

/// Writes a tape again as somebody does who has everything but the key: salts stay, and every hash is right.
pub fn rewritten_records(from: &Path, to: &Path, change: impl Fn(&Record) -> Value) {
    let (mut text, mut prev) = (String::new(), None);
    let mut seq = 0;
    for record in Store::open(from).unwrap().records().unwrap().map(Result::unwrap) {
        let body = change(&record);
        let mut record = serde_json::to_value(&record).unwrap();
        record["body"] = body;
        if let Some(prev) = &prev {
            record["prev"] = Value::clone(prev);
        }
        text.push_str(&seal(&mut record));
        text.push('\n');
        (prev, seq) = (Some(record["hash"].clone()), seq + 1);
    }
    write_file(&to.join("tape.jsonl"), text);
    write_file(
        &to.join("head.json"),
        json!({ "v": 1, "seq": seq, "hash": prev }).to_string(),
    );
}

/// Puts the right digests into a record, and gives its line.
pub fn seal(record: &mut Value) -> String {
    let body = json!({ "body": record["body"], "body_salt": record["body_salt"] });
    record["body_sha256"] = digest(&body);
    let mut covered = record.clone();
    for name in ["hash", "body", "body_salt"] {
        covered.as_object_mut().unwrap().remove(name);
    }
    record["hash"] = digest(&covered);
    serde_json_canonicalizer::to_string(record).unwrap()
}

fn digest(value: &Value) -> Value {
    let text = serde_json_canonicalizer::to_string(value).unwrap();
    let hash = Sha256::digest(text);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}").into()
}
