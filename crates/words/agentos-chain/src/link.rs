//! One record of a chain: its hash, its line, and the check that it follows another.
//!
//! Owns: what the hash covers, in each form. Never: knows members of a record other than those of the chain.
//!
//! | Form | `hash` is the SHA-256 of the canonical JSON of | Written as | Used by |
//! |---|---|---|---|
//! | `PlainRecord` | all members but `hash` | 64 digits | tapes of gates and of the automation |
//! | `WholeRecord` | all members but `hash` | `sha256:` and 64 digits | evidence, `"v":1` |
//! | `BodyDigest` | all members but `hash`, `body` and `body_salt` | `sha256:` and 64 digits | evidence, `"v":2` |
//!
//! With `BodyDigest` the member `body_sha256` is the hash of the canonical JSON of an object with the two members `body`
//! and `body_salt`. So a copy can leave out both, and the hash still covers every other member.

use serde_json::{Map, Value, json};

use crate::canonical::write_canonical;
use crate::hash::{hash_texts, parse_hash};

/// The part of a record that its hash covers, and how the hash is written; the module's table has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkForm {
    /// The digest of the body and its salt, in place of both.
    BodyDigest,
    /// The whole record, without a name before the hash.
    PlainRecord,
    /// The whole record.
    WholeRecord,
}

/// A record that is ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRecord {
    /// Canonical JSON, without a line end.
    pub line: String,
    /// Value of the member `hash`, for the next record's `prev`.
    pub hash: String,
}

/// Reason why a line is not the next record of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    /// The line is not what a writer writes: not canonical JSON, or a hash that does not fit.
    #[error("the line is not canonical JSON, or its hash does not match")]
    Altered,
    /// The record is genuine, and was written after another one.
    #[error("the record does not follow the record before it")]
    Spliced,
}

impl LinkForm {
    /// Returns what the first record of a chain names as the hash before it.
    #[must_use]
    pub const fn genesis(self) -> &'static str {
        match self {
            Self::BodyDigest | Self::WholeRecord => {
                "sha256:0000000000000000000000000000000000000000000000000000000000000000"
            }
            Self::PlainRecord => "0000000000000000000000000000000000000000000000000000000000000000",
        }
    }

    /// Adds the member `hash` to a record, and with [`LinkForm::BodyDigest`] first `body_sha256`.
    ///
    /// # Errors
    /// If a number of the record cannot be written as canonical JSON.
    pub fn seal_record(self, mut record: Map<String, Value>) -> Result<SealedRecord, serde_json::Error> {
        if self == Self::BodyDigest {
            let digest = hash_body_members(&record)?;
            record.insert("body_sha256".to_owned(), digest.into());
        }
        let hash = self.hash_record(&record)?;
        record.insert("hash".to_owned(), hash.clone().into());
        let line = write_canonical(&Value::Object(record))?;
        Ok(SealedRecord { line, hash })
    }

    /// Parses a line, and checks that it is exactly what would be written for it, its hashes included. Returns `None` if
    /// it is not.
    #[must_use]
    pub fn verify_line(self, line: &[u8]) -> Option<Map<String, Value>> {
        let Value::Object(record) = serde_json::from_slice(line).ok()? else {
            return None;
        };
        let whole = Value::Object(record);
        // Two texts of one value would have one hash. Only the canonical text is accepted, so a line cannot be
        // altered without changing it.
        let is_canonical = write_canonical(&whole).ok()?.as_bytes() == line;
        let Value::Object(record) = whole else {
            return None;
        };
        // The record's hash covers the digest only, so the body needs a check of its own.
        let body_fits = match self {
            Self::BodyDigest => *record.get("body_sha256")? == hash_body_members(&record).ok()?,
            Self::PlainRecord | Self::WholeRecord => true,
        };
        let is_genuine =
            is_canonical && body_fits && *record.get("hash")? == self.hash_record(&record).ok()?;
        is_genuine.then_some(record)
    }

    /// Verifies a line, and that it was written after the record with the hash `previous`.
    ///
    /// # Errors
    /// If the line is not genuine, or follows another record.
    pub fn verify_link(self, line: &[u8], previous: &str) -> Result<Map<String, Value>, LinkFault> {
        let record = self.verify_line(line).ok_or(LinkFault::Altered)?;
        // Only after the line itself is genuine: an altered line may name any record before it.
        let follows = record.get("prev").is_some_and(|prev| prev == previous);
        follows.then_some(record).ok_or(LinkFault::Spliced)
    }

    /// Hashes the members that this form covers.
    fn hash_record(self, record: &Map<String, Value>) -> Result<String, serde_json::Error> {
        let mut covered = record.clone();
        // The hash cannot cover itself.
        covered.remove("hash");
        if self == Self::BodyDigest {
            covered.remove("body");
            covered.remove("body_salt");
        }
        let hash = hash_texts(&[&write_canonical(&Value::Object(covered))?]);
        Ok(match self {
            Self::BodyDigest | Self::WholeRecord => hash,
            Self::PlainRecord => parse_hash(&hash).unwrap_or_default().to_owned(),
        })
    }
}

