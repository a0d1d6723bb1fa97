//! One record: its fields, its canonical bytes and its hash.
//!
//! Owns: the line format. Never: reads or writes a file. The hash of a record is the SHA-256 of its canonical
//! JSON (RFC 8785) without the member `hash`; the line is the canonical JSON with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{EvidenceError, canonical};

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
    /// What came of trying a change before anybody was asked.
    Check,
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
    /// The head of the tape at the end of a run, signed.
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
            Self::Check => "check",
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

    /// Does a record of this kind quote what a person, a tool or a rule said?
    pub(crate) fn quotes(self) -> bool {
        match self {
            Self::Task
            | Self::Attempt
            | Self::ToolResult
            | Self::Boundary
            | Self::Landing
            | Self::Check
            | Self::Decision
            | Self::Consent
            | Self::Refusal
            | Self::Undo => true,
            Self::Answer | Self::Intent | Self::Receipt | Self::Recovered | Self::Checkpoint => false,
        }
    }

    /// The kind of a word on the tape.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        const ALL: [RecordKind; 15] = [
            RecordKind::Task,
            RecordKind::Attempt,
            RecordKind::Answer,
            RecordKind::ToolResult,
            RecordKind::Boundary,
            RecordKind::Landing,
            RecordKind::Check,
            RecordKind::Decision,
            RecordKind::Consent,
            RecordKind::Intent,
            RecordKind::Receipt,
            RecordKind::Refusal,
            RecordKind::Undo,
            RecordKind::Recovered,
            RecordKind::Checkpoint,
        ];
        ALL.into_iter().find(|kind| kind.as_str() == word)
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
    /// A record's line, without its end, and its hash. The body is canonical text, and run and time are checked.
    pub(crate) fn sealed(seq: u64, prev: &str, run: &str, kind: RecordKind, body: &str, ts: &str) -> Sealed {
        let rest = members(seq, prev, run, kind, ts, VERSION);
        let hash = digest_of(&["{\"body\":", body, ",", &rest]);
        let line = format!("{{\"body\":{body},\"hash\":\"{hash}\",{rest}");
        Sealed { line, hash }
    }

    /// Whether run and time can stand on the tape as they are.
    pub(crate) fn check_plain(run: &str, ts: &str) -> Result<(), EvidenceError> {
        check_text("run", run, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
        })?;
        check_text("time", ts, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'.' | b'+')
        })
    }

    /// Reads a line and checks that it is exactly what would be written for it, hash included.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(line).ok()?;
        let plain = |text: &str| !text.bytes().any(|b| b < b' ' || matches!(b, b'"' | b'\\'));
        if record.v != VERSION
            || record.seq >= 1 << 53
            || ![&record.ts, &record.run, &record.prev]
                .into_iter()
                .all(|text| plain(text))
        {
            return None;
        }
        let body = canonical::text(&record.body).ok()?;
        let (hash, rest) = (
            &record.hash,
            members(
                record.seq,
                &record.prev,
                &record.run,
                record.kind,
                &record.ts,
                record.v,
            ),
        );
        let genuine = format!("{{\"body\":{body},\"hash\":\"{hash}\",{rest}").as_bytes() == line
            && digest_of(&["{\"body\":", &body, ",", &rest]) == *hash;
        genuine.then_some(record)
    }
}

/// A record that is ready to be written.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub line: String,
    pub hash: String,
}

/// The members after body and hash, in canonical order. Only the body can hold anything that needs escaping: the
/// other texts are limited to plain characters where they are made and where they are read.
fn members(seq: u64, prev: &str, run: &str, kind: RecordKind, ts: &str, v: u64) -> String {
    let kind = kind.as_str();
    format!(
        "\"kind\":\"{kind}\",\"prev\":\"{prev}\",\"run\":\"{run}\",\"seq\":{seq},\"ts\":\"{ts}\",\"v\":{v}}}"
    )
}

/// `sha256:` and 64 hex digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    named(&Sha256::digest(bytes))
}

/// The same of texts that follow each other.
pub(crate) fn digest_of(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    named(&hasher.finalize())
}

/// Verifying does this for every record, so it does not go through the formatting machinery.
fn named(hash: &[u8]) -> String {
    let digit = |value: u8| {
        char::from(if value < 10 {
            b'0' + value
        } else {
            b'a' + value - 10
        })
    };
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in hash {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// The 64 hex digits of a digest in the form that [`digest`] gives.
pub(crate) fn hex_of(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    let fits = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    fits.then_some(hex)
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

    const TS: &str = "2026-11-21T09:14:00.000Z";

    fn line() -> String {
        let body = json!({ "b": [1, 2.5, null], "a": "é\n" });
        let body = canonical::text(&body).unwrap();
        Record::sealed(1, GENESIS, "r-1", RecordKind::Task, &body, TS).line
    }

    fn example() -> Record {
        serde_json::from_str(&line()).unwrap()
    }

    #[test]
    fn a_line_is_the_canonical_json_of_the_whole_record() {
        let record = example();
        let whole = serde_json::to_value(&record).unwrap();
        assert_eq!(line(), canonical::text(&whole).unwrap());
        insta::assert_snapshot!(line(), @r#"{"body":{"a":"é\n","b":[1,2.5,null]},"hash":"sha256:9cb5f7838a17feade2da8050bd8b02ea9af5ff2da5849eed300eecf4ccb930dd","kind":"task","prev":"sha256:0000000000000000000000000000000000000000000000000000000000000000","run":"r-1","seq":1,"ts":"2026-11-21T09:14:00.000Z","v":1}"#);
    }

    #[test]
    fn a_hash_covers_the_record_without_its_hash() {
        let record = example();
        let mut whole = serde_json::to_value(&record).unwrap();
        whole.as_object_mut().unwrap().remove("hash");
        assert_eq!(record.hash, digest(canonical::text(&whole).unwrap().as_bytes()));
    }

    #[test]
    fn a_line_that_says_the_same_in_other_bytes_is_not_genuine() {
        let line = line();
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
            let error = Record::check_plain(run, ts).unwrap_err();
            assert_eq!(error.code(), "evidence-invalid-record");
        }
    }
}
