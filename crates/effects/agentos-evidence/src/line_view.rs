//! A checked view of a line of the tape, without parsing its body.
//!
//! Owns: finding the members of a line and checking its hash. Never: accepts a line that [`Record::parse`] would refuse.
//!
//! Verification reads every line of the tape, and most bodies need not be parsed. In canonical JSON (RFC 8785) the members
//! of a record have one order and one spelling, so they are found by the text between them.

use agentos_chain::{
    MAX_NESTING, hash_body, hash_texts, measure_nesting, parse_hash, skip_canonical, write_canonical,
};
use serde_json::Value;

use crate::record::{MAX_LINE, RecordForm, fields_fit, is_plain, is_salt};
use crate::{EvidenceError, Record, RecordKind};

/// Members of a genuine line, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineView<'a> {
    pub form: RecordForm,
    pub seq: u64,
    pub kind: RecordKind,
    pub run: &'a str,
    pub ts: &'a str,
    pub prev: &'a str,
    pub hash: &'a str,
    body: &'a str,
    /// Salt and digest of the body. `None` in form 1. The salt is empty if the body was left out.
    sealed: Option<(&'a str, &'a str)>,
    /// True if the body was left out of a redacted copy.
    pub withheld: bool,
}

/// Members after the hash, borrowed from the line.
struct LineMembers<'a> {
    kind: RecordKind,
    prev: &'a str,
    run: &'a str,
    seq: u64,
    ts: &'a str,
}

impl<'a> LineView<'a> {
    /// Parses a line. `None` if it is not canonical JSON or its hash does not match.
    pub fn parse_line(line: &'a [u8]) -> Option<Self> {
        let text = text_of(line)?;
        let inside = text.strip_prefix("{\"body\":")?;
        let rest = match skip_canonical(inside.as_bytes()) {
            Some(after) => after.len(),
            // The fast scanner does not judge `\u` escapes, names beyond ASCII and numbers that are no small integers.
            None => after_any_value(inside)?,
        };
        let (body, rest) = inside.split_at_checked(inside.len().checked_sub(rest)?)?;
        let Some(rest) = rest.strip_prefix(",\"body_salt\":\"") else {
            return Self::of_first_form(body, rest.strip_prefix(",\"hash\":\"")?);
        };
        let (salt, rest) = split_at_mark(rest, "\",\"body_sha256\":\"")?;
        let (stated, rest) = split_at_mark(rest, "\",\"hash\":\"")?;
        // The record's hash covers only the stated digest of the body, so the body is compared with that digest here.
        // Without this a body could be replaced and every hash of the chain would still match.
        let genuine = is_salt(salt) && hash_body(body, salt) == stated;
        let found = Self::of_second_form(stated, rest).filter(|_| genuine)?;
        Some(Self {
            body,
            sealed: Some((salt, stated)),
            withheld: false,
            ..found
        })
    }

    fn of_first_form(body: &'a str, rest: &'a str) -> Option<Self> {
        let (hash, rest) = split_at_mark(rest, "\",\"kind\":\"")?;
        let members = LineMembers::read(rest, RecordForm::CoversBody)?;
        parse_hash(hash)?;
        // The line without its member `hash`, as `RecordForm` defines it. The parts are hashed without joining them.
        let covered = ["{\"body\":", body, ",\"kind\":\"", rest];
        (hash_texts(&covered) == hash).then(|| members.into_view(RecordForm::CoversBody, hash, body))
    }

    /// Reads the members that follow the body's digest. `None` if they are not canonical or the hash does not match.
    fn of_second_form(body_sha256: &'a str, rest: &'a str) -> Option<Self> {
        let (hash, rest) = split_at_mark(rest, "\",\"kind\":\"")?;
        let members = LineMembers::read(rest, RecordForm::CoversBodyDigest)?;
        parse_hash(hash)?;
        parse_hash(body_sha256)?;
        let covered = ["{\"body_sha256\":\"", body_sha256, "\",\"kind\":\"", rest];
        let genuine = hash_texts(&covered) == hash && fields_fit(members.run, members.ts);
        genuine.then(|| Self {
            sealed: Some(("", body_sha256)),
            withheld: true,
            ..members.into_view(RecordForm::CoversBodyDigest, hash, "null")
        })
    }

    /// Parses a line of a redacted copy whose body was left out. In form 2 its hash is checked. In form 1 it cannot be
    /// checked, and only the link of the next record proves anything about it. `None` for any other line, and for a kind of
    /// record whose body a redacted copy keeps.
    pub fn parse_withheld(line: &'a [u8]) -> Option<Self> {
        let text = text_of(line)?;
        let found = match text.strip_prefix("{\"body_sha256\":\"") {
            Some(rest) => {
                let (stated, rest) = split_at_mark(rest, "\",\"hash\":\"")?;
                Self::of_second_form(stated, rest)?
            }
            None => Self::of_withheld_first_form(text)?,
        };
        found.kind.quotes_content().then_some(found)
    }

