//! One recorded run, derived again.
//!
//! Owns: reading the recorded inputs of each station and comparing what comes out. Never: writes: trees are made in
//! memory.

use std::sync::Arc;

use agentos_api::normalize_code;
use agentos_engine::ports::{EffectError, TargetInfo};
use agentos_engine::recorded::read_body;
use agentos_engine::settle::judged;
use agentos_evidence::{Record, RecordKind, Store};
use agentos_executor::{Repository, Target, Writes};
use agentos_landing::{LandError, LandOptions, Landed, RepoPath, SeenFile, land};
use agentos_policy::{Consent, Decision, Layer, Place, PolicySet, PolicySource, ToolFacts, approve};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp, ToolTask};
use serde::Deserialize;
use serde_json::Value;

use super::{Difference, ReplayStatus, ReplayedRun};
use crate::tape::TapeReader;

/// Replays runs of one repository.
pub struct Replayer<'a> {
    repo: &'a Repository,
    store: &'a Store,
}

/// What is known of a run up to the record that is looked at.
#[derive(Default)]
struct Known {
    tool: Option<ToolFacts>,
    target: Option<TargetInfo>,
    seen: Vec<SeenFile>,
    answer: Option<Vec<u8>>,
    reported_model: Option<String>,
    base_commit: String,
    landed: Option<Landed>,
    decision: Option<Decision>,
    consent: Option<Consent>,
}

/// How far a replay has come.
struct Progress {
    stations: Vec<String>,
    differences: Vec<Difference>,
}

/// The members of a task record that a replay needs.
#[derive(Deserialize)]
struct Begun {
    provider: String,
    model: Option<String>,
    execution_mode: ExecutionMode,
    target: TargetInfo,
}

/// A source of policy as it was recorded.
#[derive(Deserialize)]
struct Source {
    layer: String,
    name: String,
    text: String,
}

/// Why a run has nothing that could be derived again.
fn unlanded(known: &Known, records: &[Record]) -> String {
    if known.answer.is_none() {
        return "no answer was recorded".to_owned();
    }
    let end = records
        .iter()
        .rev()
        .find(|record| record.kind == RecordKind::Refusal);
    match end.and_then(|end| text(&end.body, "/code")) {
        Some(code) => format!(
            "the run ended with `{}` before its answer was landed",
            normalize_code(&code)
        ),
        None => "the run ended before its answer was landed".to_owned(),
    }
}

impl<'a> Replayer<'a> {
    /// A replayer of this repository's runs.
    pub fn new(repo: &'a Repository, store: &'a Store) -> Self {
        Self { repo, store }
    }

    /// Derives one run again.
    pub fn run(&self, run: &str, records: &[Record]) -> ReplayedRun {
        let mut known = Known::default();
        let mut progress = Progress {
            stations: Vec::new(),
            differences: Vec::new(),
        };
        let mut reason = None;
        for record in records {
            if let Err(why) = self.station(record, &mut known, &mut progress) {
                reason = Some(format!("{}: {why}", record.kind.as_str()));
                break;
            }
        }
        let status = match (&reason, progress.differences.is_empty()) {
            (_, false) => ReplayStatus::Different,
            (Some(_), true) => ReplayStatus::Unavailable,
            (None, true) if progress.stations.is_empty() => ReplayStatus::WithoutAnswer,
            (None, true) => ReplayStatus::Identical,
        };
        if status == ReplayStatus::WithoutAnswer {
            reason = Some(unlanded(&known, records));
        }
        ReplayedRun {
            run: run.to_owned(),
            status,
            stations: progress.stations,
            differences: progress.differences,
            reason,
        }
    }

