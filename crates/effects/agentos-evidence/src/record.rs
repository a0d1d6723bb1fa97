//! One record: its fields, its canonical bytes and its hash.
//!
//! Owns: the line format. Never: reads or writes a file.
//!
//! A line is the canonical JSON (RFC 8785) of the record. The member `v` selects the members that the hash covers:
//!
//! | `v` | members | `hash` is the SHA-256 of the canonical JSON of |
//! |---|---|---|
//! | 1 | `body hash kind prev run seq ts v` | all members but `hash` |
//! | 2 | those of `v` 1, `body_salt` and `body_sha256` | all members but `hash`, `body` and `body_salt` |
//!
//! `body_sha256` is the SHA-256 of the canonical JSON of an object with the two members `body` and `body_salt`. So a
//! redacted copy can leave out both, and every other member is still covered by the hash. With form 1 the hash of a
//! record without its body cannot be recomputed, and anybody could change its kind, time and run.
//!
//! The salt is 128 random bits. A body such as `{"given":true}` has few likely values. Without the salt, anybody could
//! hash them all, compare them with the digest in a redacted copy, and so learn the content.
//!
//! Records are written in form 2. After the first of them a record in form 1 is a fault. Otherwise somebody could convert
//! a record back to form 1 and then change it in a redacted copy.

use agentos_chain::{LinkForm, MAX_NESTING, SealedRecord, append_hex, measure_nesting, seal_texts};
use ring::rand::{SecureRandom as _, SystemRandom};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::EvidenceError;

/// Maximum bytes of a line. Larger content is stored as a blob.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// Value of `prev` in the first record.
pub(crate) const GENESIS: &str = LinkForm::BodyDigest.genesis();

/// Number of hexadecimal digits of a salt: 128 bits.
const SALT_DIGITS: usize = 32;

/// Form of a record, which determines the members that its hash covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RecordForm {
    /// Form 1: the body itself.
    CoversBody,
    /// Form 2: the digest of the body and its salt.
    CoversBodyDigest,
}

impl RecordForm {
    /// Returns the form of the chain's link.
    fn link_form(self) -> LinkForm {
        match self {
            Self::CoversBody => LinkForm::WholeRecord,
            Self::CoversBodyDigest => LinkForm::BodyDigest,
        }
    }

    /// Returns the value of the member `v`.
    pub(crate) fn version_number(self) -> u64 {
        match self {
            Self::CoversBody => 1,
            Self::CoversBodyDigest => 2,
        }
    }
}

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A run begins: the task, and the tool that gets it.
    Task,
    /// Prompt and files that were shown to a tool.
    Attempt,
    /// A tool's answer, as a blob.
    Answer,
    /// The engine's verdict on a call of a tool.
    ToolResult,
    /// State of the repository, measured before and after a call.
    Boundary,
    /// Result of placing an answer's edits: a change, or a refusal with its report.
    Landing,
    /// Result of the user's command, run on a copy with the change in it.
    Check,
    /// Decision of the policy.
    Decision,
    /// Answer of a person who was asked.
    Consent,
    /// A change that is about to be written. The commit carries this record's hash.
    Intent,
    /// A change that was written.
    Receipt,
    /// A run that ended without a change, and the reason.
    Refusal,
    /// A run that reverts another one.
    Undo,
    /// A state that a crash left, and its repair.
    Recovered,
    /// Signed hash of the tape's last record at the end of a run.
    Checkpoint,
    /// A turn that ended: the calls of models with their cost, and the hashes of the messages.
    Turn,
    /// A conversation that began, changed, was compressed or deleted.
    Session,
    /// Texts of conversations that were removed on purpose. Their hashes stay.
    Removed,
}

impl RecordKind {
    /// Returns the word on the tape.
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
            Self::Turn => "turn",
            Self::Session => "session",
            Self::Removed => "removed",
        }
    }

    /// Returns whether a record of this kind quotes a person, a tool or a rule. A redacted copy leaves such bodies out.
    pub(crate) fn quotes_content(self) -> bool {
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
            | Self::Undo
            | Self::Turn
            | Self::Session => true,
            Self::Answer
            | Self::Intent
            | Self::Receipt
            | Self::Recovered
            | Self::Checkpoint
            | Self::Removed => false,
        }
    }

    /// Returns the kind for a word on the tape. `None` if no kind has this word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        const ALL: [RecordKind; 18] = [
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
            RecordKind::Turn,
            RecordKind::Session,
            RecordKind::Removed,
        ];
        ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Line of the tape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of this shape: 2, or 1 for records of earlier versions.
    pub v: u64,
    /// Number of the record on its tape, 1 for the first.
    pub seq: u64,
    /// Time of the record, RFC 3339.
    pub ts: String,
    /// Run that the record belongs to.
    pub run: String,
    /// Kind of the record.
    pub kind: RecordKind,
    /// Facts, in one shape for each kind.
    pub body: Value,
    /// 32 random hexadecimal digits, so that nobody can guess a short body from its digest. `None` if `v` is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_salt: Option<String>,
    /// `sha256:` and the SHA-256 of the canonical JSON of an object with the members `body` and `body_salt`. `None` if
    /// `v` is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_sha256: Option<String>,
    /// Hash of the previous record.
    pub prev: String,
    /// `sha256:` and the SHA-256 of the canonical JSON of this record without the members `hash`, `body` and
    /// `body_salt`; if `v` is 1, without `hash` alone.
    pub hash: String,
}

