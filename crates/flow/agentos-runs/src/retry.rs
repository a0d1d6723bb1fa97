//! `agentos retry`: the task of an earlier run again, with what it answered as history.
//!
//! Owns: the task and the target of the new run, from the record of the earlier one. Never: asks a tool.

use agentos_api::{NextStep, Notice};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_engine::recorded::{read_body, unknown_run};
use agentos_engine::task_options::{FollowKind, TaskOptions};
use agentos_evidence::{RecordKind, RunSummary, Store};
use agentos_tool::short_run;
use serde::Deserialize;
use serde_json::Value;

use crate::Runs;
use crate::recorded_options::{restore_session, restore_task};
use agentos_ground::error::usage_error;
use agentos_ground::options::{ProviderOverrides, SessionOptions};
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::repository;
use agentos_ground::run_ref::find_summary;
use agentos_ground::tape::open_store;
use agentos_ground::tape::{TapeReader, evidence_error};
use agentos_ground::task_spec::{FollowSpec, TaskSpec};
use agentos_providers::model_name::{ModelName, ModelNames, NamedModel};

/// The order to do a task again. What it does not name is as in the earlier run.
#[derive(Debug, Clone, Default)]
pub struct RetrySpec {
    /// The earlier run, as a person names it.
    pub run: String,
    /// Remark on its answer. `None` means the comment with which a person declined it, if there is one.
    pub remark: Option<String>,
    /// Another provider, perhaps with a model. `None` means that of the earlier run.
    pub provider: Option<ModelName>,
    /// Settings that override the profile.
    pub overrides: ProviderOverrides,
    /// Another target, and further limits.
    pub session: SessionOptions,
    /// Another commit message. `None` means that of the earlier run.
    pub message: Option<String>,
    /// Land the edits that have one place, although others have none.
    pub partial: bool,
}

/// The beginning of a run as the tape has it.
#[derive(Deserialize)]
pub(crate) struct BegunTask {
    verb: String,
    pub(crate) provider: String,
    pub(crate) model: Option<String>,
    pub(crate) instruction: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    options: Option<TaskOptions>,
}

impl Runs<'_> {
    /// Makes the task and the target of a run that does an earlier one again.
    ///
    /// # Errors
    /// If no one run is meant, a person brought its answer, or an option that it needs is not on the tape.
    pub fn plan_retry(self, spec: &RetrySpec) -> Result<(TaskSpec, SessionOptions), EffectError> {
        let store = open_store(self.ground)?;
        let found = find_summary(&store, &spec.run, None)?;
        let run = source_of(&store, &found)?;
        let (begun, shown) = read_begin(store, &run)?;
        refuse_other_verbs(&run, &begun.verb)?;
        let options = begun.options.clone().unwrap_or_else(|| TaskOptions {
            // Tapes of earlier versions have no options, but they say which files the tool was shown and which model answered.
            files: shown,
            model: begun.model.clone(),
            ..TaskOptions::default()
        });
        refuse_redacted(&run, &begun, &options)?;
        let repo = repository::open(self.ground)?;
        let work_dir = repo.work_dir().unwrap_or_else(|| repo.common_dir());
        let mut task = restore_task(self.ground, work_dir, &begun, &options);
        let names = ModelNames::read(self.ground)?;
        let before = ModelName {
            provider: task.provider.provider.clone(),
            model: task.provider.overrides.model.clone(),
        };
        let meant = names.find_model(NamedModel {
            provider: spec.provider.clone(),
            model: spec.overrides.model.as_deref(),
            usual: Some(before.clone()),
        })?;
        let meant = meant.filter(|meant| *meant != before || spec.provider.is_some());
        let spec = &RetrySpec {
            provider: meant,
            ..spec.clone()
        };
        change_provider(&mut task, &run, &options, spec)?;
        if options.own_message {
            task.message = begun.message;
        }
        let comment = found.comment.filter(|_| spec.remark.is_none());
        if let Some(comment) = &comment {
            let message =
                format!("the tool is shown the comment with which its change was declined: {comment}");
            self.ground.notify(Notice::new("comment-passed-on", message));
        }
        task.message = spec.message.clone().or(task.message);
        task.partial |= spec.partial;
        task.follows = Some(FollowSpec {
            run,
            how: FollowKind::Retry,
            remark: spec.remark.clone().or(comment),
        });
        Ok((task, restore_session(self.ground, &options, &spec.session)))
    }
}

/// Returns the run that asked the tool: for the landing of a recorded answer, the run that recorded it.
fn source_of(store: &Store, found: &RunSummary) -> Result<String, EffectError> {
    let records = store.run(&found.run).map_err(|error| evidence_error(&error))?;
    let begin = records.iter().find(|record| record.kind == RecordKind::Task);
    let source = begin.and_then(|record| record.body.pointer("/source/run")?.as_str());
    Ok(source.unwrap_or(&found.run).to_owned())
}

