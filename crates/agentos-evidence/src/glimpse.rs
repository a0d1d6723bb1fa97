//! A line of the tape at a glance: its members where they stand, and that it is genuine.
//!
//! Owns: checking a line without building its body. Never: accepts what [`Record::parse`] would not.

use serde_json::Value;

use crate::record::{MAX_LINE, VERSION, digest_of, hex_of};
use crate::{EvidenceError, Record, RecordKind, canonical};

/// The members of a genuine line, borrowed from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glimpse<'a> {
    pub seq: u64,
    pub kind: RecordKind,
    pub run: &'a str,
    pub ts: &'a str,
    pub prev: &'a str,
    pub hash: &'a str,
    body: &'a str,
    /// The body was left out of a redacted copy: the hash is only what the copy says it is.
    pub withheld: bool,
}

impl<'a> Glimpse<'a> {
    /// The line's members, if the line is canonical JSON and its hash fits.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        if line.len() > MAX_LINE {
            return None;
        }
        let text = std::str::from_utf8(line).ok()?;
        let inside = text.strip_prefix("{\"body\":")?;
        let rest = match canonical::after_value(inside.as_bytes()) {
            Some(after) => after.len(),
            None => after_any_value(inside)?,
        };
        let (body, rest) = inside.split_at_checked(inside.len().checked_sub(rest)?)?;
        let rest = rest.strip_prefix(",\"hash\":\"")?;
        let (hash, members) = until(rest, "\",\"kind\":\"")?;
        let (kind, rest) = until(members, "\",\"prev\":\"")?;
        let (prev, rest) = until(rest, "\",\"run\":\"")?;
        let (run, rest) = until(rest, "\",\"seq\":")?;
        let (seq, rest) = until(rest, ",\"ts\":\"")?;
        let (ts, rest) = until(rest, "\",\"v\":")?;
        let plain = |text: &str| {
            text.bytes()
                .fold(true, |plain, b| plain & (b >= b' ') & (b != b'"') & (b != b'\\'))
        };
        let sound = rest.strip_suffix('}')? == VERSION.to_string()
            && [hash, prev, run, ts].into_iter().all(plain)
            && hex_of(hash).is_some()
            && (seq == "0" || !seq.starts_with(['0', '+']));
        if !sound {
            return None;
        }
        let without_hash = ["{\"body\":", body, ",\"kind\":\"", members];
        (digest_of(&without_hash) == hash).then_some(())?;
        Some(Self {
            seq: seq.parse().ok().filter(|seq| *seq < 1 << 53)?,
            kind: RecordKind::from_word(kind)?,
            run,
            ts,
            prev,
            hash,
            body,
            withheld: false,
        })
    }

    /// The members of a line of a redacted copy whose body was left out.
    pub fn of_withheld(line: &'a [u8]) -> Option<Self> {
        let rest = std::str::from_utf8(line).ok()?.strip_prefix("{\"hash\":\"")?;
        let (hash, rest) = rest.split_once("\",\"kind\":\"")?;
        let (kind, rest) = rest.split_once("\",\"prev\":\"")?;
        let (prev, rest) = rest.split_once("\",\"redacted\":true,\"run\":\"")?;
        let (run, rest) = rest.split_once("\",\"seq\":")?;
        let (seq, rest) = rest.split_once(",\"ts\":\"")?;
        let ts = rest.strip_suffix("\",\"v\":1}")?;
        let found = Self {
            seq: seq.parse().ok()?,
            kind: RecordKind::from_word(kind).filter(|kind| kind.quotes())?,
            run,
            ts,
            prev,
            hash,
            body: "null",
            withheld: true,
        };
        let plain = |text: &str| !text.bytes().any(|b| b < b' ' || matches!(b, b'"' | b'\\'));
        let sound = hex_of(hash).is_some() && [prev, run, ts].into_iter().all(plain);
        (sound && found.withheld().as_bytes() == line).then_some(found)
    }

    /// The line without its body, for a redacted copy.
    pub fn withheld(&self) -> String {
        let (hash, kind, prev) = (self.hash, self.kind.as_str(), self.prev);
        let (run, seq, ts) = (self.run, self.seq, self.ts);
        format!(
            "{{\"hash\":\"{hash}\",\"kind\":\"{kind}\",\"prev\":\"{prev}\",\"redacted\":true,\"run\":\"{run}\",\"seq\":{seq},\"ts\":\"{ts}\",\"v\":1}}"
        )
    }

    /// The body as it stands on the line.
    pub fn body_text(&self) -> &'a str {
        self.body
    }

    /// The body, read.
    pub fn body(&self) -> Result<Value, EvidenceError> {
        serde_json::from_str(self.body).map_err(|error| EvidenceError::Json(error.to_string()))
    }

    /// May the body refer to a blob? False is certain.
    pub fn may_refer(&self) -> bool {
        self.body.contains("_sha256\":\"sha256:")
    }

    /// The whole record.
    pub fn record(&self) -> Result<Record, EvidenceError> {
        Ok(Record {
            v: VERSION,
            seq: self.seq,
            ts: self.ts.to_owned(),
            run: self.run.to_owned(),
            kind: self.kind,
            body: self.body()?,
            prev: self.prev.to_owned(),
            hash: self.hash.to_owned(),
        })
    }
}

/// What stands before and after a mark, where nothing before it may hold the mark's first byte.
fn until<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let first = mark.bytes().next()?;
    let at = text.bytes().position(|b| b == first)?;
    let (before, rest) = text.split_at_checked(at)?;
    Some((before, rest.strip_prefix(mark)?))
}

/// Bytes left after the JSON value at the start of `text`, if it is canonical: the slow way.
fn after_any_value(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    let canonical = canonical::text(&value).ok()?;
    (text.get(..end)? == canonical).then_some(text.len() - end)
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
        let body = canonical::text(&body).unwrap();
        Record::sealed(7, GENESIS, "r-1", RecordKind::Answer, &body, ts).line
    }

    #[test]
    fn a_genuine_line_is_taken_apart() {
        let line = line();
        let glimpse = Glimpse::of(line.as_bytes()).unwrap();
        assert_eq!(Some(glimpse.record().unwrap()), Record::parse(line.as_bytes()));
        assert_eq!(
            (glimpse.seq, glimpse.kind, glimpse.run),
            (7, RecordKind::Answer, "r-1")
        );
        assert!(glimpse.may_refer());
    }

    #[test]
    fn a_line_sealed_in_other_bytes_is_not_genuine() {
        // The hash fits these bytes, but they are not the canonical ones.
        let inside = "{\"a\": 1}";
        let rest = format!(
            "\"kind\":\"task\",\"prev\":\"{GENESIS}\",\"run\":\"r\",\"seq\":1,\"ts\":\"t\",\"v\":1}}"
        );
        let hash = digest_of(&["{\"body\":", inside, ",", &rest]);
        let line = format!("{{\"body\":{inside},\"hash\":\"{hash}\",{rest}");
        assert_eq!(Glimpse::of(line.as_bytes()), None);
        assert_eq!(Record::parse(line.as_bytes()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn it_is_never_more_generous_than_the_parser(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = line().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let glimpse = Glimpse::of(&bytes).map(|glimpse| glimpse.record().unwrap());
            prop_assert_eq!(glimpse, Record::parse(&bytes));
        }
    }
}
