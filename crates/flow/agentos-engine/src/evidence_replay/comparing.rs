//! Comparison of a recorded station with its replay.
//!
//! Owns: finding and wording the first difference. Never: decides which stations are compared.

use agentos_api::Difference;
use serde::Serialize;
use serde_json::Value;

/// Progress of the replay of a run.
#[derive(Default)]
pub(super) struct ReplayProgress {
    /// The stations that were derived again, in order.
    pub(super) stations: Vec<String>,
    /// Results that differ from the recorded ones.
    pub(super) differences: Vec<Difference>,
}

impl ReplayProgress {
    /// Notes a difference. `None` means that this side has no value.
    pub(super) fn note_difference(
        &mut self,
        station: &str,
        what: &str,
        recorded: Option<String>,
        replayed: Option<String>,
    ) {
        let none = || "nothing".to_owned();
        self.differences.push(Difference {
            station: station.to_owned(),
            what: what.to_owned(),
            recorded: recorded.unwrap_or_else(none),
            replayed: replayed.unwrap_or_else(none),
        });
    }

    /// Compares a recorded text with a new one, and notes a difference. `None` means that this side has no value.
    pub(super) fn compare_text(
        &mut self,
        station: &str,
        what: &str,
        recorded: Option<String>,
        now: Option<&str>,
    ) {
        if recorded.as_deref() != now {
            self.note_difference(station, what, recorded, now.map(str::to_owned));
        }
    }

    /// Compares a recorded value with a new one, and notes the first difference.
    ///
    /// # Errors
    /// If the new value cannot be written as JSON.
    pub(super) fn compare_value<T: Serialize>(
        &mut self,
        station: &str,
        name: &str,
        recorded: Option<&Value>,
        now: &T,
    ) -> Result<(), String> {
        let now = serde_json::to_value(now).map_err(|error| error.to_string())?;
        // The tape keeps values without secrets, so the new value is compared in the same form.
        let now = agentos_evidence::remove_secrets(now).map_err(|error| error.to_string())?;
        let recorded = recorded.unwrap_or(&Value::Null);
        if let Some((at, recorded, now)) = first_difference(recorded, &now, name.to_owned()) {
            self.note_difference(station, &at, Some(recorded), Some(now));
        }
        Ok(())
    }
}

/// Returns the first place where two values differ, and both sides. `None` if they are equal.
fn first_difference(one: &Value, other: &Value, at: String) -> Option<(String, String, String)> {
    if one == other {
        return None;
    }
    let deeper = match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let names = ones
                .keys()
                .chain(others.keys().filter(|name| !ones.contains_key(*name)));
            names
                .filter_map(|name| {
                    let (one, other) = (ones.get(name), others.get(name));
                    first_difference(
                        one.unwrap_or(&Value::Null),
                        other.unwrap_or(&Value::Null),
                        format!("{at}/{name}"),
                    )
                })
                .next()
        }
        (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => ones
            .iter()
            .zip(others)
            .enumerate()
            .find_map(|(index, (one, other))| first_difference(one, other, format!("{at}/{index}"))),
        _ => None,
    };
    deeper.or_else(|| Some((at, shorten_value(one), shorten_value(other))))
}

fn shorten_value(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 200 {
        return text;
    }
    text.chars().take(200).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_place_that_differs_is_named() {
        let cases = [
            (json!({ "a": [1, 2] }), json!({ "a": [1, 2] }), None),
            (json!({ "a": [1, 2] }), json!({ "a": [1, 3] }), Some("x/a/1")),
            (json!({ "a": [1] }), json!({ "a": [1, 3] }), Some("x/a")),
            (json!({ "a": 1 }), json!({ "a": 1, "b": 2 }), Some("x/b")),
            (json!(1), json!("1"), Some("x")),
        ];
        for (one, other, expected) in cases {
            let found = first_difference(&one, &other, "x".to_owned()).map(|(at, _, _)| at);
            assert_eq!(found.as_deref(), expected);
        }
    }
}
