//! Decides if a failed request is sent again, and after which pause.
//!
//! Owns: the decision. Never: waits.

use std::time::Duration;

use crate::{Fault, Reason};

/// Maximum pause. A server that asks for a longer one is reported to the user instead. Vendors count requests and tokens by
/// the minute, so a pause of a little more than one is worth waiting for.
pub(crate) const LONGEST: Duration = Duration::from_secs(90);
/// Pause before the first retry; it doubles with each retry: 1, 2 and 4 s.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

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
    (pause <= LONGEST).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_by_itself_is_asked_again() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let (second, two) = (seconds(1), seconds(2));
        let cases = [
            (Reason::Refused, None, false, 0, second),
            (Reason::Refused, None, false, 1, two),
            (Reason::Refused, None, false, 2, seconds(4)),
            (Reason::Refused, None, true, 0, None),
            (Reason::RateLimited, None, false, 0, None),
            (Reason::RateLimited, second, false, 0, second),
            (Reason::RateLimited, seconds(60), false, 0, seconds(60)),
            (Reason::RateLimited, seconds(91), false, 0, None),
            (Reason::Overloaded, None, true, 0, second),
            (Reason::Conflict, None, false, 0, second),
            (Reason::Timeout, None, false, 1, two),
            (Reason::ServerError, second, true, 1, second),
            (Reason::Unauthorized, second, false, 0, None),
            (Reason::Quota, second, false, 0, None),
            (Reason::Closed, None, false, 0, second),
            (Reason::Closed, None, true, 1, two),
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
