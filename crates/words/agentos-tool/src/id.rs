//! Identifiers and points in time, as validated strings.
//!
//! Owns: the written forms of a run id, an endpoint and a time. Never: reads a clock or draws a random number; callers pass
//! both as values.

use std::fmt;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Id of a run, as in `20261121T091400Z-1a2b3c4d`. Sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Creates a run id from the time at which the run began and 32 random bits.
    #[must_use]
    pub fn new(at: &Timestamp, random: u32) -> Self {
        let digits: String = at
            .as_str()
            .chars()
            // The 19 characters before the fraction: `2026-11-21T09:14:00`.
            .take(19)
            .filter(|c| !matches!(c, '-' | ':'))
            .collect();
        // Eight digits always: the short id is this part alone, and has one length.
        Self(format!("{digits}Z-{random:08x}"))
    }

    /// Parses an id that a person typed or a record contains. `None` if it is not 1 to 64 ASCII letters, digits, `-`, `_` or `.`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // A run id is a part of file names, so it must not contain a separator of paths.
        let fits = (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the short id, for people: the random part.
    #[must_use]
    pub fn short_id(&self) -> &str {
        short_run(&self.0)
    }
}

/// Returns the short id of a run, for people: the random part of `TIME-RANDOM`. An id of another form is returned whole.
#[must_use]
pub fn short_run(id: &str) -> &str {
    // Ids of earlier tapes and of tests have other forms, and cutting those could leave nothing.
    match id.rsplit_once('-') {
        Some((_, random)) if random.len() == 8 && random.bytes().all(|b| b.is_ascii_hexdigit()) => random,
        Some(_) | None => id,
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Point in time in RFC 3339, UTC, with milliseconds, as in `2026-11-21T09:14:00.000Z`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Timestamp(String);

/// Failure to parse a text as an RFC 3339 time.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a time such as 2026-11-21T09:14:00.000Z")]
pub struct TimestampError(String);

/// Last second that RFC 3339 can write: 9999-12-31T23:59:59Z. Its years have four digits (section 5.6).
const LAST_SECOND: u64 = 253_402_300_799;

impl Timestamp {
    /// Returns the point in time that a clock showed, moved into 1970 to 9999 if it lies outside.
    ///
    /// A machine whose clock battery is empty starts before 1970, and `humantime` panics on such a time and on years
    /// of five digits. A wrong clock must not stop a landing: git and the record take the nearest time there is.
    #[must_use]
    pub fn from_system(at: SystemTime) -> Self {
        let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let last = Duration::from_millis(LAST_SECOND * 1000 + 999);
        Self(humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since.min(last)).to_string())
    }

    /// Parses a time.
    ///
    /// # Errors
    /// Fails if the text is not a time in RFC 3339.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        humantime::parse_rfc3339(text)
            .map(Self::from_system)
            // The text may come from a damaged record of any length.
            .map_err(|_| TimestampError(text.chars().take(40).collect()))
    }

    /// Returns whole seconds since 1970-01-01T00:00:00Z, or 0 for an earlier time.
    #[must_use]
    pub fn unix_seconds(&self) -> i64 {
        humantime::parse_rfc3339(&self.0)
            .ok()
            .and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok())
            .and_then(|since| i64::try_from(since.as_secs()).ok())
            .unwrap_or(0)
    }

    /// Returns the time `seconds` after 1970-01-01T00:00:00Z, at most the last second of 9999.
    #[must_use]
    pub fn from_unix_seconds(seconds: u64) -> Self {
        Self::from_system(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(LAST_SECOND)))
    }

    /// Returns the time as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Address of a server as `host:port`. Cannot contain a scheme, user, path or query, so it can be recorded and shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Endpoint(String);

impl Endpoint {
    /// Creates an endpoint. Removes characters that cannot occur in a host name or address.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Self {
        let host: String = host
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'))
            .collect();
        Self(format!("{host}:{port}"))
    }

    /// Returns the endpoint as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_the_time_and_eight_hex_digits() {
        let at = Timestamp::from_unix_seconds(1_795_252_440);
        assert_eq!(at.as_str(), "2026-11-21T09:14:00.000Z");
        assert_eq!(RunId::new(&at, 0x1a2b).as_str(), "20261121T091400Z-00001a2b");
    }

    #[test]
    fn a_typed_run_id_holds_no_path_and_no_blank() {
        for bad in ["", "../x", "a b", "a/b", &"x".repeat(65)] {
            assert_eq!(RunId::parse(bad), None, "{bad}");
        }
        assert!(RunId::parse("20261121T091400Z-00001a2b").is_some());
        for (id, short) in [
            ("20261121T091400Z-00001a2b", "00001a2b"),
            ("r-1", "r-1"),
            ("run", "run"),
        ] {
            assert_eq!(short_run(id), short);
        }
    }

    #[test]
    fn time_is_read_back_as_it_was_written() {
        let at = Timestamp::from_unix_seconds(1_795_252_440);
        assert_eq!(Timestamp::parse(at.as_str()).unwrap(), at);
        assert_eq!(at.unix_seconds(), 1_795_252_440);
        assert!(Timestamp::parse("yesterday").is_err());
    }

    #[test]
    fn a_clock_outside_of_1970_to_9999_gives_the_nearest_time() {
        let epoch = SystemTime::UNIX_EPOCH;
        let century = Duration::from_secs(100 * 365 * 86_400);
        let cases = [
            (epoch.checked_sub(century), "1970-01-01T00:00:00.000Z"),
            (
                epoch.checked_sub(Duration::from_nanos(1)),
                "1970-01-01T00:00:00.000Z",
            ),
            (
                epoch.checked_add(Duration::from_secs(LAST_SECOND + 1)),
                "9999-12-31T23:59:59.999Z",
            ),
            (epoch.checked_add(century * 5_000), "9999-12-31T23:59:59.999Z"),
        ];
        for (at, expected) in cases {
            assert_eq!(Timestamp::from_system(at.unwrap()).as_str(), expected);
        }
        assert_eq!(
            Timestamp::from_unix_seconds(u64::MAX).as_str(),
            "9999-12-31T23:59:59.000Z"
        );
    }

    #[test]
    fn an_endpoint_cannot_hold_a_user_or_a_path() {
        assert_eq!(
            Endpoint::new("user@example.com/x?y", 80).as_str(),
            "userexample.comxy:80"
        );
        assert_eq!(Endpoint::new("[::1]", 8080).as_str(), "[::1]:8080");
    }
}
