//! Replay: derives landing, decision and tree of recorded runs again, from the evidence.
//!
//! Owns: which stations are derived, in which order and from which records. Never: asks a model, writes to the repository
//! (trees are made in memory), or repeats a decision with other rules than the recorded ones.

use std::collections::BTreeMap;

use agentos_api::{ReplayReport, ReplayStatus, ReplayedRun, normalize_code};
use agentos_evidence::{Record, RecordKind};
use agentos_landing::{LandError, LandOptions, LandedChange, land};
use agentos_policy::{
    Consent, Decision, LandingTarget, Layer, PolicySet, PolicySource, Reason, ToolFacts, approve,
};
use agentos_tool::{ContextFile, Enforcement, ExecutionMode, Timestamp, ToolTask};
use serde::Deserialize;
use serde_json::Value;

use crate::context::seen_files;
use crate::ports::{EffectError, RecordReader, ReplayObjects, TargetInfo, Writes};
use crate::recorded::{read_body, unknown_run};
use crate::recorded_answer::{AnswerSource, load_task};
use crate::records::count_read_bytes;
use crate::settle::decide_change;

mod comparing;

use comparing::ReplayProgress;

/// Derives landing, decision and tree of recorded runs again. `None` replays all runs; `on_run` is called after each run
/// that has ended.
///
/// # Errors
/// If there is no such run, or the tape cannot be read.
pub fn replay_runs(
    tape: &dyn RecordReader,
    objects: &dyn ReplayObjects,
    wanted: Option<&str>,
    on_run: &dyn Fn(),
) -> Result<ReplayReport, EffectError> {
    let replayer = RunReplayer { tape, objects };
    let mut report = ReplayReport {
        version: 1,
        ..ReplayReport::default()
    };
    let mut open: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    // The tape is read once, and each run is replayed at its last record: a long tape need not fit into memory.
    for record in tape.records()? {
        let record = record?;
        if wanted.is_some_and(|wanted| wanted != record.run) {
            continue;
        }
        let (run, has_ended) = (record.run.clone(), record.kind == RecordKind::Checkpoint);
        open.entry(run.clone()).or_default().push(record);
        if has_ended && let Some(records) = open.remove(&run) {
            report.add_run(replayer.replay_run(&run, &records));
            on_run();
        }
    }
    for (run, records) in open {
        report.add_run(replayer.replay_run(&run, &records));
    }
    match wanted {
        Some(run) if report.runs.is_empty() => Err(unknown_run(run)),
        Some(_) | None => Ok(report),
    }
}

/// A tape and the objects of its repository, for replays.
struct RunReplayer<'a> {
    tape: &'a dyn RecordReader,
    objects: &'a dyn ReplayObjects,
}

/// Facts of a run up to the current record.
#[derive(Default)]
struct KnownFacts {
    tool: Option<ToolFacts>,
    target: Option<TargetInfo>,
    shown: Vec<ContextFile>,
    /// Bytes of the last prompt's files.
    prompt_bytes: u64,
    /// Bytes of texts that the tool called for, in all attempts so far.
    read_bytes: u64,
    answer: Option<Vec<u8>>,
    reported_model: Option<String>,
    base_commit: String,
    landed: Option<LandedChange>,
    decision: Option<Decision>,
    consent: Option<Consent>,
}

impl KnownFacts {
    /// Adds what the tool was shown.
    fn add_prompt(&mut self, task: &ToolTask) {
        self.shown.clone_from(&task.context);
        if let Some(tool) = &mut self.tool {
            tool.attempt = task.attempt;
            // A check belongs to one attempt.
            tool.checked = false;
        }
        self.prompt_bytes = task.count_context_bytes();
        self.count_bytes();
    }

    /// Adds what the tool called for while it worked.
    fn add_reads(&mut self, bytes: u64) {
        self.read_bytes = self.read_bytes.saturating_add(bytes);
        self.count_bytes();
    }

    fn count_bytes(&mut self) {
        if let Some(tool) = &mut self.tool {
            tool.context_bytes = self.prompt_bytes.saturating_add(self.read_bytes);
        }
    }
}

/// The members of a task record that a replay needs.
#[derive(Deserialize)]
struct RecordedTask {
    provider: String,
    model: Option<String>,
    execution_mode: ExecutionMode,
    target: TargetInfo,
    /// `None` for a run with an answer of its own.
    #[serde(default)]
    source: Option<AnswerSource>,
}

