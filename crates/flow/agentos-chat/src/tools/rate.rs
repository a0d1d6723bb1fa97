//! Limits on the number of calls of a tool, as token buckets.
//!
//! Owns: the arithmetic. Never: reads a clock; the time is passed.

use std::collections::BTreeMap;
use std::time::Duration;

/// Limit on the calls of a tool: so many at once, and one more after each interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Calls that are possible at once.
    pub burst: u32,
    /// Time after which one more call is possible.
    pub interval: Duration,
}

/// Limiter of the calls of all tools of a session.
#[derive(Debug, Clone, Default)]
pub struct RateLimiter {
    buckets: BTreeMap<String, TokenBucket>,
}

#[derive(Debug, Clone, Copy)]
struct TokenBucket {
    /// Calls that are possible now.
    calls: u32,
    /// Time at which the last call became possible, or up to which intervals are counted.
    refilled: Duration,
}

impl RateLimiter {
    /// Takes one call of a tool. `now` is the time since any fixed moment.
    ///
    /// # Errors
    /// If the limit is reached: the time until the next call is possible.
    pub fn take_call(&mut self, tool: &str, limit: RateLimit, now: Duration) -> Result<(), Duration> {
        let bucket = self.buckets.entry(tool.to_owned()).or_insert(TokenBucket {
            calls: limit.burst,
            refilled: now,
        });
        bucket.refill(limit, now);
        if bucket.calls == 0 {
            return Err((bucket.refilled + limit.interval).saturating_sub(now));
        }
        bucket.calls -= 1;
        Ok(())
    }
}

impl TokenBucket {
    fn refill(&mut self, limit: RateLimit, now: Duration) {
        let passed = now.saturating_sub(self.refilled);
        let gained = if limit.interval.is_zero() {
            u128::from(limit.burst)
        } else {
            passed.as_nanos() / limit.interval.as_nanos()
        };
        let gained = u32::try_from(gained).unwrap_or(u32::MAX);
        self.calls = self.calls.saturating_add(gained).min(limit.burst);
        // Whole intervals only, so that the rest of one is not lost. A full bucket saves nothing up.
        self.refilled = if self.calls == limit.burst {
            now.max(self.refilled)
        } else {
            self.refilled + limit.interval.saturating_mul(gained)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_refills_by_the_passed_clock() {
        let limit = RateLimit {
            burst: 2,
            interval: Duration::from_secs(10),
        };
        // Milliseconds, and the milliseconds to wait.
        let steps = [
            (0, None),
            (0, None),
            (0, Some(10_000)),
            (9_999, Some(1)),
            (10_000, None),
            (10_000, Some(10_000)),
            (35_000, None),
            // Half an interval was left over from the two that refilled.
            (35_000, None),
            (35_000, Some(10_000)),
            // The clock was set back: nothing is gained.
            (30_000, Some(15_000)),
        ];
        let mut limiter = RateLimiter::default();
        for (at, wait) in steps {
            let taken = limiter.take_call("search", limit, Duration::from_millis(at));
            assert_eq!(taken.err(), wait.map(Duration::from_millis), "at {at}");
        }
        assert_eq!(limiter.take_call("other", limit, Duration::ZERO), Ok(()));
    }
}