/// Reads the beginning of a run, and the files that its tool was shown last.
fn read_begin(store: Store, run: &str) -> Result<(BegunTask, Vec<String>), EffectError> {
    let records = store.run(run).map_err(|error| evidence_error(&error))?;
    let tape = TapeReader(Box::new(store));
    let mut begun = None;
    let mut shown = Vec::new();
    for record in &records {
        match record.kind {
            RecordKind::Task => begun = Some(read_body(&tape, record)?),
            RecordKind::Attempt => {
                let paths = record.body.get("context").cloned().unwrap_or_default();
                shown = serde_json::from_value(paths).unwrap_or_default();
            }
            _ => {}
        }
    }
    let begun: Value = begun.ok_or_else(|| unknown_run(run))?;
    let begun = serde_json::from_value(begun).map_err(|error| {
        let message = format!("the beginning of run `{run}` has an unexpected form: {error}");
        EffectError::from_source(Cause::Evidence, "evidence-invalid-record", message, &error)
    })?;
    Ok((begun, shown))
}

/// Refuses runs that gave no task to a tool, or were to land nothing.
fn refuse_other_verbs(run: &str, verb: &str) -> Result<(), EffectError> {
    let short = short_run(run);
    match verb {
        "run" | "retry" => Ok(()),
        "tool run" => Err(usage_error(format!("run `{short}` was to land nothing"))
            .suggest_steps([NextStep::LandRecorded { run: run.to_owned() }])),
        _ => Err(usage_error(format!(
            "run `{short}` gave no task to a tool, so there is none to give again"
        ))
        .suggest_steps([NextStep::LandRecorded { run: run.to_owned() }, NextStep::ListRuns])),
    }
}

/// Refuses a run from whose record a secret was removed: with `[redacted]` in its place, the task would be another.
fn refuse_redacted(run: &str, begun: &BegunTask, options: &TaskOptions) -> Result<(), EffectError> {
    let texts = [&begun.instruction]
        .into_iter()
        .chain(&options.command)
        .chain(&options.check);
    if !texts.into_iter().any(|text| text.contains("[redacted]")) {
        return Ok(());
    }
    let message = format!(
        "the record of run `{}` leaves out a secret of its task",
        short_run(run)
    );
    Err(usage_error(message).suggest_steps([NextStep::RunTask {
        provider: Some(begun.provider.clone()),
    }]))
}

/// Applies the provider and the settings that the caller names.
fn change_provider(
    task: &mut TaskSpec,
    run: &str,
    options: &TaskOptions,
    spec: &RetrySpec,
) -> Result<(), EffectError> {
    let choice = &mut task.provider;
    let other = spec.provider.as_ref().map(|name| &name.provider);
    if let Some(provider) = other.filter(|other| **other != choice.provider) {
        choice.provider = provider.clone();
        // These belong to the other provider: its model, its address, its key.
        choice.overrides.model = None;
        choice.overrides.base_url = None;
        choice.overrides.send_key = false;
        choice.edit_format = None;
        choice.needs.clear();
        if options.wordless {
            let message = format!(
                "the task of run `{}` is a command line, not words",
                short_run(run)
            );
            return Err(usage_error(message).suggest_steps([NextStep::RunTask { provider: None }]));
        }
        task.program.command.clear();
    } else if options.left_out.iter().any(|name| name == "base-url") && spec.overrides.base_url.is_none() {
        let message = format!(
            "the record of run `{}` has no address of its server",
            short_run(run)
        );
        return Err(usage_error(message).suggest_steps([NextStep::NameBaseUrl { example: None }]));
    }
    if choice.provider == ProviderKind::Replay {
        let message = format!(
            "run `{}` played a recording back, and would give the same answer",
            short_run(run)
        );
        return Err(usage_error(message).suggest_steps([NextStep::LandRecorded { run: run.to_owned() }]));
    }
    let (mine, over) = (&spec.overrides, &mut choice.overrides);
    let named = spec.provider.clone().unwrap_or_else(|| ModelName {
        provider: choice.provider.clone(),
        model: None,
    });
    over.model = named.model.or(over.model.take());
    over.base_url = mine.base_url.clone().or(over.base_url.take());
    over.send_key |= mine.send_key;
    over.timeout_seconds = mine.timeout_seconds.or(over.timeout_seconds);
    let (mine, over) = (mine.timeouts, &mut over.timeouts);
    over.connect_seconds = mine.connect_seconds.or(over.connect_seconds);
    over.first_byte_seconds = mine.first_byte_seconds.or(over.first_byte_seconds);
    over.idle_seconds = mine.idle_seconds.or(over.idle_seconds);
    over.total_seconds = mine.total_seconds.or(over.total_seconds);
    Ok(())
}