/// A source of policy as it was recorded.
#[derive(Deserialize)]
struct RecordedSource {
    layer: String,
    name: String,
    text: String,
}

/// Explains why a run has nothing that could be derived again.
fn explain_unlanded(known: &KnownFacts, records: &[Record]) -> String {
    if known.answer.is_none() {
        return "no answer was recorded".to_owned();
    }
    let end = records
        .iter()
        .rev()
        .find(|record| record.kind == RecordKind::Refusal);
    match end.and_then(|end| text_at(&end.body, "/code")) {
        Some(code) => format!(
            "the run ended with `{}` before its answer was landed",
            normalize_code(&code)
        ),
        None => "the run ended before its answer was landed".to_owned(),
    }
}

impl RunReplayer<'_> {
    fn replay_run(&self, run: &str, records: &[Record]) -> ReplayedRun {
        let mut known = KnownFacts::default();
        let mut progress = ReplayProgress::default();
        let mut reason = None;
        for record in records {
            if let Err(why) = self.derive_station(record, &mut known, &mut progress) {
                reason = Some(format!("{}: {why}", record.kind.as_str()));
                break;
            }
        }
        let status = match (&reason, progress.differences.is_empty()) {
            // First: a difference is a finding even if a later station cannot be derived.
            (_, false) => ReplayStatus::Different,
            (Some(_), true) => ReplayStatus::Unavailable,
            (None, true) if progress.stations.is_empty() => ReplayStatus::WithoutAnswer,
            (None, true) => ReplayStatus::Identical,
        };
        if status == ReplayStatus::WithoutAnswer {
            reason = Some(explain_unlanded(&known, records));
        }
        ReplayedRun {
            run: run.to_owned(),
            status,
            stations: progress.stations,
            differences: progress.differences,
            reason,
        }
    }

    /// Takes the facts from a record, or derives its station again.
    fn derive_station(
        &self,
        record: &Record,
        known: &mut KnownFacts,
        progress: &mut ReplayProgress,
    ) -> Result<(), String> {
        match record.kind {
            RecordKind::Task => self.add_task(record, known)?,
            RecordKind::Attempt => {
                let id = text_at(&self.body_of(record)?, "/prompt_sha256");
                known.add_prompt(&self.load_task(&id.ok_or("it names no prompt")?)?);
            }
            RecordKind::Answer => known.answer = Some(self.load_blob(record, "answer_sha256")?),
            RecordKind::ToolResult => {
                let body = self.body_of(record)?;
                let model = body.pointer("/result/model_id").and_then(Value::as_str);
                known.reported_model = model.map(str::to_owned);
                known.add_reads(count_read_bytes(&body));
                let enforcement = body.pointer("/result/boundary/enforcement").cloned();
                let enforcement = enforcement.and_then(|found| serde_json::from_value(found).ok());
                if let (Some(tool), Some(enforcement)) = (&mut known.tool, enforcement) {
                    tool.enforcement = enforcement;
                }
            }
            RecordKind::Landing => self.derive_landing(record, known, progress)?,
            RecordKind::Check => {
                let body = self.body_of(record)?;
                let passed = body.get("passed").and_then(Value::as_bool);
                // A check of the base proves nothing about a change, and a hook is no check of the user's.
                if text_at(&body, "/diff_sha256").is_some()
                    && text_at(&body, "/hook").is_none()
                    && let Some(tool) = &mut known.tool
                {
                    tool.checked = passed == Some(true);
                }
            }
            RecordKind::Decision => self.derive_decision(record, known, progress)?,
            RecordKind::Consent => {
                let consent = self.body_of(record)?.get("consent").cloned().unwrap_or_default();
                known.consent = serde_json::from_value(consent).unwrap_or_default();
            }
            RecordKind::Receipt => self.derive_tree(record, known, progress)?,
            RecordKind::Boundary
            | RecordKind::Intent
            | RecordKind::Refusal
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
            | RecordKind::Checkpoint => {}
        }
        Ok(())
    }

    /// Takes the facts about the tool and the target from the task.
    fn add_task(&self, record: &Record, known: &mut KnownFacts) -> Result<(), String> {
        let begun: RecordedTask = self.parse_body(record)?;
        known.tool = Some(ToolFacts {
            provider: begun.provider,
            model: begun.model,
            execution_mode: begun.execution_mode,
            // The weaker one, until the verdict on the call says what was measured.
            enforcement: Enforcement::Observed,
            attempt: 1,
            at: recorded_time(record)?,
            context_bytes: 0,
            target_ref: Some(begun.target.refname.clone()),
            checked: false,
        });
        known.target = Some(begun.target);
        match begun.source {
            Some(source) => self.add_source(source, known),
            None => Ok(()),
        }
    }

    /// Takes the facts about the tool of an earlier run, whose answer this run lands.
    fn add_source(&self, source: AnswerSource, known: &mut KnownFacts) -> Result<(), String> {
        if let Some(id) = &source.prompt_sha256 {
            known.add_prompt(&self.load_task(id)?);
        }
        known.add_reads(source.read_bytes);
        known.reported_model = source.reported_model;
        if let Some(tool) = &mut known.tool {
            tool.attempt = source.attempt;
            tool.enforcement = source.enforcement;
        }
        Ok(())
    }

    fn load_task(&self, id: &str) -> Result<ToolTask, String> {
        load_task(self.tape, id).map_err(|error| error.message)
    }

    /// Places the recorded answer again, and compares diff and report.
    fn derive_landing(
        &self,
        record: &Record,
        known: &mut KnownFacts,
        progress: &mut ReplayProgress,
    ) -> Result<(), String> {
        let body = self.body_of(record)?;
        known.base_commit = text_at(&body, "/base_commit").unwrap_or_default();
        let base = self
            .objects
            .base(&self.landing_target(known)?)
            .map_err(|error| error.message)?;
        let partial = |pointer| body.pointer(pointer).and_then(Value::as_bool) == Some(true);
        let options = LandOptions {
            seen: seen_files(&known.shown, |blob| {
                let found = base.blob_by_prefix(blob).ok().flatten();
                found.map(|(_, content)| content)
            }),
            // At the top is what the user allowed, in the report what was left out. Each lets edits be left out again.
            partial: partial("/partial") || partial("/report/partial"),
        };
        let answer = known
            .answer
            .as_deref()
            .ok_or("no answer was recorded before it")?;
        let (landed, report) = match land(answer, base.as_ref(), &options) {
            Ok(found) => (Some(found.clone()), found.report),
            Err(LandError::Refused(report)) => (None, *report),
            Err(LandError::Base(error)) => return Err(error.to_string()),
        };
        progress.stations.push("landing".to_owned());
        let digest = landed.as_ref().map(|landed| landed.change.sha256());
        progress.compare_text("landing", "diff_sha256", text_at(&body, "/diff_sha256"), digest);
        progress.compare_value("landing", "report", body.get("report"), &report)?;
        known.landed = landed;
        Ok(())
    }

    /// Decides again by the recorded rules, and compares the decision.
    fn derive_decision(
        &self,
        record: &Record,
        known: &mut KnownFacts,
        progress: &mut ReplayProgress,
    ) -> Result<(), String> {
        let body = self.body_of(record)?;
        let sources: Vec<RecordedSource> =
            serde_json::from_slice(&self.load_blob(record, "policy_blob_sha256")?)
                .map_err(|error| error.to_string())?;
        let sources = sources
            .into_iter()
            .map(policy_source)
            .collect::<Result<Vec<_>, _>>()?;
        let set = PolicySet::load(&sources).map_err(|error| error.to_string())?;
        let set = set.with_hooks_path(self.objects.hooks_path().as_deref());
        let base = self.landing_target(known)?.base_tree;
        let links = self.objects.base_links(&base).map_err(|error| error.message)?;
        let set = set.with_links(&links);
        let (Some(landed), Some(tool)) = (&known.landed, &mut known.tool) else {
            return Err("nothing landed before it".to_owned());
        };
        // Rules can test the time of day, so the decision is repeated at the recorded time.
        tool.at = recorded_time(record)?;
        let decision = decide_change(&set, landed, tool, known.reported_model.as_deref());
        // What a change has of withheld files depends on earlier runs as well, so it is taken as it was recorded.
        let decision = decision.with_reasons(withheld_reasons(&body));
        progress.stations.push("decision".to_owned());
        let recorded = text_at(&body, "/decision/policy_sha256");
        if recorded.as_deref() != Some(set.sha256()) {
            // The built-in rules are part of the program, and another version may have others. The decisions are not
            // compared then: a difference would say nothing about the evidence.
            let what = "the rules (the built-in ones of another version?)";
            progress.note_difference("decision", what, recorded, Some(set.sha256().to_owned()));
        } else {
            progress.compare_value("decision", "decision", body.get("decision"), &decision)?;
        }
        known.decision = Some(decision);
        Ok(())
    }

    /// Approves the change again, makes its tree in memory, and compares the tree's id.
    fn derive_tree(
        &self,
        record: &Record,
        known: &mut KnownFacts,
        progress: &mut ReplayProgress,
    ) -> Result<(), String> {
        let body = self.body_of(record)?;
        let target = self.landing_target(known)?;
        let (Some(landed), Some(decision)) = (known.landed.take(), &known.decision) else {
            return Err("there is no decision before it".to_owned());
        };
        let recorded = known.target.as_ref().ok_or("no task was recorded before it")?;
        let place = LandingTarget {
            base_commit: &target.base_commit,
            // The approval was bound to the recorded target, and it must fit that one again.
            ..recorded.place()
        };
        let approved = approve(landed.change, decision, &place, known.consent.as_ref());
        progress.stations.push("tree".to_owned());
        let approved = match approved {
            Ok(approved) => approved,
            Err(why) => {
                progress.note_difference(
                    "tree",
                    "approval",
                    Some("approved".to_owned()),
                    Some(why.to_string()),
                );
                return Ok(());
            }
        };
        // In memory: the object store of an auditor stays as it is.
        let tree = self.objects.derive_tree(approved.value(), &target.base_tree);
        let tree = tree.map_err(|error| error.message)?;
        progress.compare_text("tree", "tree", text_at(&body, "/tree"), Some(&tree));
        Ok(())
    }

    /// Returns the recorded target on the base of the last landing, with nothing to write. The base differs from the one of
    /// the task if the branch moved during the run.
    fn landing_target(&self, known: &KnownFacts) -> Result<TargetInfo, String> {
        let recorded = known.target.as_ref().ok_or("no task was recorded before it")?;
        let base_tree = if recorded.base_commit == known.base_commit {
            recorded.base_tree.clone()
        } else {
            let tree = self.objects.commit_tree(&known.base_commit);
            tree.ok_or_else(|| format!("its base `{}` is not in the repository", known.base_commit))?
        };
        Ok(TargetInfo {
            refname: recorded.refname.clone(),
            base_commit: known.base_commit.clone(),
            base_tree,
            creates_branch: false,
            // A replay writes nothing, and reads any base without requiring a state in which something can land.
            writes: Writes::Nothing,
        })
    }

    fn body_of(&self, record: &Record) -> Result<Value, String> {
        read_body(self.tape, record).map_err(|error| error.message)
    }

    fn parse_body<T: serde::de::DeserializeOwned>(&self, record: &Record) -> Result<T, String> {
        serde_json::from_value(self.body_of(record)?).map_err(|error| error.to_string())
    }

    fn load_blob(&self, record: &Record, name: &str) -> Result<Vec<u8>, String> {
        let id = text_at(&self.body_of(record)?, &format!("/{name}")).unwrap_or_default();
        self.tape.load_blob(&id).map_err(|error| error.message)
    }
}

/// Returns the recorded reasons that are about withheld files.
fn withheld_reasons(body: &Value) -> Vec<Reason> {
    let reasons = body.pointer("/decision/reasons").cloned().unwrap_or_default();
    let reasons: Vec<Reason> = serde_json::from_value(reasons).unwrap_or_default();
    reasons.into_iter().filter(Reason::is_about_withheld).collect()
}

fn text_at(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the time at which a record was made.
fn recorded_time(record: &Record) -> Result<Timestamp, String> {
    serde_json::from_value(Value::String(record.ts.clone())).map_err(|error| error.to_string())
}

fn policy_source(source: RecordedSource) -> Result<PolicySource, String> {
    let layers = [
        Layer::Default,
        Layer::Machine,
        Layer::Repository,
        Layer::User,
        Layer::CommandLine,
    ];
    let layer = layers.into_iter().find(|layer| layer.as_str() == source.layer);
    Ok(PolicySource {
        layer: layer.ok_or_else(|| format!("there is no layer `{}`", source.layer))?,
        name: source.name,
        text: source.text,
    })
}

#[cfg(test)]
mod tests;
