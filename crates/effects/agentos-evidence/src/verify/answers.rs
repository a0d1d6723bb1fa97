//! Answers to requests, compared with the landings that follow them.
//!
//! Owns: noticing that a change landed which a person had declined, or its proposer had taken back. Never: calls that tampering: the tape
//! says what happened, and earlier versions let a yes land that came at the same moment as a no.

use std::collections::HashMap;

use serde_json::Value;

use crate::RecordKind;
use crate::request_answer::{RequestAnswer, read_answer};
use crate::runs::fact_of;

/// Most requests and most answers that are remembered. A tape that has more is read on, and this is no longer noticed in it.
const MOST_KEPT: usize = 100_000;
/// Most bytes of an id of a run. Ours have 25.
const LONGEST_ID: usize = 128;

/// Answers of the tape so far.
#[derive(Debug, Default)]
pub(super) struct RequestAnswers {
    /// Line of the first no, by the run that asked.
    declined: HashMap<String, u64>,
    /// Run that asked, by the run that says yes and has not ended.
    approved: HashMap<String, String>,
}

impl RequestAnswers {
    /// Takes the next record. Returns a note if it lands a change that was declined before. `None` for every other record.
    pub fn take(&mut self, line: u64, (kind, run): (RecordKind, &str), body: &Value) -> Option<String> {
        match kind {
            RecordKind::Consent => {
                self.take_consent(line, run, body);
                None
            }
            RecordKind::Receipt => {
                let asked = self.approved.remove(run)?;
                let no = self.declined.get(&asked)?;
                if fact_of(body, "writes").as_deref() == Some("nothing") {
                    return None;
                }
                Some(format!(
                    "line {line}: the change of run `{asked}` landed, although line {no} declines it"
                ))
            }
            RecordKind::Checkpoint => {
                self.approved.remove(run);
                None
            }
            RecordKind::Task
            | RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::ToolResult
            | RecordKind::Boundary
            | RecordKind::Landing
            | RecordKind::Check
            | RecordKind::Decision
            | RecordKind::Intent
            | RecordKind::Refusal
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed => None,
        }
    }

    fn take_consent(&mut self, line: u64, run: &str, body: &Value) {
        let is_short = |asked: &str| asked.len() <= LONGEST_ID && run.len() <= LONGEST_ID;
        match read_answer(body).filter(|(asked, _)| is_short(asked)) {
            Some((asked, RequestAnswer::Yes)) if self.approved.len() < MOST_KEPT => {
                self.approved.insert(run.to_owned(), asked.to_owned());
            }
            Some((asked, RequestAnswer::No | RequestAnswer::Withdrawn))
                if self.declined.len() < MOST_KEPT =>
            {
                self.declined.entry(asked.to_owned()).or_insert(line);
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_landing_after_a_no_is_noted() {
        let yes = || {
            (
                RecordKind::Consent,
                "late",
                json!({ "answers": "asks", "given": true, "consent": {} }),
            )
        };
        let no = |consent: Value, void: Value| {
            let body = json!({ "answers": "asks", "given": false, "consent": consent, "void": void });
            (RecordKind::Consent, "no", body)
        };
        let landed = |writes: &str| (RecordKind::Receipt, "late", json!({ "writes": writes }));
        let lands = || landed("commit-and-work-tree");
        let person = || no(json!({ "who": "dana" }), Value::Null);
        let ends = || (RecordKind::Checkpoint, "late", json!({}));
        let cases = [
            (
                "a no, then a yes that lands",
                vec![person(), yes(), lands()],
                true,
            ),
            (
                "a yes, then a no, then it lands",
                vec![yes(), person(), lands()],
                true,
            ),
            (
                "taken back",
                vec![no(Value::Null, json!("withdrawn")), yes(), lands()],
                true,
            ),
            ("a yes that lands", vec![yes(), lands()], false),
            ("a no after the landing", vec![yes(), lands(), person()], false),
            (
                "nobody was asked",
                vec![no(Value::Null, Value::Null), yes(), lands()],
                false,
            ),
            (
                "expired",
                vec![no(Value::Null, json!("expired")), yes(), lands()],
                false,
            ),
            (
                "nothing is written",
                vec![person(), yes(), landed("nothing")],
                false,
            ),
            (
                "the yes ended without a landing",
                vec![person(), yes(), ends(), lands()],
                false,
            ),
        ];
        for (what, records, is_noted) in cases {
            let mut answers = RequestAnswers::default();
            let notes: Vec<String> = (1..)
                .zip(&records)
                .filter_map(|(line, (kind, run, body))| answers.take(line, (*kind, run), body))
                .collect();
            assert_eq!(!notes.is_empty(), is_noted, "{what}: {notes:?}");
        }
    }
}