    fn of_withheld_first_form(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("{\"hash\":\"")?;
        let (hash, rest) = split_at_mark(rest, "\",\"kind\":\"")?;
        let (kind, rest) = split_at_mark(rest, "\",\"prev\":\"")?;
        let (prev, rest) = split_at_mark(rest, "\",\"redacted\":true,\"run\":\"")?;
        let (run, rest) = split_at_mark(rest, "\",\"seq\":")?;
        let (seq, ts) = split_at_mark(rest, ",\"ts\":\"")?;
        let members = LineMembers {
            kind: RecordKind::from_word(kind)?,
            prev,
            run,
            seq: number_of(seq)?,
            ts: ts.strip_suffix("\",\"v\":1}")?,
        };
        parse_hash(hash)?;
        let plain = [prev, run, members.ts].into_iter().all(is_plain);
        plain.then(|| Self {
            withheld: true,
            ..members.into_view(RecordForm::CoversBody, hash, "null")
        })
    }

    /// Writes the line without its body, for a redacted copy.
    pub fn without_body(&self) -> String {
        let (hash, kind, prev) = (self.hash, self.kind.as_str(), self.prev);
        let (run, seq, ts) = (self.run, self.seq, self.ts);
        match self.sealed {
            Some((_, stated)) => format!(
                "{{\"body_sha256\":\"{stated}\",\"hash\":\"{hash}\",\"kind\":\"{kind}\",\"prev\":\"{prev}\",\"run\":\"{run}\",\"seq\":{seq},\"ts\":\"{ts}\",\"v\":2}}"
            ),
            None => format!(
                "{{\"hash\":\"{hash}\",\"kind\":\"{kind}\",\"prev\":\"{prev}\",\"redacted\":true,\"run\":\"{run}\",\"seq\":{seq},\"ts\":\"{ts}\",\"v\":1}}"
            ),
        }
    }

    /// Returns whether nothing proves kind, time and run: the body was left out, and the hash covers the body.
    pub fn is_unproved(&self) -> bool {
        self.withheld && self.form == RecordForm::CoversBody
    }

    /// Returns the body as text.
    pub fn body_text(&self) -> &'a str {
        self.body
    }

    /// Parses the body.
    ///
    /// # Errors
    /// When it is not valid JSON.
    pub fn parse_body(&self) -> Result<Value, EvidenceError> {
        serde_json::from_str(self.body).map_err(EvidenceError::Json)
    }

    /// Returns false if the body certainly refers to no blob, and has no member of a reference.
    pub fn may_refer(&self) -> bool {
        ["_sha256\":\"sha256:", "\"body_sha256\":", "\"body_bytes\":"]
            .iter()
            .any(|member| self.body.contains(member))
    }

    /// Builds the whole record.
    ///
    /// # Errors
    /// When the body is not valid JSON.
    pub fn build_record(&self) -> Result<Record, EvidenceError> {
        Ok(Record {
            body: self.parse_body()?,
            ..self.build_header()
        })
    }

    /// Builds the record with a null body, for readers that need none of it.
    pub fn build_header(&self) -> Record {
        Record {
            v: self.form.version_number(),
            seq: self.seq,
            ts: self.ts.to_owned(),
            run: self.run.to_owned(),
            kind: self.kind,
            body: Value::Null,
            body_salt: self.sealed.map(|(salt, _)| salt.to_owned()),
            body_sha256: self.sealed.map(|(_, stated)| stated.to_owned()),
            prev: self.prev.to_owned(),
            hash: self.hash.to_owned(),
        }
    }
}

impl<'a> LineMembers<'a> {
    /// Reads the members after the hash, from the value of `kind` on. `None` if a member is missing, is not in its place or
    /// needs escaping, or if the version is that of the other form.
    fn read(rest: &'a str, form: RecordForm) -> Option<Self> {
        let (kind, rest) = split_at_mark(rest, "\",\"prev\":\"")?;
        let (prev, rest) = split_at_mark(rest, "\",\"run\":\"")?;
        let (run, rest) = split_at_mark(rest, "\",\"seq\":")?;
        let (seq, rest) = split_at_mark(rest, ",\"ts\":\"")?;
        let (ts, rest) = split_at_mark(rest, "\",\"v\":")?;
        let version = match form {
            RecordForm::CoversBody => "1}",
            RecordForm::CoversBodyDigest => "2}",
        };
        // A member that needs escaping has a second spelling, and could hide one of the marks that end a member.
        if rest != version || ![prev, run, ts].into_iter().all(is_plain) {
            return None;
        }
        Some(Self {
            kind: RecordKind::from_word(kind)?,
            prev,
            run,
            seq: number_of(seq)?,
            ts,
        })
    }

    fn into_view(self, form: RecordForm, hash: &'a str, body: &'a str) -> LineView<'a> {
        LineView {
            form,
            seq: self.seq,
            kind: self.kind,
            run: self.run,
            ts: self.ts,
            prev: self.prev,
            hash,
            body,
            sealed: None,
            withheld: false,
        }
    }
}

