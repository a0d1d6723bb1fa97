//! The history of a task: what an earlier run was asked, what was answered, and what became of it.
//!
//! Owns: which parts of a recorded run a tool is shown again, and asking policy about them. Never: shows an answer to a tool
//! that policy would not let read the files which that answer was made from.
//!
//! An earlier answer quotes the files that its tool was shown. A local model may read files that a cloud model may not, so
//! the history of a run is shown only if the new tool may read each of these files itself.

use agentos_evidence::{Record, RecordKind};
use agentos_landing::LandingReport;
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};
use agentos_tool::{PastTurn, ToolTask, fit_history};
use serde_json::Value;

use crate::context::{Withheld, first_reason};
use crate::ports::{EffectError, RecordReader};
use crate::recorded::{read_body, unknown_run};
use crate::recorded_answer::load_task;

/// Reads what a run was asked and answered, after the turns that it was shown itself, the oldest first.
///
/// # Errors
/// If there is no such run, or its records cannot be read.
pub fn read_history(tape: &dyn RecordReader, run: &str) -> Result<Vec<PastTurn>, EffectError> {
    let mut told = ToldRun::default();
    let records = tape.run_records(run)?;
    if records.is_empty() {
        return Err(unknown_run(run));
    }
    for record in &records {
        told.add_record(tape, record, &read_body(tape, record)?)?;
    }
    let mut turns = told.earlier;
    if let Some(answer) = told.answer {
        told.files.sort();
        told.files.dedup();
        let outcome = told.outcome.unwrap_or_else(|| "nobody recorded it".to_owned());
        turns.push(PastTurn::bounded(&told.task, &answer, &outcome, told.files));
    }
    Ok(fit_history(turns))
}

/// Facts of a run for its turn.
#[derive(Default)]
struct ToldRun {
    task: String,
    answer: Option<String>,
    outcome: Option<String>,
    /// Files that the tool was shown, or that its answer changes.
    files: Vec<String>,
    earlier: Vec<PastTurn>,
}

impl ToldRun {
    fn add_record(
        &mut self,
        tape: &dyn RecordReader,
        record: &Record,
        body: &Value,
    ) -> Result<(), EffectError> {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        match record.kind {
            RecordKind::Task => self.task = text("/instruction").unwrap_or_default(),
            RecordKind::Attempt => {
                if let Some(id) = text("/prompt_sha256") {
                    self.add_prompt(load_task(tape, &id)?);
                }
            }
            RecordKind::Answer => {
                if let Some(id) = text("/answer_sha256") {
                    self.answer = Some(String::from_utf8_lossy(&tape.load_blob(&id)?).into_owned());
                }
            }
            RecordKind::ToolResult => {
                self.outcome = text("/result/error_message").or(self.outcome.take());
                self.add_files(body.pointer("/result/files_touched"), |file| file.as_str());
            }
            RecordKind::Landing => {
                self.add_files(body.pointer("/report/files"), |file| file.get("path")?.as_str());
                let report = body.get("report").cloned().unwrap_or_default();
                let report: Option<LandingReport> = serde_json::from_value(report).ok();
                let refused = report.filter(|report| report.refusal.is_some());
                self.outcome = refused.map(|report| report.feedback()).or(self.outcome.take());
            }
            RecordKind::Check => self.add_check(tape, body)?,
            RecordKind::Receipt => {
                let is_dry = text("/writes").as_deref() == Some("nothing");
                let words = if is_dry {
                    "it would land; nothing was written"
                } else {
                    "it landed"
                };
                self.outcome = Some(words.to_owned());
            }
            RecordKind::Refusal => self.add_refusal(body),
            RecordKind::Boundary
            | RecordKind::Decision
            | RecordKind::Consent
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
            | RecordKind::Checkpoint => {}
        }
        Ok(())
    }

    fn add_prompt(&mut self, task: ToolTask) {
        self.files.extend(task.context.into_iter().map(|file| file.path));
        // What the run was shown of still earlier runs belongs to its own history.
        self.earlier = task.history;
    }

    fn add_files<'a>(&mut self, list: Option<&'a Value>, path_of: impl Fn(&'a Value) -> Option<&'a str>) {
        let files = list.and_then(Value::as_array).into_iter().flatten();
        self.files.extend(files.filter_map(path_of).map(str::to_owned));
    }

    /// Adds the end of a failed check's output, which names what to repair.
    fn add_check(&mut self, tape: &dyn RecordReader, body: &Value) -> Result<(), EffectError> {
        if body.pointer("/passed").and_then(Value::as_bool) != Some(false) {
            return Ok(());
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        let output = match text("output_sha256") {
            Some(id) => String::from_utf8_lossy(&tape.load_blob(id)?).into_owned(),
            None => String::new(),
        };
        let command = text("command").unwrap_or_default();
        self.outcome = Some(format!("the check `{command}` failed:\n{output}"));
        Ok(())
    }

    fn add_refusal(&mut self, body: &Value) {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        // The report of a landing and the output of a check say more to a tool than the sentence that a person was shown.
        if self.outcome.is_none() || text("cause") == Some("policy") || text("cause") == Some("consent") {
            self.outcome = text("message").map(str::to_owned);
        }
    }
}

/// Selects the turns that policy lets a tool see. A turn that it may not see is left out as a whole, with those before it.
pub(crate) fn gather_history(
    turns: &[PastTurn],
    policy: &PolicySet,
    tool: &ToolFacts,
) -> (Vec<PastTurn>, Vec<Withheld>) {
    for (at, turn) in turns.iter().enumerate().rev() {
        let Some((path, decision)) = find_unreadable(turn, policy, tool) else {
            continue;
        };
        let why = format!("an earlier answer may quote it: {}", first_reason(&decision));
        // The later turns may quote an answer that quotes the file, but each names its own files, and is judged by them.
        let shown = turns.get(at + 1..).unwrap_or_default().to_vec();
        return (shown, vec![Withheld { path, why }]);
    }
    (turns.to_vec(), Vec::new())
}

/// Finds a file of a turn that policy does not let the tool read. `None` if it may read all of them.
fn find_unreadable(turn: &PastTurn, policy: &PolicySet, tool: &ToolFacts) -> Option<(String, Decision)> {
    let text = format!("{}\n{}", turn.task, turn.answer);
    let texts = turn.files.iter().map(|path| (path.as_str(), ""));
    // Then the text itself: a rule may withhold it for a secret in it. It is judged as text of a file that it is about.
    let about = turn.files.first().map_or("answer", String::as_str);
    let texts = texts.chain([(about, text.as_str())]);
    for (path, content) in texts {
        let decision = policy.decide_read(path, content.as_bytes(), tool);
        match decision.effect() {
            Effect::Allow => {}
            Effect::Ask | Effect::Deny => return Some((path.to_owned(), decision)),
        }
    }
    None
}

#[cfg(test)]
mod tests;
