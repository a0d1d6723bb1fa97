//! Circuit breaker: a model whose server fails again and again is left out for a while.
//!
//! Owns: which failures count, and how long a model is left out. Never: reads a clock or a ledger; calls come in as values, and what
//! was counted is recorded with the choice.
//!
//! | state | when | the model |
//! |---|---|---|
//! | closed | fewer than [`MOST_FAILURES`] failures in a row | is offered |
//! | open | as many or more, and the pause is not over | is left out, unless no other model fits |
//! | half open | the pause is over | is offered; one more failure begins a pause of twice the length, a whole answer closes the circuit |
//!
//! Only failures of a server or of the way to it count. A refused key is a setting that a person must see, and a stopped turn says
//! nothing about the server.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of failures in a row that open a circuit.
pub const MOST_FAILURES: u64 = 3;
/// First pause, in milliseconds.
const FIRST_PAUSE: u64 = 30_000;
/// Longest pause, in milliseconds.
const LONGEST_PAUSE: u64 = 300_000;
/// Time before a choice in which calls count, in milliseconds: an older failure opens no circuit.
pub const CIRCUIT_WINDOW: u64 = 2 * LONGEST_PAUSE;

/// Codes of failures that count.
const COUNTED: [&str; 10] = [
    "dns",
    "refused",
    "connect-timeout",
    "read-timeout",
    "timeout",
    "closed",
    "broken-stream",
    "rate-limited",
    "overloaded",
    "server-error",
];
/// Codes of ends that neither count nor end a series: nobody knows how the call would have gone on.
const NEUTRAL: [&str; 3] = ["cancelled", "interrupted", "loading"];

/// End of an earlier call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    /// Time of the end, in milliseconds since 1970.
    pub at_ms: u64,
    /// Code of the failure. `None` if there was a whole answer.
    pub failure: Option<String>,
}

/// Failures in a row of a model, up to a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CircuitFacts {
    /// Number of failures without a whole answer in between. At least one.
    pub failures: u64,
    /// Code of the last failure.
    pub code: String,
    /// Milliseconds from the last failure to the choice.
    pub since_ms: u64,
}

/// State of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    /// The model is offered.
    Closed,
    /// The model is left out.
    Open {
        /// Milliseconds until it is offered again.
        remaining_ms: u64,
    },
    /// The model is offered, and its next call decides.
    HalfOpen,
}

impl CircuitFacts {
    /// Counts the failures of a model, from its calls, the newest first. `None` if its last call gave a whole answer, or failed in a
    /// way that does not count.
    #[must_use]
    pub fn count(calls: &[PastCall], now_ms: u64) -> Option<Self> {
        let recent = calls
            .iter()
            .filter(|call| now_ms.saturating_sub(call.at_ms) <= CIRCUIT_WINDOW);
        let telling = recent.filter_map(|call| match call.failure.as_deref() {
            Some(code) if NEUTRAL.contains(&code) => None,
            failure => Some((call.at_ms, failure)),
        });
        let mut series = telling.map_while(|(at_ms, failure)| {
            let code = failure.filter(|code| COUNTED.contains(code))?;
            Some((at_ms, code))
        });
        let (at_ms, code) = series.next()?;
        Some(Self {
            failures: 1 + series.count() as u64,
            code: code.to_owned(),
            since_ms: now_ms.saturating_sub(at_ms),
        })
    }

    /// Returns the state of the circuit.
    #[must_use]
    pub fn state(&self) -> CircuitState {
        let Some(more) = self.failures.checked_sub(MOST_FAILURES) else {
            return CircuitState::Closed;
        };
        let factor = 1_u64
            .checked_shl(u32::try_from(more).unwrap_or(u32::MAX))
            .unwrap_or(u64::MAX);
        let pause = FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE);
        match pause.checked_sub(self.since_ms) {
            None | Some(0) => CircuitState::HalfOpen,
            Some(remaining_ms) => CircuitState::Open { remaining_ms },
        }
    }

    /// Returns whether the model is left out.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.state() {
            CircuitState::Open { .. } => true,
            CircuitState::Closed | CircuitState::HalfOpen => false,
        }
    }
}

