//! When asking again can help.
//!
//! Owns: the decision. Never: waits.

use std::time::Duration;

use crate::{Fault, Reason};

/// The longest wait a server may ask for.
const LONGEST: Duration = Duration::from_secs(20);
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// How long to wait before the next try; none when another try would only repeat the failure. A server on this
/// machine that refuses connections is down, not busy.
pub(crate) fn pause(fault: &Fault, is_loopback: bool, retried: u32) -> Option<Duration> {
    let backoff = FIRST_PAUSE * 2_u32.saturating_pow(retried);
    let not_reached = matches!(fault.reason, Reason::Refused | Reason::ConnectTimeout);
    // Reset or closed before a byte of an answer came.
    let reset = fault.reason == Reason::Closed;
    let busy = matches!(
        fault.reason,
        Reason::ServerError | Reason::Overloaded | Reason::Conflict | Reason::Loading | Reason::Timeout
    );
    let pause = if fault.reason == Reason::RateLimited {
        fault.retry_after?
    } else if busy {
        fault.retry_after.unwrap_or(backoff)
    } else if reset || (not_reached && !is_loopback) {
        backoff
    } else {
        return None;
    };
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
            assert_eq!(pause(&fault, loopback, retried), wanted, "{reason:?} {retried}");
        }
    }
}