/// Reference to a record of the tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordRef {
    /// Number of the record.
    pub seq: u64,
    /// Hash of the record, as in `sha256:…`.
    pub hash: String,
}

impl Record {
    /// Builds a record's line, without the line feed, and its hash. The caller passes a body as canonical text, a run and a
    /// time that passed [`Record::check_plain`], and a salt of [`new_salt`].
    pub(crate) fn seal_line(
        seq: u64,
        prev: &str,
        run: &str,
        kind: RecordKind,
        (body, salt): (&str, &str),
        ts: &str,
    ) -> SealedRecord {
        // Written by hand in the order of RFC 8785, which sorts members by name. None of these texts needs escaping.
        let kind = kind.as_str();
        let rest = format!(
            "\"kind\":\"{kind}\",\"prev\":\"{prev}\",\"run\":\"{run}\",\"seq\":{seq},\"ts\":\"{ts}\",\"v\":2}}"
        );
        seal_texts(body, salt, &rest)
    }

    /// Checks that run and time can be written to a line without escaping.
    ///
    /// # Errors
    /// [`EvidenceError::BadField`] if one of them cannot.
    pub(crate) fn check_plain(run: &str, ts: &str) -> Result<(), EvidenceError> {
        check_text("run", run, is_run_byte)?;
        check_text("time", ts, is_time_byte)
    }

    /// Parses a line and checks that it is exactly the line that would be written for this record, including the hash.
    /// `None` if it is not.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(line).ok()?;
        let (form, fields_fit) = match (record.v, &record.body_salt) {
            (1, None) => (RecordForm::CoversBody, record.body_sha256.is_none()),
            (2, Some(salt)) => {
                let fits = is_salt(salt) && fields_fit(&record.run, &record.ts);
                (RecordForm::CoversBodyDigest, fits)
            }
            (_, _) => return None,
        };
        // This checks spelling and hash of the line as JSON. The struct above ignores neither unknown members nor types.
        let whole = form.link_form().verify_line(line)?;
        // serde reads a member that is `null` like a missing one, and the line would have two spellings.
        let same = serde_json::to_value(&record).ok()? == Value::Object(whole);
        let plain = [&record.ts, &record.run, &record.prev]
            .into_iter()
            .all(|text| is_plain(text));
        // Writers allow less nesting (`guard`). All readers share this limit, so that no two of them disagree about a line.
        let nested = measure_nesting(&record.body) <= MAX_NESTING;
        (fields_fit && same && plain && nested && record.seq < 1 << 53).then_some(record)
    }
}

/// Makes a salt.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn new_salt() -> Result<String, EvidenceError> {
    make_random_text()
}

/// Makes 128 random bits, as 32 hexadecimal digits that nobody can guess.
///
/// # Errors
/// [`EvidenceError::Key`] when the system has no random numbers.
pub fn make_random_text() -> Result<String, EvidenceError> {
    let mut bits = [0; SALT_DIGITS / 2];
    SystemRandom::new()
        .fill(&mut bits)
        .map_err(|_| EvidenceError::Key("the system gives no random numbers"))?;
    let mut salt = String::with_capacity(SALT_DIGITS);
    append_hex(&mut salt, &bits);
    Ok(salt)
}

/// Returns whether a text is 32 hexadecimal digits.
pub(crate) fn is_salt(text: &str) -> bool {
    text.len() == SALT_DIGITS && text.bytes().all(is_hex_digit)
}

/// Returns whether a text needs no escapes in JSON.
pub(crate) fn is_plain(text: &str) -> bool {
    // `fold` and `&` instead of `all` and `&&`: the loop has no branch for each byte. It runs over every line.
    text.bytes()
        .fold(true, |plain, b| plain & (b >= b' ') & (b != b'"') & (b != b'\\'))
}

