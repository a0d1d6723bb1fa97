//! Limits of the entries of another program, as budgets here.
//!
//! Owns: which fields are limits. Never: sets a budget; the host does.
//!
//! | field | program | budget |
//! |---|---|---|
//! | `daily_limit`, with `scope` | a bot | calls a day, for each guild or channel that `scope` names |
//! | `rpm`, `tpm` | LiteLLM | calls and tokens a minute |
//! | `max_budget` with `budget_duration` | LiteLLM | US dollars an hour, a day, a week or a month |

use serde_json::Value;

use super::text_of;

/// Limit of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedLimit {
    /// Alias of the member.
    pub alias: String,
    /// Amount with its period, as in `50calls/day`.
    pub amount: String,
    /// Calls that share the amount.
    pub shared_by: LimitShare,
}

/// Calls that share the amount of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitShare {
    /// All calls of the model.
    All,
    /// Calls of one guild: each guild has the whole amount.
    Guild,
    /// Calls of one session: each session has the whole amount.
    Session,
}

/// Reads the limits of an entry. `parameters` is the part of it that names the model.
pub(super) fn read_limits(
    alias: &str,
    parameters: &Value,
    entry: &Value,
    notes: &mut Vec<String>,
) -> Vec<ImportedLimit> {
    let mut limits = Vec::new();
    let mut add = |amount: String, shared_by| {
        limits.push(ImportedLimit {
            alias: alias.to_owned(),
            amount,
            shared_by,
        });
    };
    if let Some(limit) = entry.get("daily_limit").filter(|limit| !limit.is_null()) {
        match count_of(limit) {
            Some(count) => add(format!("{count}calls/day"), read_share(alias, entry, notes)),
            None => notes.push(format!(
                "`{alias}`: its daily limit is no number of calls, and was left out"
            )),
        }
    }
    for (field, unit) in [("rpm", "calls"), ("tpm", "tokens")] {
        if let Some(count) = parameters.get(field).and_then(count_of) {
            add(format!("{count}{unit}/minute"), LimitShare::All);
        }
    }
    if let Some(dollars) = parameters.get("max_budget").and_then(Value::as_f64) {
        // LiteLLM's durations: a number and a unit, of which only whole periods have a budget here.
        let period = match text_of(parameters, &["budget_duration"]) {
            Some("1h" | "60m" | "3600s") => Some("hour"),
            Some("1d" | "24h") => Some("day"),
            Some("7d" | "1w") => Some("week"),
            Some("30d" | "1mo") => Some("month"),
            Some(_) | None => None,
        };
        match period {
            Some(period) => add(format!("{dollars}usd/{period}"), LimitShare::All),
            None => notes.push(format!(
                "`{alias}`: its `max_budget` was left out, because `budget_duration` is no hour, day, week or month"
            )),
        }
    }
    limits
}

/// Reads whose calls share a daily limit.
fn read_share(alias: &str, entry: &Value, notes: &mut Vec<String>) -> LimitShare {
    match text_of(entry, &["scope"]).map(str::to_lowercase).as_deref() {
        Some("guild" | "server") => LimitShare::Guild,
        Some("channel" | "session") => LimitShare::Session,
        None | Some("global" | "all") => LimitShare::All,
        Some(_) => {
            // All together is the stricter reading: nobody may spend more than the file allows.
            notes.push(format!(
                "`{alias}`: its `scope` is not known here, so all of its calls share the daily limit"
            ));
            LimitShare::All
        }
    }
}

/// Returns a number of calls or tokens. `None` if it is none, or 0.
fn count_of(value: &Value) -> Option<u64> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_u64().or(text).filter(|count| *count > 0)
}
