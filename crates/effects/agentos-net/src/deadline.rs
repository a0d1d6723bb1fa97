//! One limit for a whole call, however many requests it takes.
//!
//! Owns: the monotonic clock. Never: tells the time of day.

use std::future::Future;
use std::time::{Duration, Instant};

/// A point in time by which a call has to be done, and when it began.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    began: Instant,
    limit: Duration,
}

impl Deadline {
    /// Begins now and ends after `limit`.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self {
            began: Instant::now(),
            limit,
        }
    }

    /// The limit it was made with.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// What is left; zero when it is over.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed())
    }

    /// Milliseconds since it began.
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits, if that fits into what is left. False when it does not: then it returns at once.
    pub async fn wait(&self, pause: Duration) -> bool {
        if pause >= self.remaining() {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }

    /// The result of `work`, or nothing when the time ran out first; `work` is dropped then.
    pub(crate) async fn hold<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(self.remaining(), work).await.ok()
    }
}
