//! Decides where a turn goes after a failure.
//!
//! Owns: the decisions. Never: asks anybody again; the host does.
//!
//! | end of an attempt | next |
//! |---|---|
//! | server not reachable, time limit, 5xx, 429, overload, broken stream, context too long | the next member, at most [`MOST_HOPS`] times |
//! | a budget or daily limit does not allow the call, so that nothing was sent | the next member, which may cost less |
//! | key missing or refused, request rejected, wrong address or model | stop: another member would hide the mistake |
//! | policy's denial, a diff that does not land | stop: the answer was complete |
//! | the user stopped the turn | stop |
//! | a tool was called, or a part of the turn is kept | stop: a second author would continue the first one's work |

use crate::MOST_HOPS;

/// Codes of failures of a server or of the way to it, which another member may not have.
const PASSED_ON: [&str; 17] = [
    "dns",
    "refused",
    "connect-timeout",
    "read-timeout",
    "timeout",
    "closed",
    "broken-stream",
    "rate-limited",
    "quota",
    "overloaded",
    "server-error",
    "loading",
    "not-loaded",
    "load-failed",
    "context-length",
    // Not a failure of a server: a model fell into a loop, which another one may not.
    "endless-answer",
    // Not a failure of a server: a budget of one model or provider is spent, and another member may have one of its own, or be free.
    "budget-spent",
];

/// Returns true if another member may not have the failure with this code.
#[must_use]
pub fn is_passed_on(code: &str) -> bool {
    PASSED_ON.contains(&code)
}

/// End of an attempt that gave no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedAttempt<'a> {
    /// Code of the failure.
    pub code: &'a str,
    /// True if the user stopped the turn.
    pub is_cancelled: bool,
    /// True if the session or the repository has something of the attempt.
    pub left_traces: bool,
    /// Hops of the turn so far.
    pub hops: usize,
}

/// Decision after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailoverStep {
    /// The next member is asked.
    Retry,
    /// The turn ends with its failure.
    Stop(StopReason),
}

/// Reason why no other member is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The user stopped the turn.
    Cancelled,
    /// The failure is no fault of the server.
    OwnFault,
    /// Something of the attempt is kept.
    LeftTraces,
    /// The turn was passed on often enough.
    TooManyHops,
}

/// Decides what follows a failed attempt.
#[must_use]
pub fn next_step(attempt: FailedAttempt<'_>) -> FailoverStep {
    // The user's wish goes first: no failure may start something that they stopped.
    if attempt.is_cancelled {
        return FailoverStep::Stop(StopReason::Cancelled);
    }
    if !is_passed_on(attempt.code) {
        return FailoverStep::Stop(StopReason::OwnFault);
    }
    match (attempt.left_traces, attempt.hops >= MOST_HOPS) {
        (true, _) => FailoverStep::Stop(StopReason::LeftTraces),
        (false, true) => FailoverStep::Stop(StopReason::TooManyHops),
        (false, false) => FailoverStep::Retry,
    }
}
