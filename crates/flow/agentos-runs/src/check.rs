//! `run --check`: the user's command on a copy with the candidate in it.
//!
//! Owns: the files that the command may see, and the change as files. Never: lands anything, or runs the command where the
//! kernel does not confine it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentos_api::{Activity, NextStep, Notice, RunLimit, RunOption};
use agentos_engine::ports::{BaseCheck, Check, EffectError, Repository as _, TargetInfo};
use agentos_engine::{Cause, Tried};
use agentos_evidence::RecordKind;
use agentos_landing::{Base, Change, FileMode};
use agentos_programs::{CandidateFile, Trial, TrialResult};
use agentos_sandbox::SandboxProbe;
use agentos_tool::{BoxFuture, ProgressSink, ToolError, ToolFailure};
use serde::Deserialize;

use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::{CheckOptions, ProgramOptions};
use agentos_providers::check_needs::{CheckSurroundings, UnshownRemedy, find_needs, unshown_notice};
use agentos_providers::check_presets::choose_check;
use agentos_providers::programs::{self, ExecutorCopies};
use agentos_providers::session::Session;
use agentos_providers::tools::Tool;

/// The user's check, ready to run on candidates.
pub struct Checker {
    trial: Trial,
    copies: ExecutorCopies,
    command: String,
    run: String,
    ground: Ground,
    /// Activity of the tool, which goes on after a check that fails.
    tool_activity: Activity,
    /// Results on commits without a change, by commit.
    on_base: Mutex<BTreeMap<String, BaseCheck>>,
}

impl Checker {
    /// Prepares the check of a run. `None` if the run has none. The check sees the same files as the tool, because the tool is
    /// shown its output.
    ///
    /// # Errors
    /// If the kernel cannot confine it, or a folder cannot be shared with it.
    pub fn prepare_check(
        ground: &Ground,
        asked: Option<&CheckOptions>,
        flags: &ProgramOptions,
        tool: &Tool,
        session: &Session,
        run: &str,
    ) -> Result<Option<Self>, EffectError> {
        let Some(asked) = asked else {
            return Ok(None);
        };
        let target = session.port().target()?;
        let base = session.port().base(&target)?;
        let command = &choose_command(ground, &asked.command, base.as_ref())?;
        let (sandbox, held) = programs::start_sandbox(ground, programs::ToolUse::Run)?;
        refuse_unconfined(command, &held, RunOption::Check)?;
        let mut program = Trial::program();
        // Rules about reading can test both, so the check's copy lacks the same files as the tool's.
        program.provider = tool.adapter.provider().to_owned();
        program.mode = tool.adapter.supports().execution_mode;
        program.readable = programs::readable_paths(ground, flags)?;
        program.shared = programs::shared_folders(ground, flags, session)?;
        let copies = ExecutorCopies::new(session, &program, held.clone())?;
        let mut places = programs::program_places(ground);
        let around = CheckSurroundings {
            environment: ground.environment(),
            places: &places,
            work_dir: session.work_dir(),
            base: base.as_ref(),
        };
        let needs = find_needs(command, &around);
        // The user can name such a place with `--read`, and it is then shown.
        let unshown = needs.unshown.iter().filter(|place| {
            let mut read = program
                .readable
                .iter()
                .filter_map(|named| named.canonicalize().ok());
            !read.any(|named| place.real.starts_with(named))
        });
        let unshown: Vec<_> = unshown.cloned().collect();
        if let Some(notice) = unshown_notice(ground.environment(), &unshown, UnshownRemedy::Reading) {
            ground.notify(notice);
        }
        program.readable.extend(needs.readable);
        program.env = needs.env;
        places.path.splice(0..0, needs.path_first);
        let time = Duration::from_secs(asked.timeout_seconds);
        let trial = Trial::new(program, places, sandbox, command, time);
        Ok(Some(Self {
            trial: trial.with_views(needs.views, needs.freshens),
            copies,
            command: command.clone(),
            run: run.to_owned(),
            ground: ground.clone(),
            tool_activity: tool.activity(),
            on_base: Mutex::new(recall_base_checks(session, command)?),
        }))
    }

