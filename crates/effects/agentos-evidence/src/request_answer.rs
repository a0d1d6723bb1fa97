//! What later records say about the request of an earlier run.
//!
//! Owns: reading an answer from a `consent` record, and the end of a landing from a `recovered` record. Never: follows a request to its
//! end; its readers do, each for its own purpose.

use serde_json::Value;

/// Answer to the request of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestAnswer {
    /// A person agrees. That alone lands nothing.
    Yes,
    /// A person declines.
    No,
    /// Whoever proposed the change takes it back.
    Withdrawn,
    /// The time of the request is over.
    Expired,
    /// The change no longer lands, whoever would agree to it.
    Void,
    /// The request was only shown, and nobody answered.
    Unanswered,
}

/// Reads the answer of a `consent` record, and the run whose request it answers. `None` if the run of the record asked itself.
pub(crate) fn read_answer(body: &Value) -> Option<(&str, RequestAnswer)> {
    let asking = body.get("answers")?.as_str()?;
    let has_person = body.get("consent").is_some_and(|consent| !consent.is_null());
    let void = body.get("void").and_then(Value::as_str);
    let is_given = body.get("given").and_then(Value::as_bool) == Some(true);
    let answer = match (is_given, void) {
        (true, _) => RequestAnswer::Yes,
        (false, Some("withdrawn")) => RequestAnswer::Withdrawn,
        (false, Some("expired")) => RequestAnswer::Expired,
        (false, Some(_)) => RequestAnswer::Void,
        (false, None) if has_person => RequestAnswer::No,
        (false, None) => RequestAnswer::Unanswered,
    };
    Some((asking, answer))
}

/// End of a landing that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveredEnd {
    /// The change had been made.
    Made,
    /// Nothing visible had been written.
    RolledBack,
}

/// Reads the interrupted run of a `recovered` record, and how its landing ended. `None` if the record is about the tape itself.
#[must_use]
pub fn read_recovery(body: &Value) -> Option<(&str, RecoveredEnd)> {
    let run = body.get("run")?.as_str()?;
    match body.get("outcome")?.as_str()? {
        "finished" | "superseded" => Some((run, RecoveredEnd::Made)),
        "rolled-back" => Some((run, RecoveredEnd::RolledBack)),
        _ => None,
    }
}