/// Returns the text of a line. `None` if it is too long or not UTF-8.
fn text_of(line: &[u8]) -> Option<&str> {
    (line.len() <= MAX_LINE).then(|| std::str::from_utf8(line).ok())?
}

/// Parses the number of a record. `None` if it is not written as canonical JSON, or some readers would round it.
fn number_of(text: &str) -> Option<u64> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|seq| canonical && *seq < 1 << 53)
}

/// Splits a text at the first occurrence of the mark's first byte. `None` if the rest of the mark does not follow there.
fn split_at_mark<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let first = mark.bytes().next()?;
    let at = text.bytes().position(|b| b == first)?;
    let (before, rest) = text.split_at_checked(at)?;
    Some((before, rest.strip_prefix(mark)?))
}

/// Returns the number of bytes after the JSON value at the start of `text`, by parsing it. `None` if it is not canonical.
fn after_any_value(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    let canonical = write_canonical(&value).ok()?;
    let genuine = text.get(..end)? == canonical && measure_nesting(&value) <= MAX_NESTING;
    genuine.then_some(text.len() - end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::record::GENESIS;

    fn line() -> String {
        let body = json!({ "b": [1, 2.5, null], "é": "x\u{1}\n", "c": { "d_sha256": GENESIS } });
        let ts = "2026-11-21T09:14:00.000Z";
        let body = write_canonical(&body).unwrap();
        Record::seal_line(
            7,
            GENESIS,
            "r-1",
            RecordKind::Answer,
            (&body, &"5".repeat(32)),
            ts,
        )
        .line
    }

    /// A record that earlier versions wrote.
    fn old_line() -> String {
        let rest = format!(r#""kind":"task","prev":"{GENESIS}","run":"r","seq":1,"ts":"t","v":1}}"#);
        let hash = hash_texts(&[r#"{"body":{"b":[1,2.5,null]},"#, &rest]);
        format!(r#"{{"body":{{"b":[1,2.5,null]}},"hash":"{hash}",{rest}"#)
    }

    fn quoting_line() -> String {
        let salt = "5".repeat(32);
        Record::seal_line(1, GENESIS, "r-1", RecordKind::Task, ("{}", &salt), "t").line
    }

    #[test]
    fn a_genuine_line_is_taken_apart() {
        let line = line();
        let view = LineView::parse_line(line.as_bytes()).unwrap();
        assert_eq!(Some(view.build_record().unwrap()), Record::parse(line.as_bytes()));
        assert_eq!((view.seq, view.kind, view.run), (7, RecordKind::Answer, "r-1"));
        assert!(view.may_refer());
    }

    #[test]
    fn a_line_sealed_in_other_bytes_is_not_genuine() {
        // The hash fits these bytes, but they are not the canonical ones.
        let inside = "{\"a\": 1}";
        let rest = format!(
            "\"kind\":\"task\",\"prev\":\"{GENESIS}\",\"run\":\"r\",\"seq\":1,\"ts\":\"t\",\"v\":1}}"
        );
        let hash = hash_texts(&["{\"body\":", inside, ",", &rest]);
        let line = format!("{{\"body\":{inside},\"hash\":\"{hash}\",{rest}");
        assert_eq!(LineView::parse_line(line.as_bytes()), None);
        assert_eq!(Record::parse(line.as_bytes()), None);
    }

    #[test]
    fn a_line_without_its_body_is_proved_in_form_2_and_not_in_form_1() {
        for (line, proved) in [(quoting_line(), true), (old_line(), false)] {
            let whole = LineView::parse_line(line.as_bytes()).unwrap();
            assert!(!whole.is_unproved());
            let short = whole.without_body();
            assert_eq!(LineView::parse_line(short.as_bytes()), None, "{short}");
            let view = LineView::parse_withheld(short.as_bytes()).unwrap();
            assert_eq!(
                (view.hash, view.seq, view.kind, view.is_unproved()),
                (whole.hash, whole.seq, whole.kind, !proved)
            );
            assert_eq!(view.without_body(), short);
            let forged = short.replace("\"kind\":\"task\"", "\"kind\":\"undo\"");
            assert_eq!(LineView::parse_withheld(forged.as_bytes()).is_none(), proved);
        }
        let kept = LineView::parse_line(line().as_bytes()).unwrap().without_body();
        assert_eq!(
            LineView::parse_withheld(kept.as_bytes()),
            None,
            "an answer is never left out"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn it_is_never_more_generous_than_the_parser(
            old in any::<bool>(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = if old { old_line() } else { line() }.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let view = LineView::parse_line(&bytes).map(|view| view.build_record().unwrap());
            prop_assert_eq!(view, Record::parse(&bytes));
        }

        #[test]
        fn no_changed_byte_of_a_line_without_its_body_is_accepted(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = LineView::parse_line(quoting_line().as_bytes()).unwrap().without_body().into_bytes();
            let at = at.index(bytes.len());
            prop_assume!(bytes[at] != byte);
            bytes[at] = byte;
            prop_assert_eq!(LineView::parse_withheld(&bytes), None);
        }
    }
}