    /// Notifies a person if the command failed on the run's commit before, without any change. The run goes on: making the check
    /// pass may be its task.
    pub fn announce_red_base(&self, base_commit: &str) {
        if self.recall_base(base_commit) == Some(BaseCheck::FailedBefore) {
            let short = base_commit.get(..10).unwrap_or(base_commit);
            let message = format!("`{}` failed on {short} before, without a change", self.command);
            self.ground.notify(Notice::new("check-failed-before", message));
        }
    }

    fn to_tried(&self, verdict: TrialResult) -> Tried {
        Tried {
            command: self.command.clone(),
            // No code means that the command was killed at its limit, whatever its output says.
            passed: verdict.code == Some(0),
            code: verdict.code,
            said: verdict.said,
            elapsed_ms: verdict.elapsed_ms,
            layers: verdict.layers,
        }
    }
}

impl Check for Checker {
    fn check<'a>(
        &'a self,
        target: &'a TargetInfo,
        change: Option<&'a Change>,
        attempt: u32,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<Tried, EffectError>> {
        let what = if change.is_some() { "check" } else { "base" };
        let name = format!("{}.{attempt}.{what}", self.run);
        let copies = Box::new(self.copies.for_target(target));
        Box::pin(async move {
            self.ground.observer().on_activity(Activity::RunningCheck);
            let verdict = self
                .trial
                .run(
                    &name,
                    copies,
                    change.map(to_candidate_files).unwrap_or_default(),
                    progress,
                )
                .await;
            let tried = verdict
                .map(|verdict| self.to_tried(verdict))
                .map_err(|error| to_check_error(&error))?;
            if change.is_none() {
                self.remember_base(target, &tried);
            }
            if change.is_none() || !tried.passed {
                // The first call, or the next attempt if there is one, begins at once.
                self.ground.observer().on_activity(self.tool_activity);
            }
            Ok(tried)
        })
    }

    fn recall_base(&self, base_commit: &str) -> Option<BaseCheck> {
        let known = self.on_base.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(base_commit).cloned()
    }
}

impl Checker {
    fn remember_base(&self, target: &TargetInfo, tried: &Tried) {
        let result = if tried.passed {
            BaseCheck::Passed
        } else {
            BaseCheck::Failed(Box::new(tried.clone()))
        };
        // Each entry is replaced as a whole, so a panic leaves none half written.
        let mut known = self.on_base.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(target.base_commit.clone(), result);
    }
}

/// Refuses to run a command without every layer of the sandbox, unlike a tool: it runs code that a model has just written.
///
/// # Errors
/// With the missing layers, and `option` as the one to leave out.
pub(crate) fn refuse_unconfined(
    command: &str,
    held: &SandboxProbe,
    option: RunOption,
) -> Result<(), EffectError> {
    let why = match held.get() {
        Ok(report) if report.is_whole() => return Ok(()),
        Ok(report) => {
            let missing: Vec<&str> = report.missing().iter().map(|layer| layer.as_str()).collect();
            format!("the kernel does not give it {}", missing.join(", "))
        }
        Err(why) => why.clone(),
    };
    let message = format!("`{command}` cannot be run in a sandbox here: {why}");
    Err(EffectError::new(Cause::Tool, "not-confined", message).suggest_steps([NextStep::LeaveOut { option }]))
}

/// Command that means the one that the committed files suggest.
const AUTO: &str = "auto";