/// Returns whether run and time of a record are valid in form 2. Form 1 was written and read without this check.
pub(crate) fn fields_fit(run: &str, ts: &str) -> bool {
    let fits = |text: &str, allowed: fn(u8) -> bool| {
        (1..=MAX_FIELD).contains(&text.len()) && text.bytes().all(allowed)
    };
    fits(run, is_run_byte) && fits(ts, is_time_byte)
}

/// Maximum bytes of a run or a time.
const MAX_FIELD: usize = 64;

fn is_run_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')
}

fn is_time_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'.' | b'+')
}

fn is_hex_digit(b: u8) -> bool {
    matches!(b, b'0'..=b'9' | b'a'..=b'f')
}

fn check_text(what: &'static str, text: &str, allowed: fn(u8) -> bool) -> Result<(), EvidenceError> {
    if (1..=MAX_FIELD).contains(&text.len()) && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(EvidenceError::BadField {
        what,
        value: text.chars().take(64).collect(),
    })
}

#[cfg(test)]
mod tests {
    use agentos_chain::{hash_bytes, hash_texts, write_canonical};
    use serde_json::json;

    use super::*;

    const TS: &str = "2026-11-21T09:14:00.000Z";

    fn line() -> String {
        let body = json!({ "b": [1, 2.5, null], "a": "é\n" });
        let body = write_canonical(&body).unwrap();
        Record::seal_line(1, GENESIS, "r-1", RecordKind::Task, (&body, &"0a".repeat(16)), TS).line
    }

    /// A line as earlier versions wrote it.
    fn old_line() -> String {
        let rest = format!(r#""kind":"task","prev":"{GENESIS}","run":"r-1","seq":1,"ts":"{TS}","v":1}}"#);
        let hash = hash_texts(&[r#"{"body":{},"#, &rest]);
        format!(r#"{{"body":{{}},"hash":"{hash}",{rest}"#)
    }

    fn example() -> Record {
        serde_json::from_str(&line()).unwrap()
    }

    #[test]
    fn a_line_is_the_canonical_json_of_the_whole_record() {
        let record = example();
        let whole = serde_json::to_value(&record).unwrap();
        assert_eq!(line(), write_canonical(&whole).unwrap());
        insta::assert_snapshot!(line(), @r#"{"body":{"a":"é\n","b":[1,2.5,null]},"body_salt":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","body_sha256":"sha256:731fd92cca7227cc9cd9f5390d83eba6daae8dddbc6e61884f5ace296a81fc00","hash":"sha256:c0b4c3600d05b7f34c341a2f502a90d289e4916af7e2bcdc2cde5d81063311e1","kind":"task","prev":"sha256:0000000000000000000000000000000000000000000000000000000000000000","run":"r-1","seq":1,"ts":"2026-11-21T09:14:00.000Z","v":2}"#);
    }

    #[test]
    fn a_hash_covers_the_digest_of_the_body_and_its_salt_in_place_of_both() {
        let record = example();
        let body = json!({ "body": record.body, "body_salt": record.body_salt });
        let stated = hash_bytes(write_canonical(&body).unwrap().as_bytes());
        assert_eq!(record.body_sha256, Some(stated));
        let mut whole = serde_json::to_value(&record).unwrap();
        for name in ["hash", "body", "body_salt"] {
            whole.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(
            record.hash,
            hash_bytes(write_canonical(&whole).unwrap().as_bytes())
        );
    }

    #[test]
    fn a_line_of_versions_before_is_read_and_says_so() {
        let record = Record::parse(old_line().as_bytes()).unwrap();
        assert_eq!((record.v, record.body_salt, record.body_sha256), (1, None, None));
        for (from, to) in [
            ("\"v\":1", "\"v\":2"),
            ("\"body\":{}", "\"body\":[]"),
            ("task", "undo"),
            ("\"hash\"", "\"body_salt\":null,\"hash\""),
        ] {
            assert_eq!(
                Record::parse(old_line().replace(from, to).as_bytes()),
                None,
                "{to}"
            );
        }
    }

    #[test]
    fn every_salt_is_another() {
        let [one, two] = [new_salt().unwrap(), new_salt().unwrap()];
        assert!(is_salt(&one) && is_salt(&two) && one != two);
    }

    #[test]
    fn a_line_that_says_the_same_in_other_bytes_is_not_genuine() {
        let line = line();
        assert_eq!(Record::parse(line.as_bytes()), Some(example()));
        for other in [
            line.replacen("\"body\":", "\"body\": ", 1),
            format!("{line} "),
            line.replacen("2.5", "2.50", 1),
            line.replacen("0a0a", "0b0a", 1),
            line.replacen("0a0a", "0A0a", 1),
            line.replacen("\"v\":2", "\"v\":1", 1),
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
