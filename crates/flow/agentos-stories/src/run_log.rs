//! The log of runs: one entry for each run, with its task and its result.
//!
//! Owns: which runs a filter selects, and the result of a run in one word. Never: reads more of the tape than the summaries.

use agentos_engine::ports::EffectError;
use agentos_evidence::{RecordKind, RunSummary};
use agentos_tool::{Timestamp, short_run};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Stories;
use agentos_ground::clock;
use agentos_ground::tape::evidence_error;
use agentos_ground::tape::open_store;

/// The output of `agentos log --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunLog {
    /// Version of this shape: 1.
    pub version: u32,
    /// The runs, newest first.
    pub runs: Vec<LoggedRun>,
    /// Number of older runs that the filters select but the limit leaves out.
    pub not_shown: usize,
    /// Number of all runs on the tape, with those that the filters leave out.
    pub all: usize,
}

/// A run of the log.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LoggedRun {
    /// Id of the run.
    pub run: String,
    /// The short id, which names the run as well unless another run has the same.
    pub short: String,
    /// Time of the first record, RFC 3339, UTC.
    pub began: String,
    /// The verb that began the run. `None` if it failed before it began.
    pub verb: Option<String>,
    /// Provider of the tool. `None` if the run failed before it began.
    pub provider: Option<String>,
    /// Configured model. `None` if there is none.
    pub model: Option<String>,
    /// Branch or other ref that the change was made for. `None` if the run failed before it was known.
    pub branch: Option<String>,
    /// The end of the run.
    pub result: RunResult,
    /// Paths that the last answer changes.
    pub files: Vec<String>,
    /// First line of the task. `None` if the run failed before it began.
    pub task: Option<String>,
    /// Run whose request this run answered, or closed without an answer. Left out if it did neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// Reason that the person gave who declined the change later. Left out if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunResult {
    /// How the run ended.
    pub kind: ResultKind,
    /// The code of a run that landed nothing. `None` for every other run.
    pub code: Option<String>,
    /// The commit that the run made. `None` if it made none.
    pub commit: Option<String>,
}

/// The end of a run, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// The change was written.
    Landed,
    /// The change would have landed; nothing was to be written.
    DryRun,
    /// The answer did not land, or the repository could not accept it.
    Refused,
    /// Policy denied the change.
    Denied,
    /// A person may still consent to the change.
    Waiting,
    /// Nobody consented in time.
    Expired,
    /// A person consented later, and another run landed the change.
    Approved,
    /// A person declined the change.
    Declined,
    /// A person was asked, and the change no longer landed when somebody answered.
    Void,
    /// The files had the content of the change already.
    NothingToDo,
    /// A tool or an effect failed.
    Failed,
    /// The run ended, and it was not to land anything.
    Ended,
    /// The run was killed, or still works.
    NotEnded,
}

/// The runs that a log shows. A filter that is `None` or false selects every run.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// A text in the task or in a path, whatever the case of its letters.
    pub text: Option<String>,
    /// The branch that the change was made for.
    pub branch: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// The results, of which a run must have one. Every result if it is empty.
    pub results: Vec<ResultKind>,
}

impl LogFilter {
    /// Returns whether the filter selects every run.
    fn selects_all(&self) -> bool {
        self.text.is_none() && self.branch.is_none() && self.provider.is_none() && self.results.is_empty()
    }

    /// Returns whether the filter selects a run.
    fn selects(&self, run: &LoggedRun) -> bool {
        let same = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
        let has_text = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            let mut texts = run.task.iter().chain(&run.files);
            texts.any(|text| text.to_lowercase().contains(&wanted))
        };
        // The cheap comparisons first: `has_text` converts the case of every path.
        same(&self.branch, &run.branch)
            && same(&self.provider, &run.provider)
            && (self.results.is_empty() || self.results.contains(&run.result.kind))
            && self.text.as_ref().is_none_or(has_text)
    }
}