    fn station(&self, record: &Record, known: &mut Known, progress: &mut Progress) -> Result<(), String> {
        match record.kind {
            RecordKind::Task => {
                let begun: Begun = self.read(record)?;
                known.tool = Some(ToolFacts {
                    provider: begun.provider,
                    model: begun.model,
                    execution_mode: begun.execution_mode,
                    enforcement: Enforcement::Observed,
                    attempt: 1,
                    at: moment(record)?,
                    context_bytes: 0,
                    target_ref: Some(begun.target.refname.clone()),
                    checked: false,
                });
                known.target = Some(begun.target);
            }
            RecordKind::Attempt => {
                let task: ToolTask = serde_json::from_slice(&self.blob(record, "prompt_sha256")?)
                    .map_err(|error| error.to_string())?;
                known.seen = seen(&task);
                if let Some(tool) = &mut known.tool {
                    tool.attempt = task.attempt;
                    tool.checked = false;
                    tool.context_bytes = task.context.iter().map(|file| file.content.len() as u64).sum();
                }
            }
            RecordKind::Answer => known.answer = Some(self.blob(record, "answer_sha256")?),
            RecordKind::ToolResult => {
                let body = self.body(record)?;
                let model = body.pointer("/result/model_id").and_then(Value::as_str);
                known.reported_model = model.map(str::to_owned);
                let enforcement = body.pointer("/result/boundary/enforcement").cloned();
                let enforcement = enforcement.and_then(|found| serde_json::from_value(found).ok());
                if let (Some(tool), Some(enforcement)) = (&mut known.tool, enforcement) {
                    tool.enforcement = enforcement;
                }
            }
            RecordKind::Landing => self.landing(record, known, progress)?,
            RecordKind::Check => {
                let passed = self.body(record)?.get("passed").and_then(Value::as_bool);
                if let Some(tool) = &mut known.tool {
                    tool.checked = passed == Some(true);
                }
            }
            RecordKind::Decision => self.decision(record, known, progress)?,
            RecordKind::Consent => {
                let consent = self.body(record)?.get("consent").cloned().unwrap_or_default();
                known.consent = serde_json::from_value(consent).unwrap_or_default();
            }
            RecordKind::Receipt => self.tree(record, known, progress)?,
            RecordKind::Boundary
            | RecordKind::Intent
            | RecordKind::Refusal
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Checkpoint => {}
        }
        Ok(())
    }

    fn landing(&self, record: &Record, known: &mut Known, progress: &mut Progress) -> Result<(), String> {
        let body = self.body(record)?;
        known.base_commit = text(&body, "/base_commit").unwrap_or_default();
        let base = self
            .repo
            .base(&self.target(known)?)
            .map_err(|error| error.to_string())?;
        let partial = |pointer| body.pointer(pointer).and_then(Value::as_bool) == Some(true);
        let options = LandOptions {
            seen: known.seen.clone(),
            partial: partial("/partial") || partial("/report/partial"),
            ..LandOptions::default()
        };
        let answer = known
            .answer
            .as_deref()
            .ok_or("no answer was recorded before it")?;
        let (landed, report) = match land(answer, &base, &options) {
            Ok(found) => (Some(found.clone()), found.report),
            Err(LandError::Refused(report)) => (None, *report),
            Err(LandError::Base(error)) => return Err(error.to_string()),
        };
        progress.stations.push("landing".to_owned());
        let digest = landed.as_ref().map(|landed| landed.change.sha256());
        let recorded = text(&body, "/diff_sha256");
        if digest != recorded.as_deref() {
            progress.tell("landing", "diff_sha256", recorded, digest.map(str::to_owned));
        }
        progress.compare("landing", "report", body.get("report"), &report)?;
        known.landed = landed;
        Ok(())
    }

    fn decision(&self, record: &Record, known: &mut Known, progress: &mut Progress) -> Result<(), String> {
        let body = self.body(record)?;
        let sources: Vec<Source> = serde_json::from_slice(&self.blob(record, "policy_blob_sha256")?)
            .map_err(|error| error.to_string())?;
        let sources = sources.into_iter().map(source).collect::<Result<Vec<_>, _>>()?;
        let set = PolicySet::load(&sources).map_err(|error| error.to_string())?;
        let set = set.with_hooks_path(self.repo.hooks_path().as_deref());
        let (Some(landed), Some(tool)) = (&known.landed, &mut known.tool) else {
            return Err("nothing landed before it".to_owned());
        };
        tool.at = moment(record)?;
        let decision = judged(&set, landed, tool, known.reported_model.as_deref());
        progress.stations.push("decision".to_owned());
        let recorded = text(&body, "/decision/policy_sha256");
        if recorded.as_deref() != Some(set.sha256()) {
            // The built-in rules are part of the program: another version of it may have others.
            let what = "the rules (the built-in ones of another version?)";
            progress.tell("decision", what, recorded, Some(set.sha256().to_owned()));
        } else {
            progress.compare("decision", "decision", body.get("decision"), &decision)?;
        }
        known.decision = Some(decision);
        Ok(())
    }

