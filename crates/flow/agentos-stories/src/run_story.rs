//! Story of one earlier run, read from its records: the task, what the tool was shown and answered, and what became of it.
//!
//! Owns: the facts that a story has, and its published shape. Never: words it for one front end.

use agentos_api::NextStep;
use agentos_engine::ports::EffectError;
use agentos_engine::task_options::FollowedRun;
use agentos_landing::LandingReport;
use schemars::JsonSchema;
use serde::Serialize;

use self::reader::StoryReader;
use crate::Stories;
use crate::run_log::LoggedRun;
use agentos_ground::repository;

mod reader;
mod shown;

/// The output of `agentos show --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunStory {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run, as the log shows it.
    pub run: LoggedRun,
    /// Time of the last record, RFC 3339, UTC.
    pub ended: String,
    /// The whole task. `None` if the run failed before it began.
    pub task: Option<String>,
    /// Place of the tool: `local` or `cloud`. `None` if the run failed before it began.
    pub execution_mode: Option<String>,
    /// The commit that the change was made for. `None` if the run failed before it was known.
    pub base_commit: Option<String>,
    /// The earlier run whose task and answer the tool was shown. `None` if there is none.
    pub follows: Option<FollowedRun>,
    /// The run whose recorded answer this run landed. `None` if it had an answer of its own.
    pub answer_of: Option<String>,
    /// Every answer, or call of the tool, in order.
    pub attempts: Vec<StoryAttempt>,
    /// The last decision of the policy. `None` if there is none.
    pub decision: Option<StoryDecision>,
    /// A person's answer. `None` if nobody was asked.
    pub consent: Option<StoryConsent>,
    /// First line of the message of the run's commit. `None` if it made none, or the commit is gone.
    pub commit_subject: Option<String>,
    /// The end of a run that did not land. `None` for every other run.
    pub refusal: Option<StoryRefusal>,
}

/// Answer, or call of the tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct StoryAttempt {
    /// Number of the attempt; 1 is the first.
    pub attempt: u32,
    /// Files that the tool was shown.
    pub shown: Vec<String>,
    /// Files that policy withheld from the tool.
    pub withheld: Vec<String>,
    /// Bytes of the answer. `None` if there is none.
    pub answer_bytes: Option<u64>,
    /// The model that the answer names. `None` if it names none.
    pub model: Option<String>,
    /// Time of the call in milliseconds. `None` if no tool was called.
    pub latency_ms: Option<u64>,
    /// Tokens of the prompt. `None` if nobody said.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer. `None` if nobody said.
    pub output_tokens: Option<u64>,
    /// Cost of the tokens in millionths of a US dollar. `None` if the price is unknown.
    pub cost_micro_usd: Option<u64>,
    /// The reason why the call failed, or why its answer was no success. `None` if it was.
    pub error: Option<String>,
    /// The reason why the answer did not land. `None` if it did, or was not placed.
    pub refused: Option<String>,
    /// The files of the answer, with how each was placed.
    pub files: Vec<StoryFile>,
    /// The result of the check. `None` if nothing was checked.
    pub check: Option<StoryCheck>,
    /// The results of the repository's hooks. Left out if none was run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<StoryCheck>,
}

/// A file of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoryFile {
    /// Path of the file.
    pub path: String,
    /// Lines added, by the canonical diff.
    pub added: u64,
    /// Lines removed, by the canonical diff.
    pub removed: u64,
    /// How its edits were placed, each way once, as in `exact-moved`.
    pub placed: Vec<String>,
    /// The reason why an edit has no place. `None` if all have one.
    pub refused: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoryCheck {
    /// The command.
    pub command: String,
    /// True if it succeeded.
    pub passed: bool,
    /// The exit code. `None` if it was ended at its time limit.
    pub code: Option<u64>,
    /// Milliseconds from start to end.
    pub elapsed_ms: u64,
    /// True if the command succeeds on the base without the change. `None` if that was not tried.
    pub passes_without: Option<bool>,
}

/// A decision of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoryDecision {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The rules that decided, each once.
    pub rules: Vec<StoryRule>,
}

/// A rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoryRule {
    /// Name of the rule.
    pub rule: String,
    /// The reason that it gives.
    pub why: String,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoryConsent {
    /// True for a yes.
    pub given: bool,
    /// The person. `None` if nobody has answered.
    pub who: Option<String>,
    /// The way of answering, such as `--yes`. `None` if nobody has answered.
    pub how: Option<String>,
    /// Name of the device that signed the answer. `None` if none did. Left out then. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Time until which the request can be answered. `None` if the run left no request.
    pub until: Option<String>,
    /// Reason that the person gave for a no. Left out if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// The end of a run that did not land.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoryRefusal {
    /// The code. `None` if there is none.
    pub code: Option<String>,
    /// The reason in one sentence.
    pub message: String,
    /// Advice in words. `None` if there is none.
    pub hint: Option<String>,
    /// Possible next steps, the best first.
    pub next: Vec<NextStep>,
}

/// A text that a run recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunText {
    /// The last answer, as it came.
    Answer,
    /// The prompt of the last call, without secrets.
    Prompt,
    /// The last canonical diff.
    Diff,
}

/// Output of a program, an agent or a check.
#[derive(Debug, Clone)]
pub struct RunOutput {
    /// The attempt.
    pub attempt: u32,
    /// The check's command. `None` for the tool's own output.
    pub check: Option<String>,
    /// The output, without secrets; untrusted.
    pub text: Vec<u8>,
}

impl Stories<'_> {
    /// Reads the story of the run that a reference names, of the newest if there is none.
    ///
    /// # Errors
    /// If no one run fits, or its records cannot be read.
    pub fn run_story(self, reference: Option<&str>) -> Result<RunStory, EffectError> {
        let reader = StoryReader::open(self.ground, reference)?;
        let mut story = reader.tell_story()?;
        // The tape has only the commit's id: its message belongs to git, where a person may have amended it.
        let repo = repository::open(self.ground)?;
        story.commit_subject = story
            .run
            .result
            .commit
            .as_ref()
            .and_then(|id| Some(repo.commit(id)?.subject));
        Ok(story)
    }

    /// Reads the report of a run's last landing. `None` if nothing was placed.
    ///
    /// # Errors
    /// If no one run fits, or its records cannot be read.
    pub fn landing_report(self, run: &str) -> Result<Option<LandingReport>, EffectError> {
        Ok(StoryReader::open(self.ground, Some(run))?.read_landing())
    }

    /// Reads a text that a run recorded.
    ///
    /// # Errors
    /// If no one run fits, or it has no such text.
    pub fn run_text(self, reference: Option<&str>, wanted: RunText) -> Result<Vec<u8>, EffectError> {
        StoryReader::open(self.ground, reference)?.read_text(wanted)
    }

    /// Reads the output of a run's tool and of its checks, in the order of the attempts.
    ///
    /// # Errors
    /// If no one run fits, or it has no output.
    pub fn run_output(self, reference: Option<&str>) -> Result<Vec<RunOutput>, EffectError> {
        // All of it, in order: the output of an attempt that failed explains the feedback that the next one was given.
        StoryReader::open(self.ground, reference)?.read_output()
    }
}
