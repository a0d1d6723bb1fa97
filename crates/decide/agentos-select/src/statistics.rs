//! Statistics of a pool's models, from what became of their turns.
//!
//! Owns: counting. Never: reads a ledger; turns come in as values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of changes of a task's own kind that count as much as all changes of other kinds.
const KIND_WEIGHT: f64 = 4.0;

/// End of a turn, as far as statistics need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnOutcome {
    /// Milliseconds of the call.
    pub latency_ms: u64,
    /// True if the call gave a complete answer.
    pub answered: bool,
    /// True if its change landed, passed its check and was not undone. `None` if it proposed nothing, or a person decides yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stayed: Option<bool>,
}

/// Record of a model's turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelRecord {
    /// Number of calls.
    pub calls: u64,
    /// Calls without a complete answer.
    pub failed: u64,
    /// Median of the latency of complete answers, in milliseconds. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<u64>,
    /// Changes that landed, passed their check and were not undone.
    pub stayed: u64,
    /// Changes that were refused, failed their check or were undone.
    pub rejected: u64,
}

impl ModelRecord {
    /// Returns the number of changes with a known end.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.stayed.saturating_add(self.rejected)
    }

    /// Returns the share of changes that stayed, with a bonus for a model that was tried seldom, after so many judged changes of all
    /// models. Infinite for a model without one.
    ///
    /// The share is that of the task's own kind as far as there are changes of this kind, and that of all kinds for the rest: the latter
    /// counts as much as [`KIND_WEIGHT`] changes. So two changes of a kind say little, and twenty almost everything. A `kind` without
    /// changes gives the share of all kinds.
    ///
    /// The bonus is that of PUCB (Rosin 2011, "Multi-armed bandits with episode context") and not the usual one of UCB1, because a
    /// square root is exact on every machine and a logarithm is not: a replay elsewhere must give the same choice.
    #[must_use]
    pub fn score(&self, kind: &Self, total: u64) -> f64 {
        let judged = self.judged();
        if judged == 0 {
            return f64::INFINITY;
        }
        let share = self.stayed as f64 / judged as f64;
        // Equal to `share` without changes of this kind, but not always to its last bit; earlier records must replay.
        let share = match kind.judged() {
            0 => share,
            of_kind => (kind.stayed as f64 + KIND_WEIGHT * share) / (of_kind as f64 + KIND_WEIGHT),
        };
        share + (total as f64).sqrt() / (judged as f64 + 1.0)
    }
}

/// Summarizes turns.
#[must_use]
pub fn summarize_turns(turns: &[TurnOutcome]) -> ModelRecord {
    let count = |is: &dyn Fn(&&TurnOutcome) -> bool| turns.iter().filter(is).count() as u64;
    let mut latencies: Vec<u64> = turns
        .iter()
        .filter(|turn| turn.answered)
        .map(|turn| turn.latency_ms)
        .collect();
    latencies.sort_unstable();
    ModelRecord {
        calls: turns.len() as u64,
        failed: count(&|turn| !turn.answered),
        // Of two in the middle the lower one: no number that was not measured.
        median_ms: latencies.get(latencies.len().saturating_sub(1) / 2).copied(),
        stayed: count(&|turn| turn.stayed == Some(true)),
        rejected: count(&|turn| turn.stayed == Some(false)),
    }
}