fn hash_body_members(record: &Map<String, Value>) -> Result<String, serde_json::Error> {
    let members = json!({ "body": record.get("body"), "body_salt": record.get("body_salt") });
    Ok(hash_texts(&[&write_canonical(&members)?]))
}

/// Returns the digest of a body in canonical text and its salt, the member `body_sha256`.
#[must_use]
pub fn hash_body(body: &str, salt: &str) -> String {
    hash_texts(&["{\"body\":", body, ",\"body_salt\":\"", salt, "\"}"])
}

/// Seals a record in the form [`LinkForm::BodyDigest`] from texts, so that a large body is not parsed again. `body` is
/// canonical, `salt` needs no escapes, and `rest` is the canonical text of the members whose names come after `hash`,
/// without the brace before them and with the one after.
#[must_use]
pub fn seal_texts(body: &str, salt: &str, rest: &str) -> SealedRecord {
    let body_sha256 = hash_body(body, salt);
    // The names of the members are in canonical order (`body`, `body_salt`, `body_sha256`, `hash`, then the rest), so
    // the text can be put together without sorting.
    let hash = hash_texts(&["{\"body_sha256\":\"", &body_sha256, "\",", rest]);
    let line = format!(
        "{{\"body\":{body},\"body_salt\":\"{salt}\",\"body_sha256\":\"{body_sha256}\",\"hash\":\"{hash}\",{rest}"
    );
    SealedRecord { line, hash }
}

/// Writes the tape of a gate, record by record, in the form [`LinkForm::PlainRecord`].
#[derive(Debug, Clone)]
pub struct ChainWriter {
    run: String,
    seq: u64,
    previous: String,
}

