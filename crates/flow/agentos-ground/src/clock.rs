//! The system's clock, and random run ids.
//!
//! Owns: reading the time and drawing a run's random part. Never: used below this crate, which passes both on as values.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use agentos_engine::ports::{Clock, IsOver};
use agentos_net::Deadline;
use agentos_tool::{RunId, Timestamp};

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }

    fn start_timer(&self, limit: Duration) -> IsOver {
        // Monotonic: a clock that is set back during a search must not prolong it.
        let deadline = Deadline::after(limit);
        Box::new(move || deadline.remaining().is_zero())
    }
}

/// Returns the time now.
#[must_use]
pub fn now() -> Timestamp {
    SystemClock.now()
}

/// Returns the milliseconds since 1970, or 0 for an earlier time.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Returns the time that lies `ago` in the past.
pub fn before_now(ago: Duration) -> Timestamp {
    // A span that reaches before the earliest representable time means all of the past.
    let now = SystemTime::now();
    Timestamp::from_system(now.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Makes the id of a new run. The random part only distinguishes runs of the same second; the hasher's seed, which comes
/// from the operating system, is enough for that.
pub fn new_run() -> RunId {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
    RunId::new(&SystemClock.now(), u32::from_le_bytes([a, b, c, d]))
}