impl Stories<'_> {
    /// Lists the runs that a filter selects, newest first and at most so many.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn run_log(self, filter: &LogFilter, limit: usize) -> Result<RunLog, EffectError> {
        if filter.selects_all() {
            return self.newest_log(limit);
        }
        // One time for all runs, so that two requests with the same end are both open or both expired.
        let (runs, now) = (self.list_runs()?, clock::now());
        let all = runs.len();
        let newest = runs.iter().rev().map(|run| log_run(run, &now));
        let mut runs: Vec<LoggedRun> = newest.filter(|run| filter.selects(run)).collect();
        let not_shown = runs.len().saturating_sub(limit);
        runs.truncate(limit);
        Ok(RunLog {
            version: 1,
            runs,
            not_shown,
            all,
        })
    }

    /// Lists the newest runs. The bodies of all older records need not be parsed for that.
    fn newest_log(self, limit: usize) -> Result<RunLog, EffectError> {
        let newest = open_store(self.ground)?.newest_runs(limit);
        let newest = newest.map_err(|error| evidence_error(&error))?;
        let now = clock::now();
        Ok(RunLog {
            version: 1,
            not_shown: newest.all.saturating_sub(newest.runs.len()),
            runs: newest.runs.iter().rev().map(|run| log_run(run, &now)).collect(),
            all: newest.all,
        })
    }
}

/// Makes the entry of a run. `now` decides whether an open request has expired.
#[must_use]
pub fn log_run(run: &RunSummary, now: &Timestamp) -> LoggedRun {
    LoggedRun {
        run: run.run.clone(),
        short: short_run(&run.run).to_owned(),
        began: run.began.clone(),
        verb: run.verb.clone(),
        provider: run.provider.clone(),
        model: run.model.clone(),
        branch: run.branch.clone(),
        result: result_of(run, now),
        files: run.paths.clone(),
        task: run.task.clone(),
        answers: run.answers.clone(),
        comment: run.comment.clone(),
    }
}

fn result_of(run: &RunSummary, now: &Timestamp) -> RunResult {
    let kind = match (&run.code, run.last) {
        // First: a run with a commit has landed, whatever failed after it.
        _ if run.commit.is_some() => ResultKind::Landed,
        (Some(code), _) => without_change(run, code, now),
        (None, RecordKind::Receipt) if run.writes.as_deref() == Some("nothing") => ResultKind::DryRun,
        (None, RecordKind::Receipt) => ResultKind::Landed,
        (None, _) if run.ended_in_order => ResultKind::Ended,
        // A recovered landing is recorded alone, and the verb that found it may have had nothing else to do.
        (None, RecordKind::Recovered) => ResultKind::Ended,
        (None, _) => ResultKind::NotEnded,
    };
    RunResult {
        kind,
        code: run.code.clone().filter(|_| run.commit.is_none()),
        commit: run.commit.clone(),
    }
}

/// Returns the end of a run that landed nothing.
fn without_change(run: &RunSummary, code: &str, now: &Timestamp) -> ResultKind {
    let answer = run.answered.as_deref();
    match (answer, &run.asked_until, run.outcome.as_deref()) {
        (Some("approved"), _, _) => ResultKind::Approved,
        (Some("void"), _, _) => ResultKind::Void,
        (Some("expired"), _, _) => ResultKind::Expired,
        (Some(_), _, _) => ResultKind::Declined,
        // Records write UTC times with a fixed width, so comparing the texts compares the times.
        (None, Some(until), _) if until.as_str() > now.as_str() => ResultKind::Waiting,
        (None, Some(_), _) => ResultKind::Expired,
        (None, None, _) if code == "declined" => ResultKind::Declined,
        (None, None, Some("denied")) => ResultKind::Denied,
        (None, None, Some("nothing-to-do")) => ResultKind::NothingToDo,
        (None, None, Some("failed")) => ResultKind::Failed,
        (None, None, Some(_) | None) => ResultKind::Refused,
    }
}