impl ChainWriter {
    /// Begins a chain whose records name this run.
    #[must_use]
    pub fn new(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            seq: 0,
            previous: LinkForm::PlainRecord.genesis().to_owned(),
        }
    }

    /// Returns the line of the next record, with its end.
    ///
    /// # Errors
    /// If a number of the body cannot be written as canonical JSON.
    pub fn append_record(&mut self, ts: &str, kind: &str, body: Value) -> Result<String, serde_json::Error> {
        let members: [(&str, Value); 7] = [
            ("v", 1.into()),
            ("seq", self.seq.into()),
            ("ts", ts.into()),
            ("run", self.run.as_str().into()),
            ("kind", kind.into()),
            ("body", body),
            ("prev", self.previous.as_str().into()),
        ];
        let record = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        let sealed = LinkForm::PlainRecord.seal_record(record.collect())?;
        self.previous = sealed.hash;
        self.seq += 1;
        Ok(sealed.line + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [LinkForm; 3] = [LinkForm::BodyDigest, LinkForm::PlainRecord, LinkForm::WholeRecord];

    fn example(form: LinkForm) -> Map<String, Value> {
        let mut record = Map::from_iter([
            ("body".to_owned(), json!({ "b": [1, 2.5, null], "a": "é\n" })),
            ("kind".to_owned(), json!("task")),
            ("prev".to_owned(), json!(form.genesis())),
        ]);
        if form == LinkForm::BodyDigest {
            record.insert("body_salt".to_owned(), json!("0a"));
        }
        record
    }

    #[test]
    fn the_line_of_each_form_is_this() {
        let [digest, plain, whole] = FORMS.map(|form| form.seal_record(example(form)).unwrap().line);
        insta::assert_snapshot!(digest, @r#"{"body":{"a":"é\n","b":[1,2.5,null]},"body_salt":"0a","body_sha256":"sha256:15826b7ad19fe77a2dc0b1f1d6aab6bbefe0d0d4e00bb8a96a2306ced8e94d0f","hash":"sha256:a34b892437cd4eae07df85df0418e219e21fae24829049095913104133cfba51","kind":"task","prev":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}"#);
        insta::assert_snapshot!(plain, @r#"{"body":{"a":"é\n","b":[1,2.5,null]},"hash":"2f82e259dc125a9d395ae6b64b16c1845934f527553316b5795fffd45fa83eb3","kind":"task","prev":"0000000000000000000000000000000000000000000000000000000000000000"}"#);
        insta::assert_snapshot!(whole, @r#"{"body":{"a":"é\n","b":[1,2.5,null]},"hash":"sha256:dc1b8f19529c41a6c87421e8bcfade25dc6e4bb5cd1d1b2c53aa8c948c8adc6d","kind":"task","prev":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}"#);
    }

    #[test]
    fn a_gates_tape_is_this() {
        let mut writer = ChainWriter::new("a-gate");
        let first = writer
            .append_record("t0", "gate-started", json!({ "a": 1 }))
            .unwrap();
        let second = writer.append_record("t1", "check", json!([])).unwrap();
        insta::assert_snapshot!(first + &second, @r#"
        {"body":{"a":1},"hash":"14b16da35fe097aba8b2b78f6885f44a20a686093d1b1602fee42bb81d488c72","kind":"gate-started","prev":"0000000000000000000000000000000000000000000000000000000000000000","run":"a-gate","seq":0,"ts":"t0","v":1}
        {"body":[],"hash":"628d37acf9eb5941b065e047d8ed903980e2ea8fee20c9839c028792dd879803","kind":"check","prev":"14b16da35fe097aba8b2b78f6885f44a20a686093d1b1602fee42bb81d488c72","run":"a-gate","seq":1,"ts":"t1","v":1}
        "#);
    }

    #[test]
    fn a_record_sealed_from_texts_is_the_same() {
        let record = example(LinkForm::BodyDigest);
        let body = write_canonical(&record["body"]).unwrap();
        let prev = LinkForm::BodyDigest.genesis();
        let rest = format!("\"kind\":\"task\",\"prev\":\"{prev}\"}}");
        let sealed = seal_texts(&body, "0a", &rest);
        assert_eq!(sealed, LinkForm::BodyDigest.seal_record(record).unwrap());
    }

    #[test]
    fn a_line_is_genuine_in_its_own_form_and_bytes_alone() {
        for form in FORMS {
            let SealedRecord { line, hash } = form.seal_record(example(form)).unwrap();
            let record = form.verify_link(line.as_bytes(), form.genesis()).unwrap();
            assert_eq!(record["hash"], hash);
            assert_eq!(form.verify_link(line.as_bytes(), &hash), Err(LinkFault::Spliced));
            for other in FORMS.into_iter().filter(|other| *other != form) {
                assert_eq!(other.verify_line(line.as_bytes()), None, "{form:?} as {other:?}");
            }
            for (from, to) in [
                ("\"body\":", "\"body\": "),
                ("2.5", "2.50"),
                ("2.5", "2.6"),
                ("task", "undo"),
                ("\"kind\"", "\"kine\""),
                ("\"prev\":\"", "\"prev\":\"1"),
            ] {
                let altered = line.replacen(from, to, 1);
                let found = form.verify_link(altered.as_bytes(), form.genesis());
                assert_eq!(found, Err(LinkFault::Altered), "{form:?}: {altered}");
            }
        }
    }

    #[test]
    fn a_salt_is_covered_by_the_digest_of_the_body() {
        let form = LinkForm::BodyDigest;
        let line = form.seal_record(example(form)).unwrap().line;
        let other = line.replacen("\"0a\"", "\"0b\"", 1);
        assert_eq!(form.verify_line(other.as_bytes()), None);
    }
}
