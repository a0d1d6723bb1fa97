//! One time limit for a whole call, however many requests it takes.
//!
//! Owns: the monotonic clock. Never: reads the time of day.

use std::future::Future;
use std::time::{Duration, Instant};

/// Time by which a call has to be done, and the time when it began.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    began: Instant,
    limit: Duration,
}

impl Deadline {
    /// Creates a deadline that begins now and ends after `limit`.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self {
            began: Instant::now(),
            limit,
        }
    }

    /// Returns the limit that this deadline was created with.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the time that is left, which is zero after the deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed())
    }

    /// Returns the milliseconds since the beginning.
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits for `pause` if that much time is left. Otherwise returns false at once.
    pub async fn pause_within(&self, pause: Duration) -> bool {
        // Waiting longer than that could only end in a timeout, so the caller learns it at once.
        if pause >= self.remaining() {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }

    /// Returns the result of `work`. `None` if the time ran out first; `work` is dropped then.
    pub(crate) async fn run_within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        // The rest of the whole call, and not a new limit for each step: many slow steps must not add up to more.
        tokio::time::timeout(self.remaining(), work).await.ok()
    }
}