/// Returns the command, chosen for the project if it is [`AUTO`], and notifies a person of the choice.
///
/// # Errors
/// If nothing suggests a command.
fn choose_command(ground: &Ground, asked: &str, base: &dyn Base) -> Result<String, EffectError> {
    if asked.trim() != AUTO {
        return Ok(asked.to_owned());
    }
    let Some(chosen) = choose_check(base) else {
        let message = "no committed file suggests a check: there is no Cargo.toml, go.mod, package.json with a test script, \
                       pytest or Makefile with a target `check` or `test`";
        return Err(usage_error(message)
            .suggest_steps([NextStep::LeaveOut {
                option: RunOption::Check,
            }])
            .hint("name the command"));
    };
    let message = format!("the check is `{}`, because of {}", chosen.command, chosen.because);
    ground.notify(Notice::new("check-chosen", message));
    Ok(chosen.command)
}

/// Parts of a recorded check that say how the command ended on which commit.
#[derive(Deserialize)]
struct RecordedCheck {
    command: String,
    #[serde(default)]
    hook: Option<String>,
    base_commit: String,
    diff_sha256: Option<String>,
    passed: bool,
}

/// Parts of a receipt that say which change became which commit.
#[derive(Deserialize)]
struct RecordedCommit {
    commit: String,
    parent: String,
    diff_sha256: String,
}

/// Reads from the tape how earlier runs of a command ended on commits without a change; the last result of a commit counts. A
/// change that passed and landed makes a commit on which the command passes: it has the same files.
///
/// # Errors
/// If the tape cannot be read.
fn recall_base_checks(session: &Session, command: &str) -> Result<BTreeMap<String, BaseCheck>, EffectError> {
    let mut known = BTreeMap::new();
    let mut passed = BTreeSet::new();
    for record in session.reader().records()? {
        let record = record?;
        // A longer body is a blob, and then the command runs once more. One with the result of a check is short.
        match record.kind {
            RecordKind::Check => {
                let Ok(check) = serde_json::from_value::<RecordedCheck>(record.body) else {
                    continue;
                };
                if check.command != command || check.hook.is_some() {
                    continue;
                }
                match (check.diff_sha256, check.passed) {
                    (Some(diff), true) => drop(passed.insert((check.base_commit, diff))),
                    (Some(_), false) => {}
                    (None, true) => drop(known.insert(check.base_commit, BaseCheck::Passed)),
                    (None, false) => drop(known.insert(check.base_commit, BaseCheck::FailedBefore)),
                }
            }
            RecordKind::Receipt => {
                if let Ok(landed) = serde_json::from_value::<RecordedCommit>(record.body)
                    && passed.contains(&(landed.parent, landed.diff_sha256))
                {
                    known.insert(landed.commit, BaseCheck::Passed);
                }
            }
            _ => {}
        }
    }
    Ok(known)
}

/// Returns the change as files, with the content after it at each of its paths.
pub(crate) fn to_candidate_files(change: &Change) -> Vec<CandidateFile> {
    let written = |file: &agentos_landing::FileChange| {
        let new = file.new.as_ref();
        CandidateFile {
            path: file.path.as_str().to_owned(),
            content: new.map(|new| new.content.to_vec()),
            executable: new.is_some_and(|new| new.mode == FileMode::Executable),
        }
    };
    change.files().iter().map(written).collect()
}

pub(crate) fn to_check_error(error: &ToolError) -> EffectError {
    let cause = match error.failure {
        ToolFailure::Timeout => Cause::Limit,
        ToolFailure::Failed => Cause::Tool,
    };
    let message = format!("the change could not be checked: {}", error.message);
    let mut effect = EffectError::new(cause, &error.detail, message).caused_by(error.causes.clone());
    effect.hint.clone_from(&error.advice.fix);
    // The check has a time limit of its own, so the advice must not name the tool's.
    let steps = error.advice.next.iter().map(|step| match step {
        NextStep::RaiseLimit { .. } => NextStep::RaiseLimit {
            limit: RunLimit::CheckTime,
        },
        other => other.clone(),
    });
    effect.suggest_steps(steps)
}