impl fmt::Display for CircuitFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.failures == 1 { "call" } else { "calls" };
        write!(
            f,
            "{} {word} in a row failed, the last one ({})",
            self.failures, self.code
        )?;
        write!(f, " {} s ago", self.since_ms / 1000)?;
        match self.state() {
            // Rounded up: whoever comes back after this time is not sent away again.
            CircuitState::Open { remaining_ms } => {
                write!(f, "; asked again in {} s", remaining_ms.div_ceil(1000))
            }
            CircuitState::Closed | CircuitState::HalfOpen => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 10_000_000;

    fn call(seconds_ago: u64, failure: &str) -> PastCall {
        PastCall {
            at_ms: NOW - seconds_ago * 1000,
            failure: (failure != "ok").then(|| failure.to_owned()),
        }
    }

    /// Seconds ago and end of each call, the newest first; failures in a row, and the state.
    type Case = (&'static [(u64, &'static str)], Option<(u64, CircuitState)>);

    #[test]
    fn failures_in_a_row_open_a_circuit_for_a_while() {
        let open = |remaining_ms| CircuitState::Open { remaining_ms };
        let cases: [Case; 14] = [
            (&[], None),
            (&[(1, "ok"), (2, "refused"), (3, "refused"), (4, "refused")], None),
            (&[(1, "refused"), (2, "refused")], Some((2, CircuitState::Closed))),
            (
                &[(1, "refused"), (2, "timeout"), (3, "overloaded")],
                Some((3, open(29_000))),
            ),
            (
                &[(1, "refused"), (2, "refused"), (3, "ok"), (4, "refused")],
                Some((2, CircuitState::Closed)),
            ),
            // The pause is over; then one more failure, and the next pause is twice as long.
            (
                &[(30, "refused"), (40, "refused"), (50, "refused")],
                Some((3, CircuitState::HalfOpen)),
            ),
            (
                &[(1, "refused"), (40, "refused"), (50, "refused"), (60, "refused")],
                Some((4, open(59_000))),
            ),
            // Never longer than five minutes.
            (&[(0, "refused"); 70], Some((70, open(300_000)))),
            // A refused key and a request that was rejected are answers of a server that works.
            (
                &[
                    (1, "unauthorized"),
                    (2, "refused"),
                    (3, "refused"),
                    (4, "refused"),
                ],
                None,
            ),
            (
                &[
                    (1, "context-length"),
                    (2, "refused"),
                    (3, "refused"),
                    (4, "refused"),
                ],
                None,
            ),
            // A stopped turn is neither.
            (
                &[
                    (1, "cancelled"),
                    (2, "refused"),
                    (3, "interrupted"),
                    (4, "refused"),
                    (5, "refused"),
                ],
                Some((3, open(28_000))),
            ),
            (&[(1, "cancelled"), (2, "cancelled"), (3, "cancelled")], None),
            // Old failures are forgotten.
            (&[(601, "refused"), (602, "refused"), (603, "refused")], None),
            (
                &[(1, "refused"), (601, "refused"), (602, "refused")],
                Some((1, CircuitState::Closed)),
            ),
        ];
        for (calls, expected) in cases {
            let past: Vec<PastCall> = calls.iter().map(|(ago, failure)| call(*ago, failure)).collect();
            let found = CircuitFacts::count(&past, NOW).map(|facts| (facts.failures, facts.state()));
            assert_eq!(found, expected, "{calls:?}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_opens_no_circuit_for_longer_than_its_pause() {
        let ahead = PastCall {
            at_ms: NOW + 3_600_000,
            failure: Some("refused".to_owned()),
        };
        let facts = CircuitFacts::count(&[ahead.clone(), ahead.clone(), ahead], NOW).unwrap();
        assert_eq!(facts.state(), CircuitState::Open { remaining_ms: 30_000 });
    }

    #[test]
    fn a_circuit_is_described() {
        let facts = CircuitFacts {
            failures: 3,
            code: "refused".to_owned(),
            since_ms: 12_400,
        };
        assert_eq!(
            facts.to_string(),
            "3 calls in a row failed, the last one (refused) 12 s ago; asked again in 18 s"
        );
    }
}
