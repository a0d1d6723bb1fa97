//! One record: its fields, its canonical bytes and its hash.
//!
//! Owns: the line format. Never: reads or writes a file. The hash of a record is the SHA-256 of its canonical
//! JSON (RFC 8785) without the member `hash`; the line is the canonical JSON with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::EvidenceError;

/// The version of the record format.
pub(crate) const VERSION: u64 = 1;
/// A line longer than this is refused; large things are blobs.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// What the first record names as the hash before it.
pub(crate) const GENESIS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// What a record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A run begins: what was asked, of whom.
    Task,
    /// What a tool was shown.
    Attempt,
    /// What a tool answered, as a blob.
    Answer,
    /// The engine's verdict on a call.
    ToolResult,
    /// The state around a call, measured.
    Boundary,
    /// What landing made of an answer.
    Landing,
    /// What policy said.
    Decision,
    /// What a person said.
    Consent,
    /// What is about to be written; its hash is in the commit.
    Intent,
    /// What was written.
    Receipt,
    /// A run ended without a change, and why.
    Refusal,
    /// A run that takes another one back.
    Undo,
    /// What a crash left behind, and what became of it.
    Recovered,
    /// The head of the tape at the end of a run.
    Checkpoint,
}

impl RecordKind {
    /// The word on the tape.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Attempt => "attempt",
            Self::Answer => "answer",
            Self::ToolResult => "tool_result",
            Self::Boundary => "boundary",
            Self::Landing => "landing",
            Self::Decision => "decision",
            Self::Consent => "consent",
            Self::Intent => "intent",
            Self::Receipt => "receipt",
            Self::Refusal => "refusal",
            Self::Undo => "undo",
            Self::Recovered => "recovered",
            Self::Checkpoint => "checkpoint",
        }
    }
}

/// One line of the tape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this shape: 1.
    pub v: u64,
    /// 1 for the first record of a tape.
    pub seq: u64,
    /// When it was recorded, RFC 3339.
    pub ts: String,
    /// The run it belongs to.
    pub run: String,
    /// What it tells.
    pub kind: RecordKind,
    /// The facts, one shape for each kind.
    pub body: Value,
    /// The hash of the record before.
    pub prev: String,
    /// `sha256:` and the SHA-256 of this record without this member.
    pub hash: String,
}

/// Where a record stands on the tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordRef {
    /// Its number.
    pub seq: u64,
    /// Its hash, as in `sha256:…`.
    pub hash: String,
}

impl Record {
    /// A record with its hash.
    pub(crate) fn sealed(
        seq: u64,
        prev: &str,
        run: &str,
        kind: RecordKind,
        body: Value,
        ts: &str,
    ) -> Result<Self, EvidenceError> {
        let mut record = Self {
            v: VERSION,
            seq,
            ts: ts.to_owned(),
            run: run.to_owned(),
            kind,
            body,
            prev: prev.to_owned(),
            hash: String::new(),
        };
        check_text("run", run, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
        })?;
        check_text("time", ts, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'.' | b'+')
        })?;
        let body = canonical(&record.body)?;
        record.hash = digest(record.members(&body, None).as_bytes());
        Ok(record)
    }

    /// The line, without its end.
    pub(crate) fn line(&self) -> Result<String, EvidenceError> {
        Ok(self.members(&canonical(&self.body)?, Some(&self.hash)))
    }

    /// Reads a line and checks that it is exactly what would be written for it, hash included.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(line).ok()?;
        let plain = |text: &str| !text.bytes().any(|b| b < b' ' || matches!(b, b'"' | b'\\'));
        if record.v != VERSION
            || ![&record.ts, &record.run, &record.prev]
                .into_iter()
                .all(|text| plain(text))
        {
            return None;
        }
        let body = canonical(&record.body).ok()?;
        let genuine = record.members(&body, Some(&record.hash)).as_bytes() == line
            && digest(record.members(&body, None).as_bytes()) == record.hash;
        genuine.then_some(record)
    }

    /// The members in canonical order. Only the body can hold anything that needs escaping: the other texts are
    /// limited to plain characters where they are made and where they are read.
    fn members(&self, body: &str, hash: Option<&str>) -> String {
        let hash = hash.map_or_else(String::new, |hash| format!("\"hash\":\"{hash}\","));
        format!(
            "{{\"body\":{body},{hash}\"kind\":\"{}\",\"prev\":\"{}\",\"run\":\"{}\",\"seq\":{},\"ts\":\"{}\",\"v\":{}}}",
            self.kind.as_str(),
            self.prev,
            self.run,
            self.seq,
            self.ts,
            self.v
        )
    }
}

/// `sha256:` and 64 hex digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}

/// The 64 hex digits of a digest in the form that [`digest`] gives.
pub(crate) fn hex_of(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    let fits = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    fits.then_some(hex)
}

fn canonical(body: &Value) -> Result<String, EvidenceError> {
    serde_json_canonicalizer::to_string(body).map_err(|error| EvidenceError::Json(error.to_string()))
}

fn check_text(what: &'static str, text: &str, allowed: fn(u8) -> bool) -> Result<(), EvidenceError> {
    if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(EvidenceError::BadField {
        what,
        value: text.chars().take(64).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example() -> Record {
        let body = json!({ "b": [1, 2.5, null], "a": "é\n" });
        Record::sealed(
            1,
            GENESIS,
            "r-1",
            RecordKind::Task,
            body,
            "2026-11-21T09:14:00.000Z",
        )
        .unwrap()
    }

    #[test]
    fn a_line_is_the_canonical_json_of_the_whole_record() {
        let record = example();
        let whole = serde_json::to_value(&record).unwrap();
        assert_eq!(record.line().unwrap(), canonical(&whole).unwrap());
        insta::assert_snapshot!(record.line().unwrap(), @r#"{"body":{"a":"é\n","b":[1,2.5,null]},"hash":"sha256:9cb5f7838a17feade2da8050bd8b02ea9af5ff2da5849eed300eecf4ccb930dd","kind":"task","prev":"sha256:0000000000000000000000000000000000000000000000000000000000000000","run":"r-1","seq":1,"ts":"2026-11-21T09:14:00.000Z","v":1}"#);
    }

    #[test]
    fn a_hash_covers_the_record_without_its_hash() {
        let record = example();
        let mut whole = serde_json::to_value(&record).unwrap();
        whole.as_object_mut().unwrap().remove("hash");
        assert_eq!(record.hash, digest(canonical(&whole).unwrap().as_bytes()));
    }

    #[test]
    fn a_line_that_says_the_same_in_other_bytes_is_not_genuine() {
        let line = example().line().unwrap();
        assert_eq!(Record::parse(line.as_bytes()), Some(example()));
        for other in [
            line.replacen("\"body\":", "\"body\": ", 1),
            format!("{line} "),
            line.replacen("2.5", "2.50", 1),
        ] {
            assert_eq!(Record::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_run_or_time_that_needs_escaping_is_refused() {
        for (run, ts) in [
            ("a\"b", "2026-11-21T09:14:00.000Z"),
            ("r", "now \n"),
            ("", "2026-11-21T09:14:00.000Z"),
        ] {
            let record = Record::sealed(1, GENESIS, run, RecordKind::Task, json!({}), ts);
            assert_eq!(record.unwrap_err().code(), "evidence-invalid-record");
        }
    }
}
