//! Decides if a failed request is sent again, and after which pause.
//!
//! Owns: the decision. Never: waits.

use std::time::Duration;

use crate::{Fault, Reason};

/// Maximum pause. A server that asks for a longer one is reported to the user instead.
const LONGEST: Duration = Duration::from_secs(20);
/// Pause before the first retry; it doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Returns the pause before the next retry. `None` if a retry would fail again.
pub(crate) fn retry_pause(fault: &Fault, is_loopback: bool, retried: u32) -> Option<Duration> {
    let backoff = FIRST_PAUSE * 2_u32.saturating_pow(retried);
    let not_reached = matches!(fault.reason, Reason::Refused | Reason::ConnectTimeout);
    // Closed before the first byte of an answer. Servers close idle connections, and a request may meet such a moment.
    let reset = fault.reason == Reason::Closed;
    let busy = matches!(
        fault.reason,
        Reason::ServerError | Reason::Overloaded | Reason::Conflict | Reason::Loading | Reason::Timeout
    );
    let pause = if fault.reason == Reason::RateLimited {
        // Without `Retry-After`, the limit may last for hours; more requests could make it longer.
        fault.retry_after?
    } else if busy {
        fault.retry_after.unwrap_or(backoff)
    // A server on this machine that refuses a connection is not running. A remote one may be restarting.
    } else if reset || (not_reached && !is_loopback) {
        backoff
    } else {
        return None;
    };
    // A longer wait looks like a program that hangs, and it would use up the deadline of the run.
    (pause <= LONGEST).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_by_itself_is_asked_again() {
        let second = Some(Duration::from_secs(1));
        let half = Some(Duration::from_millis(500));
        let cases = [
            (Reason::Refused, None, false, 0, half),
            (Reason::Refused, None, false, 1, second),
            (Reason::Refused, None, false, 2, Some(Duration::from_secs(2))),
            (Reason::Refused, None, true, 0, None),
            (Reason::RateLimited, None, false, 0, None),
            (Reason::RateLimited, second, false, 0, second),
            (Reason::RateLimited, Some(Duration::from_secs(21)), false, 0, None),
            (Reason::Overloaded, None, true, 0, half),
            (Reason::Conflict, None, false, 0, half),
            (Reason::Timeout, None, false, 1, second),
            (Reason::ServerError, second, true, 1, second),
            (Reason::Unauthorized, second, false, 0, None),
            (Reason::Quota, second, false, 0, None),
            (Reason::Closed, None, false, 0, half),
            (Reason::Closed, None, true, 1, second),
            (Reason::ReadTimeout, None, false, 0, None),
            (Reason::BrokenStream, None, false, 0, None),
            (Reason::BrokenAnswer, None, false, 0, None),
            (Reason::KeyInAnswer, None, false, 0, None),
        ];
        for (reason, retry_after, loopback, retried, wanted) in cases {
            let fault = Fault {
                retry_after,
                ..Fault::from(reason)
            };
            assert_eq!(
                retry_pause(&fault, loopback, retried),
                wanted,
                "{reason:?} {retried}"
            );
        }
    }
}
