//! An answer on its way, and the effects that it may need.
//!
//! Owns: the shapes. Never: does a step of the way; `settle` does.

use agentos_landing::SeenFile;
use agentos_policy::ToolFacts;
use agentos_tool::{Enforcement, ExecutionMode, RunId, Timestamp};

use crate::ports::{Clock, ConsentPort, Evidence, Repository};

/// The effects a flow needs.
pub struct Deps<'a> {
    /// The repository and its target.
    pub repo: &'a dyn Repository,
    /// The tape.
    pub evidence: &'a mut dyn Evidence,
    /// A person, or nobody.
    pub consent: &'a mut dyn ConsentPort,
    /// The time.
    pub clock: &'a dyn Clock,
}

/// An untrusted answer and what is known about where it came from.
#[derive(Debug, Clone)]
pub struct Proposal<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The answer's bytes.
    pub answer: &'a [u8],
    /// What the tool was shown.
    pub seen: Vec<SeenFile>,
    /// Who made it.
    pub tool: ToolFacts,
    /// The model that the answer itself names.
    pub reported_model: Option<String>,
    /// Commit message without trailers.
    pub message: String,
    /// Trailers besides run and evidence, which the executor adds.
    pub trailers: Vec<(String, String)>,
    /// 1 for the first answer of a run.
    pub attempt: u32,
    /// Land what has one place although other parts have none; reported, never silent.
    pub partial: bool,
    /// The run whose request for consent this answers.
    pub answers: Option<String>,
    /// The change that passed the check which was asked for: no other may land then.
    pub proved: Option<Proved>,
}

/// Returns what policy is told of an answer that a person brought: nobody's model, on this machine.
#[must_use]
pub fn patch_facts(at: Timestamp) -> ToolFacts {
    ToolFacts {
        provider: "patch".to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        enforcement: Enforcement::Observed,
        attempt: 1,
        at,
        context_bytes: 0,
        target_ref: None,
        checked: false,
    }
}

/// Which change was tried, on which commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// The commit it was tried on.
    pub base_commit: String,
    /// SHA-256 of its canonical diff.
    pub diff_sha256: String,
}
