//! The history of a task: what an earlier run was asked, what was answered, and what became of it.
//!
//! Owns: which parts of a recorded run a tool is shown again, and asking policy about them. Never: shows an answer to a tool
//! that policy would not let read the files which that answer was made from.
//!
//! An earlier answer quotes the files that its tool was shown, and the report of a landing quotes the files of that time. A local
//! model may read files that a cloud model may not, so the history of a run is shown only if the new tool may read each of these
//! files itself: by its name, and by its whole text. A report is worded for the new tool, and not for the one that it was about.

use agentos_evidence::{Record, RecordKind};
use agentos_landing::{Base, LandingReport};
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};
use agentos_tool::{PastTurn, ToolTask, fit_history};
use serde_json::Value;

use crate::context::{Withheld, first_reason};
use crate::feedback::{decide_file, write_feedback};
use crate::ports::{EffectError, RecordReader, Repository, TargetInfo};
use crate::recorded::{read_body, unknown_run};
use crate::recorded_answer::load_task;
use crate::withheld::{WITHHELD_FILE, has_withheld_reason};
use views::{EarlierFacts, EarlierView, find_unreadable_view, read_views};

/// Turn of an earlier run, before policy was asked what of it a tool may see.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierTurn {
    /// The turn. Its outcome names no line of a file if there is a report.
    pub past: PastTurn,
    /// Report of the landing that refused the answer. `None` if something else became of the answer, or an earlier tool was shown
    /// the outcome in words.
    refused: Option<Box<LandingReport>>,
    /// Views of programs: files that they could read, and so may have quoted in this turn or an earlier one.
    views: Vec<EarlierView>,
}

impl EarlierTurn {
    pub(crate) fn from_past(past: PastTurn) -> Self {
        Self {
            past,
            refused: None,
            views: Vec::new(),
        }
    }
}

/// Outcome of an answer.
enum RecordedOutcome {
    Words(String),
    Refused(Box<LandingReport>),
}

/// Reads what a run was asked and answered, after the turns that it was shown itself, the oldest first.
///
/// # Errors
/// If there is no such run, or its records cannot be read.
pub fn read_history(tape: &dyn RecordReader, run: &str) -> Result<Vec<EarlierTurn>, EffectError> {
    let mut told = ToldRun::default();
    let records = tape.run_records(run)?;
    if records.is_empty() {
        return Err(unknown_run(run));
    }
    for record in &records {
        told.add_record(tape, record, &read_body(tape, record)?)?;
    }
    let views = std::mem::take(&mut told.views);
    let views = add_followed_views(tape, run, &told, views)?;
    let mut turns = told.earlier;
    let mut refused = None;
    if let Some(answer) = told.answer {
        told.files.sort();
        told.files.dedup();
        let outcome = match told.outcome {
            Some(RecordedOutcome::Words(words)) => words,
            Some(RecordedOutcome::Refused(report)) => {
                let code = report.refusal.as_ref().map(|refusal| refusal.code.to_string());
                refused = Some(report);
                format!("it did not land ({})", code.unwrap_or_default())
            }
            None => "nobody recorded it".to_owned(),
        };
        turns.push(PastTurn::bounded(&told.task, &answer, &outcome, told.files));
    }
    let mut fitting: Vec<EarlierTurn> = fit_history(turns)
        .into_iter()
        .map(|past| EarlierTurn {
            views: views.clone(),
            ..EarlierTurn::from_past(past)
        })
        .collect();
    // The newest turn always fits, and a report is of it.
    if let Some(last) = fitting.last_mut() {
        last.refused = refused;
    }
    Ok(fitting)
}

/// Facts of a run for its turn.
#[derive(Default)]
struct ToldRun {
    task: String,
    answer: Option<String>,
    outcome: Option<RecordedOutcome>,
    /// Files that the tool was shown, or that its answer changes.
    files: Vec<String>,
    earlier: Vec<PastTurn>,
    /// True if the last decision has a reason about withheld text.
    is_about_withheld: bool,
    /// Facts of the run's beginning.
    begun: EarlierFacts,
    /// Views of the programs of the run.
    views: Vec<EarlierView>,
    /// The run that it follows.
    follows: Option<String>,
}

/// Adds the views of the runs that a run follows: its answer, and what it was shown of theirs, can quote them.
fn add_followed_views(
    tape: &dyn RecordReader,
    run: &str,
    told: &ToldRun,
    mut views: Vec<EarlierView>,
) -> Result<Vec<EarlierView>, EffectError> {
    let mut seen = vec![run.to_owned()];
    let mut next = told.follows.clone();
    while let Some(followed) = next.take().filter(|followed| !seen.contains(followed)) {
        let records = tape.run_records(&followed)?;
        if records.is_empty() {
            // Its records are gone, and with them what its program could read.
            views.push(EarlierFacts::default().to_view());
        }
        let mut earlier = ToldRun::default();
        for record in &records {
            earlier.add_views(tape, record, &read_body(tape, record)?)?;
        }
        views.append(&mut earlier.views);
        next = earlier.follows;
        seen.push(followed);
    }
    views.dedup();
    Ok(views)
}

