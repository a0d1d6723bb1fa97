//! The end of a run, as a value.
//!
//! Owns: the type. Never: decides how a run ends.

use agentos_engine::Outcome;
use agentos_engine::run::JudgedCall;

/// The end of a run.
#[derive(Debug)]
pub enum RunEnd {
    /// The outcome of a change.
    Outcome(Box<RunOutcome>),
    /// The answer to a question and the verdict on it.
    Verdict(Box<JudgedCall>),
}

impl RunEnd {
    /// Returns the outcome. `None` for the answer to a question, because nothing was to land.
    #[must_use]
    pub fn into_outcome(self) -> Option<Outcome> {
        match self {
            Self::Outcome(done) => Some(done.outcome),
            Self::Verdict(_) => None,
        }
    }
}

/// The outcome of a change, with its diff.
#[derive(Debug)]
pub struct RunOutcome {
    /// The outcome, as it is published.
    pub outcome: Outcome,
    /// The canonical diff of an answer that lands. `None` if it does not land, or a tool made it.
    pub diff: Option<Vec<u8>>,
}

impl From<Outcome> for RunEnd {
    fn from(outcome: Outcome) -> Self {
        // A tool's diff is in its verdict already.
        Self::Outcome(Box::new(RunOutcome { outcome, diff: None }))
    }
}
