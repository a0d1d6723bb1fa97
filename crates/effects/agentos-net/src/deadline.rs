//! The time limits of a call: for its first byte, for silence between two bytes, and for the whole of it.
//!
//! A model streams for as long as its answer is long, and a slow machine is no fault. So the limit that ends a call early is on
//! silence; the limit on the whole call, however many requests it takes, only stops a stream that never ends.
//!
//! Owns: the monotonic clock. Never: reads the time of day.

use std::future::Future;
use std::time::{Duration, Instant};

/// Time limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// Time from sending a request to the first word of its answer. A server reads the whole prompt in it.
    pub first_byte: Duration,
    /// Time between two words of an answer.
    pub idle: Duration,
    /// Time for the whole call.
    pub total: Duration,
}

/// Limit that a call exceeded, with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    /// The connection was not established in this time.
    Connect(Duration),
    /// No first byte came in this time.
    FirstByte(Duration),
    /// Nothing came for this time, after the answer had begun.
    Idle(Duration),
    /// The whole call took longer than this.
    Total(Duration),
}

/// Time by which a call has to be done, and the time when it began.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    began: Instant,
    limits: TimeLimits,
}

impl Deadline {
    /// Creates a deadline that begins now and ends after `limit`, with no other limit.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self::with_limits(TimeLimits {
            first_byte: limit,
            idle: limit,
            total: limit,
        })
    }

    /// Creates a deadline that begins now.
    #[must_use]
    pub fn with_limits(limits: TimeLimits) -> Self {
        Self {
            began: Instant::now(),
            limits,
        }
    }

    /// Returns the time that is left, which is zero after the deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.limits.total.saturating_sub(self.began.elapsed())
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

    /// Returns the result of `work`, which waits for the first byte of an answer to a request sent at `sent`.
    ///
    /// # Errors
    /// The exceeded limit if the time ran out first; `work` is dropped then.
    pub(crate) async fn await_first_byte<T>(
        &self,
        sent: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, ExceededLimit> {
        let limit = self.limits.first_byte;
        // The head and the first byte of the body are waited for one after the other, and share one limit.
        let left = limit.saturating_sub(sent.elapsed());
        self.run_within(left, ExceededLimit::FirstByte(limit), work).await
    }

    /// Returns the result of `work`, which waits for the next piece of an answer whose last word came at `last_word`.
    ///
    /// # Errors
    /// The exceeded limit if the time ran out first; `work` is dropped then.
    pub(crate) async fn await_next_bytes<T>(
        &self,
        last_word: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, ExceededLimit> {
        let limit = self.limits.idle;
        let left = limit.saturating_sub(last_word.elapsed());
        self.run_within(left, ExceededLimit::Idle(limit), work).await
    }

    async fn run_within<T>(
        &self,
        silence: Duration,
        limit: ExceededLimit,
        work: impl Future<Output = T>,
    ) -> Result<T, ExceededLimit> {
        // The rest of the whole call, and not a new limit for each step: many slow steps must not add up to more.
        let left = self.remaining();
        // The limit that ends the wait is named, and not just a timeout: each has a setting of its own, and a person must know
        // which one to raise.
        let (time, limit) = if silence < left {
            (silence, limit)
        } else {
            (left, ExceededLimit::Total(self.limits.total))
        };
        tokio::time::timeout(time, work).await.map_err(|_| limit)
    }
}