    fn tree(&self, record: &Record, known: &mut Known, progress: &mut Progress) -> Result<(), String> {
        let body = self.body(record)?;
        let target = self.target(known)?;
        let (Some(landed), Some(decision)) = (known.landed.take(), &known.decision) else {
            return Err("nothing was decided before it".to_owned());
        };
        let recorded = known.target.as_ref().ok_or("no task was recorded before it")?;
        let place = Place {
            base_commit: &target.base_commit,
            ..recorded.place()
        };
        let approved = approve(landed.change, decision, &place, known.consent.as_ref());
        progress.stations.push("tree".to_owned());
        let approved = match approved {
            Ok(approved) => approved,
            Err(why) => {
                progress.tell(
                    "tree",
                    "approval",
                    Some("approved".to_owned()),
                    Some(why.to_string()),
                );
                return Ok(());
            }
        };
        let tree = self.repo.tree_of(approved.value(), &target.base_tree);
        let tree = tree.map_err(|error| error.to_string())?;
        let recorded = text(&body, "/tree");
        if recorded.as_deref() != Some(tree.as_str()) {
            progress.tell("tree", "tree", recorded, Some(tree));
        }
        Ok(())
    }

    /// The recorded target, with the base that the last landing was made on, and nothing to be written.
    fn target(&self, known: &Known) -> Result<Target, String> {
        let recorded = known.target.as_ref().ok_or("no task was recorded before it")?;
        let base_tree = if recorded.base_commit == known.base_commit {
            recorded.base_tree.clone()
        } else {
            let base = self.repo.commit(&known.base_commit);
            base.ok_or_else(|| format!("its base `{}` is not in the repository", known.base_commit))?
                .tree
        };
        Ok(Target {
            refname: recorded.refname.clone(),
            base_commit: known.base_commit.clone(),
            base_tree,
            creates_branch: false,
            writes: Writes::Nothing,
        })
    }

    fn body(&self, record: &Record) -> Result<Value, String> {
        read_body(&TapeReader(self.store), record).map_err(|error: EffectError| error.message)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, record: &Record) -> Result<T, String> {
        serde_json::from_value(self.body(record)?).map_err(|error| error.to_string())
    }

    fn blob(&self, record: &Record, name: &str) -> Result<Vec<u8>, String> {
        let id = text(&self.body(record)?, &format!("/{name}")).unwrap_or_default();
        self.store.get_blob(&id).map_err(|error| error.to_string())
    }
}

impl Progress {
    fn tell(&mut self, station: &str, what: &str, recorded: Option<String>, replayed: Option<String>) {
        let none = || "nothing".to_owned();
        self.differences.push(Difference {
            station: station.to_owned(),
            what: what.to_owned(),
            recorded: recorded.unwrap_or_else(none),
            replayed: replayed.unwrap_or_else(none),
        });
    }

    /// Tells the first place where a recorded value and one made now differ.
    fn compare<T: serde::Serialize>(
        &mut self,
        station: &str,
        name: &str,
        recorded: Option<&Value>,
        now: &T,
    ) -> Result<(), String> {
        let now = serde_json::to_value(now).map_err(|error| error.to_string())?;
        let now = agentos_evidence::clean(now).map_err(|error| error.to_string())?;
        let recorded = recorded.unwrap_or(&Value::Null);
        if let Some((at, recorded, now)) = first_difference(recorded, &now, name.to_owned()) {
            self.tell(station, &at, Some(recorded), Some(now));
        }
        Ok(())
    }
}

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
    deeper.or_else(|| Some((at, shortened(one), shortened(other))))
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 200 {
        return text;
    }
    text.chars().take(200).chain(['…']).collect()
}

fn text(body: &Value, pointer: &str) -> Option<String> {
    body.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// When a record was made.
fn moment(record: &Record) -> Result<Timestamp, String> {
    serde_json::from_value(Value::String(record.ts.clone())).map_err(|error| error.to_string())
}

/// What the tool was shown, as the engine tells landing.
fn seen(task: &ToolTask) -> Vec<SeenFile> {
    let files = task.context.iter().filter_map(|file| {
        Some(SeenFile {
            path: RepoPath::new(&file.path).ok()?,
            content: Arc::from(file.content.as_bytes()),
        })
    });
    files.collect()
}

fn source(source: Source) -> Result<PolicySource, String> {
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
