//! Joins a character that a server split over two events.
//!
//! Owns: the escapes of surrogates in JSON. Never: changes an event that is valid JSON.
//!
//! Servers that write JSON with escapes cut an answer between the two halves of a character: `"\ud83d"` in one event and `"\ude00"`
//! in the next one. Neither is valid JSON on its own.

use serde_json::Value;

/// Replacement for a half whose other half never came.
const LOST: &str = "\\ufffd";
/// Character of the replacement.
pub(crate) const LOST_CHARACTER: &str = "\u{fffd}";

/// First half of a character, from the last event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SplitCharacter(Option<u16>);

impl SplitCharacter {
    /// Returns true if the first half of a character waits for its second half.
    pub(crate) fn is_open(self) -> bool {
        self.0.is_some()
    }

    /// Gives up the half that waits.
    pub(crate) fn give_up(&mut self) {
        self.0 = None;
    }

    /// Reads the JSON of an event. `None` if it is not JSON.
    pub(crate) fn read_event(&mut self, event: &str) -> Option<Value> {
        match serde_json::from_str(event) {
            Ok(json) => Some(json),
            Err(_) => serde_json::from_str(&self.join_halves(event)?).ok(),
        }
    }

    /// Returns the event with whole characters. `None` if it contains no half of one.
    fn join_halves(&mut self, event: &str) -> Option<String> {
        let mut joined = String::new();
        let mut rest = event;
        let mut has_half = false;
        while let Some(at) = rest.find('\\') {
            let (front, escape) = rest.split_at(at);
            joined.push_str(front);
            let unit = read_unit(escape);
            let (length, written) = match unit {
                Some(high @ 0xD800..=0xDBFF) => match escape.get(6..).and_then(read_unit) {
                    Some(0xDC00..=0xDFFF) => (12, escape.get(..12)?.to_owned()),
                    // Only the end of a text can go on in the next event.
                    _ if escape.get(6..).is_some_and(|rest| rest.starts_with('"')) => {
                        has_half = true;
                        let earlier = self.0.replace(high);
                        (6, earlier.map_or_else(String::new, |_| LOST.to_owned()))
                    }
                    _ => {
                        has_half = true;
                        (6, LOST.to_owned())
                    }
                },
                Some(low @ 0xDC00..=0xDFFF) => {
                    has_half = true;
                    (
                        6,
                        self.0
                            .take()
                            .map_or_else(|| LOST.to_owned(), |high| format!("\\u{high:04x}\\u{low:04x}")),
                    )
                }
                // Another escape of two characters, such as `\\` or `\"`.
                Some(_) | None => {
                    let length = 1 + escape.chars().nth(1).map_or(0, char::len_utf8);
                    (length, escape.get(..length)?.to_owned())
                }
            };
            joined.push_str(&written);
            rest = escape.get(length..).unwrap_or_default();
        }
        joined.push_str(rest);
        has_half.then_some(joined)
    }
}

fn read_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_character_are_joined_and_other_events_stay() {
        let read = |events: &[&str]| {
            let mut split = SplitCharacter::default();
            let texts = events.iter().map(|event| match split.read_event(event) {
                Some(json) => json.to_string(),
                None => "no JSON".to_owned(),
            });
            texts.collect::<Vec<_>>().join(" ")
        };
        let cases: [(&[&str], &str); 8] = [
            (
                &[r#"{"a":"x\ud83d"}"#, r#"{"a":"\ude00y"}"#],
                "{\"a\":\"x\"} {\"a\":\"\u{1f600}y\"}",
            ),
            (
                &[r#"{"a":"\ud83d"}"#, r#"{"b":"z"}"#, r#"{"a":"\uDE00"}"#],
                "{\"a\":\"\"} {\"b\":\"z\"} {\"a\":\"\u{1f600}\"}",
            ),
            (&[r#"{"a":"\ude00"}"#], "{\"a\":\"\u{fffd}\"}"),
            (
                &[r#"{"a":"\ud83d\ude00 \\ud83d \n"}"#],
                "{\"a\":\"\u{1f600} \\\\ud83d \\n\"}",
            ),
            (&[r#"{"a":"\\\ud83d"}"#], r#"{"a":"\\"}"#),
            (&[r#"{"a":"\ud83dx"}"#], "{\"a\":\"\u{fffd}x\"}"),
            (
                &[r#"{"a":"\ud83d"}"#, r#"{"a":"\ud83d"}"#, r#"{"a":"\ude00"}"#],
                "{\"a\":\"\"} {\"a\":\"\u{fffd}\"} {\"a\":\"\u{1f600}\"}",
            ),
            (&[r#"{"a":"\ud83d"#, "x"], "no JSON no JSON"),
        ];
        for (events, wanted) in cases {
            assert_eq!(read(events), wanted, "{events:?}");
        }
    }
}
