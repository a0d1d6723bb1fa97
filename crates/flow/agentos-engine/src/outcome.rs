//! How a verb ended, for programs and people.
//!
//! Owns: the outcome's published shape. Never: prints.

use agentos_api::{Cause, NextStep};
use agentos_landing::LandingReport;
use agentos_policy::Decision;
use agentos_tool::{RunId, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;

use crate::checking::Tried;
use crate::context::Withheld;
use crate::ports::{EffectError, TargetInfo};

/// How a run ended, for its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// The change landed, or would land in a dry run.
    Landed,
    /// The answer does not land, or the repository cannot accept it.
    Refused,
    /// Policy denies the change.
    Denied,
    /// Policy asks for a person, and none said yes.
    ConsentNeeded,
    /// The files already have the content that the change gives them.
    NothingToDo,
    /// A tool or an effect failed.
    Failed,
}

/// Position of a run's evidence on the tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceRef {
    /// Hash of the run's last record.
    pub head: String,
    /// Hash of the intent record, which the commit's trailer names. `None` if there is no intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// An attempt that did not land and was followed by another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedAttempt {
    /// Number of the attempt; 1 is the first.
    pub attempt: u32,
    /// Stable code of the reason. `None` if there is none.
    pub code: Option<String>,
    /// The reason in one sentence.
    pub message: String,
}

/// The end of `apply`, `run` and `undo`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Outcome {
    /// Version of this shape: 1.
    pub version: u32,
    /// How the run ended.
    pub outcome: OutcomeKind,
    /// Cause of this end, from which a front end derives the exit code.
    pub cause: Cause,
    /// Stable code of the reason, such as `ambiguous` or `dirty-overlap`. `None` if the change landed.
    pub code: Option<String>,
    /// The end of the run in one sentence.
    pub message: String,
    /// Advice on the next step, in words. `None` if there is none.
    pub hint: Option<String>,
    /// Possible next steps as data, the best first. A front end words them itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Causes of a failure, from the outermost to the root. The message may contain their words already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The run.
    pub run: RunId,
    /// The target of the change. `None` if the run ended before it was resolved.
    pub target: Option<TargetInfo>,
    /// The commit made. `None` if none was made.
    pub commit: Option<String>,
    /// The resulting tree. `None` if nothing landed.
    pub tree: Option<String>,
    /// SHA-256 of the canonical diff. `None` if the answer was not placed.
    pub diff_sha256: Option<String>,
    /// Paths touched.
    pub files: Vec<String>,
    /// Touched paths that no longer exist after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<String>,
    /// Paths that somebody edited while the change was written; their work was left alone.
    pub kept: Vec<String>,
    /// How the answer was read and placed. `None` if it was not.
    pub report: Option<LandingReport>,
    /// Policy's decision. `None` if the run ended before it.
    pub decision: Option<Decision>,
    /// Named files that policy withheld from the tool.
    pub withheld: Vec<Withheld>,
    /// The verdict on the tool's last call. `None` for `apply` and `undo`.
    pub result: Option<ToolResult>,
    /// Last lines of the output of the tool, a program or agent, if its last answer did not land; untrusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
    /// Earlier attempts of this run, none of which landed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<FailedAttempt>,
    /// The result of the user's check. `None` if nothing was checked.
    pub check: Option<Tried>,
    /// Attempts made by the tool; 0 when there was no tool.
    pub attempts: u32,
    // A whole number: the sum of fractions would depend on the order of the attempts.
    /// Cost of the tokens of all attempts by the profile's price, in millionths of a US dollar. `None` if the cost of one
    /// attempt is unknown.
    pub cost_micro_usd: Option<u64>,
    /// The run's evidence. `None` if nothing could be recorded.
    pub evidence: Option<EvidenceRef>,
    /// True if the change was written, whatever failed after it. Such an end is never recorded as a refusal.
    #[serde(skip)]
    #[schemars(skip)]
    pub written: bool,
}

impl Outcome {
    /// Makes an outcome with nothing but its kind, cause and message.
    #[must_use]
    pub fn new(run: &RunId, outcome: OutcomeKind, cause: Cause, message: impl Into<String>) -> Self {
        Self {
            version: 1,
            outcome,
            cause,
            code: None,
            message: message.into(),
            hint: None,
            next: Vec::new(),
            causes: Vec::new(),
            run: run.clone(),
            target: None,
            commit: None,
            tree: None,
            diff_sha256: None,
            files: Vec::new(),
            deleted: Vec::new(),
            kept: Vec::new(),
            report: None,
            decision: None,
            withheld: Vec::new(),
            result: None,
            output: Vec::new(),
            earlier: Vec::new(),
            check: None,
            attempts: 0,
            cost_micro_usd: None,
            evidence: None,
            written: false,
        }
    }

    /// Makes the outcome of a failed effect; its kind follows from the error's cause.
    #[must_use]
    pub fn from_effect(run: &RunId, error: &EffectError) -> Self {
        let kind = match error.cause {
            // The change itself, or the state it meets, is at fault: another answer or another state may land.
            Cause::Repository | Cause::Landing => OutcomeKind::Refused,
            Cause::Policy => OutcomeKind::Denied,
            Cause::Consent => OutcomeKind::ConsentNeeded,
            Cause::Done
            | Cause::Internal
            | Cause::Usage
            | Cause::Tool
            | Cause::Evidence
            | Cause::Limit
            | Cause::Interrupted => OutcomeKind::Failed,
        };
        let mut outcome = Self::new(run, kind, error.cause, error.message.clone());
        outcome.code = Some(error.code.clone());
        outcome.hint.clone_from(&error.hint);
        outcome.next.clone_from(&error.next);
        outcome.causes = error.causes().to_vec();
        outcome
    }

    /// Returns true if the change landed, or would land in a dry run.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.outcome == OutcomeKind::Landed
    }
}
