//! Limits the disk space of a run by measuring it while the run goes on.
//!
//! Owns: when it is measured, and ending a run that takes too much. Never: enforces the limit to the byte: between
//! two measurements a run may write more. A quota would need a file system that was set up for it, which few are, and
//! `RLIMIT_FSIZE` is about a single file.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use agentos_beneath::OpenFolder;

use crate::DiskLimit;
use crate::watch::{EndReason, StopHandle};

/// Time between two looks at the free space, which take one system call each.
const PERIOD: Duration = Duration::from_millis(200);
/// Divisor of the time that walks over all folders may take: one part in this many.
const WALK_SHARE: u32 = 20;
/// Time after which the folders are walked even if the disk lost little space.
const LONGEST_WITHOUT_WALK: Duration = Duration::from_secs(10);
/// Bytes that stay free, so that evidence and the user's own work have room.
const RESERVE: u64 = 256 << 20;

/// Thread that measures; it ends with this value.
#[derive(Debug)]
pub(super) struct DiskWatch {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl DiskWatch {
    /// Starts to watch folders that lie on one disk. Returns `None` if the system refuses a thread or cannot say how
    /// much is free: then nothing is watched.
    pub(super) fn begin(folders: Vec<OpenFolder>, limit: u64, stop: &StopHandle) -> Option<Self> {
        let free_at_first = folders.first()?.free_bytes()?;
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (shared, stop) = (Arc::clone(&over), stop.clone());
        let watch = move || {
            let mut budget = DiskBudget::new(limit, free_at_first);
            while !wait_period(&shared, PERIOD) {
                if let Some(reached) = budget.check_limit(&folders, &|| is_over(&shared)) {
                    stop.end_with(EndReason::TooMuchDisk(reached));
                    return;
                }
            }
        };
        let thread = Builder::new().spawn(watch).ok()?;
        Some(Self {
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for this time. Returns true if the watch is over.
fn wait_period(over: &(Mutex<bool>, Condvar), period: Duration) -> bool {
    let is_over = over.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = over.1.wait_timeout_while(is_over, period, |is_over| !*is_over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

fn is_over(over: &(Mutex<bool>, Condvar)) -> bool {
    *over.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Disk space of a run, and when it is worth adding up what it took.
#[derive(Debug)]
struct DiskBudget {
    limit: u64,
    reserve: u64,
    free_at_first: u64,
    last_walk: Instant,
    /// Earliest time of the next walk, so that walks take their share of the time and no more.
    next_walk: Instant,
}

impl DiskBudget {
    fn new(limit: u64, free_at_first: u64) -> Self {
        Self {
            limit,
            // On a disk that is nearly full already, half of what is left.
            reserve: RESERVE.min(free_at_first / 2),
            free_at_first,
            last_walk: Instant::now(),
            next_walk: Instant::now(),
        }
    }

    /// Returns the limit that is reached. `None` if there is none.
    ///
    /// A walk does not find files that are open and have no name any more. So everything that the disk lost beyond
    /// twice the limit counts as the tool's, whoever took it, and so does what it lost beyond the limit if a part of
    /// the folders cannot be read.
    fn check_limit(&mut self, folders: &[OpenFolder], is_over: &dyn Fn() -> bool) -> Option<DiskLimit> {
        let first = folders.first()?;
        let free = first.free_bytes()?;
        if free < self.reserve {
            return Some(DiskLimit::Free(self.reserve));
        }
        let written = Some(DiskLimit::Written(self.limit));
        let taken = self.free_at_first.saturating_sub(free);
        if taken > self.limit.saturating_mul(2) {
            return written;
        }
        let began = Instant::now();
        let is_much = taken >= self.limit / 2;
        // Other programs may free as much as the tool takes, so the folders are walked now and then in any case.
        let is_long_ago = began.duration_since(self.last_walk) >= LONGEST_WITHOUT_WALK;
        if began < self.next_walk || !(is_much || is_long_ago) {
            return None;
        }
        let reserve = self.reserve;
        let mut go_on = || !is_over() && first.free_bytes().is_none_or(|free| free >= reserve);
        let (mut sum, mut is_whole) = (0_u64, true);
        for folder in folders {
            let size = folder.measure_tree(self.limit.saturating_sub(sum), &mut go_on);
            sum = sum.saturating_add(size.bytes);
            is_whole &= size.is_whole;
        }
        self.last_walk = Instant::now();
        self.next_walk = self.last_walk + began.elapsed() * WALK_SHARE;
        if sum > self.limit || (!is_whole && taken > self.limit) {
            return written;
        }
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_limit_and_leaves_a_reserve() {
        let top = tempfile::tempdir().unwrap();
        let folders = vec![OpenFolder::open_root(top.path()).unwrap()];
        let mut file = folders[0].create_file("a".as_ref(), 0o600).unwrap();
        std::io::Write::write_all(&mut file, &vec![1; 1 << 20]).unwrap();
        let free = folders[0].free_bytes().unwrap();
        if free < 2 * RESERVE {
            eprintln!("skipped: the disk is nearly full");
            return;
        }
        // What the disk lost meanwhile, the limit, and what is reached. Others use this disk too, so the figures are far apart.
        let (much, most) = (1 << 40, 1 << 41);
        for (lost, limit, expected) in [
            // Much was lost, and the folders hold little of it.
            (much, most, None),
            (much, much - 1, None),
            // A walk does not find where so much went.
            (much, much / 4, Some(DiskLimit::Written(much / 4))),
            (much, 1 << 10, Some(DiskLimit::Written(1 << 10))),
            // Nothing was lost meanwhile: no walk yet.
            (0, 1 << 50, None),
        ] {
            let mut budget = DiskBudget::new(limit, free.saturating_add(lost));
            budget.reserve = 0;
            assert_eq!(
                budget.check_limit(&folders, &|| false),
                expected,
                "{lost} {limit}"
            );
        }
        let mut budget = DiskBudget::new(most, free);
        budget.reserve = u64::MAX;
        let reached = budget.check_limit(&folders, &|| false);
        assert_eq!(reached, Some(DiskLimit::Free(u64::MAX)));
    }

    #[test]
    fn what_cannot_be_seen_counts_against_a_run_that_took_much() {
        let top = tempfile::tempdir().unwrap();
        let folders = vec![OpenFolder::open_root(top.path()).unwrap()];
        let free = folders[0].free_bytes().unwrap();
        let mut budget = DiskBudget::new(1 << 40, free.saturating_add(3 << 39));
        budget.reserve = 0;
        // A walk that is stopped has not seen everything.
        assert_eq!(
            budget.check_limit(&folders, &|| true),
            Some(DiskLimit::Written(1 << 40))
        );
    }

    #[test]
    fn a_watch_ends_with_its_run() {
        let top = tempfile::tempdir().unwrap();
        let folders = vec![OpenFolder::open_root(top.path()).unwrap()];
        let stop = StopHandle::default();
        drop(DiskWatch::begin(folders, 1 << 30, &stop).unwrap());
        assert_eq!(stop.end_reason(), None);
    }
}