impl ToldRun {
    /// Adds what programs could read, and the run that is followed.
    fn add_views(
        &mut self,
        tape: &dyn RecordReader,
        record: &Record,
        body: &Value,
    ) -> Result<(), EffectError> {
        let has_failed = body.get("passed").and_then(Value::as_bool) == Some(false);
        if record.kind == RecordKind::Task {
            self.begun = EarlierFacts::read(body);
            let follows = body.pointer("/follows/run").and_then(Value::as_str);
            self.follows = follows.map(str::to_owned);
        } else if record.kind == RecordKind::ToolResult {
            self.views.extend(read_views(tape, body, &self.begun)?);
        } else if record.kind == RecordKind::Check && has_failed {
            // The output of a failed check is shown, and a check can read what its tool can.
            self.views.push(self.begun.to_view());
        }
        Ok(())
    }

    fn add_record(
        &mut self,
        tape: &dyn RecordReader,
        record: &Record,
        body: &Value,
    ) -> Result<(), EffectError> {
        self.add_views(tape, record, body)?;
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
                let message = text("/result/error_message").map(RecordedOutcome::Words);
                self.outcome = message.or(self.outcome.take());
                self.add_files(body.pointer("/result/files_touched"), |file| file.as_str());
                // What the tool called for itself can be quoted in its answer as well as what it was given.
                self.add_files(body.pointer("/reads"), |read| read.get("path")?.as_str());
            }
            RecordKind::Landing => {
                self.add_files(body.pointer("/report/files"), |file| file.get("path")?.as_str());
                let report = body.get("report").cloned().unwrap_or_default();
                let report: Option<LandingReport> = serde_json::from_value(report).ok();
                let refused = report.filter(|report| report.refusal.is_some());
                let refused = refused.map(|report| RecordedOutcome::Refused(Box::new(report)));
                self.outcome = refused.or(self.outcome.take());
            }
            RecordKind::Check => self.add_check(tape, body)?,
            RecordKind::Receipt => {
                let is_dry = text("/writes").as_deref() == Some("nothing");
                let words = if is_dry {
                    "it would land; nothing was written"
                } else {
                    "it landed"
                };
                self.outcome = Some(RecordedOutcome::Words(words.to_owned()));
            }
            RecordKind::Refusal => self.add_refusal(body),
            RecordKind::Decision => self.is_about_withheld = has_withheld_reason(body),
            RecordKind::Boundary
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
        let words = format!("the check `{command}` failed:\n{output}");
        self.outcome = Some(RecordedOutcome::Words(words));
        Ok(())
    }

    fn add_refusal(&mut self, body: &Value) {
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        // The report of a landing and the output of a check say more to a tool than the sentence that a person was shown.
        if self.outcome.is_none() || text("cause") == Some("policy") || text("cause") == Some("consent") {
            // A person reads which withheld file a change has to do with. A tool must not.
            let told = match self.is_about_withheld || text("code") == Some(WITHHELD_FILE) {
                true => Some("it waits for a person"),
                false => text("message"),
            };
            self.outcome = told.map(|words| RecordedOutcome::Words(words.to_owned()));
        }
    }
}

/// Selects the turns that policy lets a tool see, and words their outcomes for it. A turn that it may not see is left out as a
/// whole, with those before it.
///
/// # Errors
/// If the base cannot be read.
pub(crate) fn gather_history(
    turns: &[EarlierTurn],
    (repo, target): (&dyn Repository, &TargetInfo),
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<(Vec<PastTurn>, Vec<Withheld>), EffectError> {
    let mut shown = Vec::new();
    let mut withheld = Vec::new();
    let mut allowed: Option<&[EarlierView]> = None;
    for turn in turns.iter().rev() {
        // All turns of one history have the same views.
        if allowed != Some(&turn.views) {
            if let Some(found) = find_unreadable_view(&turn.views, repo, target, tool)? {
                withheld.push(found);
                break;
            }
            allowed = Some(&turn.views);
        }
        let past = match &turn.refused {
            Some(report) => {
                let outcome = write_feedback(report, base, policy, tool)?;
                turn.past.clone().with_outcome(&outcome)
            }
            None => turn.past.clone(),
        };
        if let Some((path, decision)) = find_unreadable(&past, base, policy, tool)? {
            // The later turns may quote an answer that quotes the file, but each names its own files, and is judged by them.
            let why = format!("an earlier answer may quote it: {}", first_reason(&decision));
            withheld.push(Withheld { path, why });
            break;
        }
        shown.push(past);
    }
    shown.reverse();
    // A report can be longer than the words that it was counted with.
    Ok((fit_history(shown), withheld))
}

/// Finds a file of a turn that policy does not let the tool read. `None` if it may read all of them.
fn find_unreadable(
    turn: &PastTurn,
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<Option<(String, Decision)>, EffectError> {
    for path in &turn.files {
        if let Some(decision) = decide_file(path, base, policy, tool)?.refused {
            return Ok(Some((path.clone(), decision)));
        }
    }
    // Then the text itself: a rule may withhold it for a secret in it. It is judged as text of every file that it may quote, because
    // a rule by content can be about some of them only.
    let text = format!("{}\n{}\n{}", turn.task, turn.answer, turn.outcome);
    let unnamed = turn.files.is_empty().then_some("answer");
    let about = turn.files.iter().map(String::as_str).chain(unnamed);
    for path in about {
        let decision = policy.decide_read(path, text.as_bytes(), tool);
        match decision.effect() {
            Effect::Allow => {}
            Effect::Ask | Effect::Deny => return Ok(Some((path.to_owned(), decision))),
        }
    }
    Ok(None)
}

mod views;

#[cfg(test)]
mod tests;
