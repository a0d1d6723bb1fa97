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

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// What was asked for happened.
    Landed,
    /// The answer does not land, or the repository cannot take it.
    Refused,
    /// Policy says no.
    Denied,
    /// Policy asks for a person, and none said yes.
    ConsentNeeded,
    /// The result is there already.
    NothingToDo,
    /// A tool or an effect failed.
    Failed,
}

/// Where the evidence of a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceRef {
    /// Hash of the run's last record.
    pub head: String,
    /// Hash of the intent record, which the commit's trailer names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// The end of `apply`, `run` and `undo`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Outcome {
    /// Version of this shape: 1.
    pub version: u32,
    /// What became of it.
    pub outcome: OutcomeKind,
    /// Whose doing that is.
    pub cause: Cause,
    /// Stable code where it did not land, as in `ambiguous` or `dirty-overlap`.
    pub code: Option<String>,
    /// One sentence.
    pub message: String,
    /// What to do next, in words.
    pub hint: Option<String>,
    /// What to do next, as data: alternatives, the best first. A front end words them itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// What brought a failure about, from the outermost cause to the root. The message may hold their words already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The run.
    pub run: RunId,
    /// Where it was to land.
    pub target: Option<TargetInfo>,
    /// The commit made.
    pub commit: Option<String>,
    /// The resulting tree.
    pub tree: Option<String>,
    /// SHA-256 of the canonical diff.
    pub diff_sha256: Option<String>,
    /// Paths touched.
    pub files: Vec<String>,
    /// Paths that somebody edited while the change was written; their work was left alone.
    pub kept: Vec<String>,
    /// How the answer was read and placed.
    pub report: Option<LandingReport>,
    /// What policy said.
    pub decision: Option<Decision>,
    /// Files that were named and that policy kept from the tool.
    pub withheld: Vec<Withheld>,
    /// The tool's call, for `run`.
    pub result: Option<ToolResult>,
    /// What came of the check that was asked for, for `run`.
    pub check: Option<Tried>,
    /// Attempts made by the tool; 0 when there was no tool.
    pub attempts: u32,
    /// What the tokens of all attempts cost by the profile's price, in millionths of a US dollar; none where that of one
    /// is not known.
    pub cost_micro_usd: Option<u64>,
    /// The evidence.
    pub evidence: Option<EvidenceRef>,
    /// The change was made, whatever failed after it: such an end is never recorded as a refusal.
    #[serde(skip)]
    #[schemars(skip)]
    pub written: bool,
}

impl Outcome {
    /// An outcome with nothing but its kind and words.
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
            kept: Vec::new(),
            report: None,
            decision: None,
            withheld: Vec::new(),
            result: None,
            check: None,
            attempts: 0,
            cost_micro_usd: None,
            evidence: None,
            written: false,
        }
    }

    /// The outcome of a failed effect: refused when the repository is the reason, failed otherwise.
    #[must_use]
    pub fn from_effect(run: &RunId, error: &EffectError) -> Self {
        let kind = match error.cause {
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

    /// True when what was asked for happened.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.outcome == OutcomeKind::Landed
    }
}
