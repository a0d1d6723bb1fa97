//! How much of the disk a run may take, watched while it runs.
//!
//! Owns: when it is looked at, and ending a run that takes too much. Never: holds a tool to the byte: between two looks it may
//! write more. No quota can be had without the file system's help, which few have set up; `RLIMIT_FSIZE` is for one file.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use agentos_beneath::OpenFolder;

use crate::DiskLimit;
use crate::watch::{Stop, Why};

/// Time between two looks at what is free, which is one system call.
const PERIOD: Duration = Duration::from_millis(200);
/// A walk over all folders takes at most one part in so many of the time.
const WALK_SHARE: u32 = 20;
/// Bytes that stay free, so that evidence and the user's own work find room.
const RESERVE: u64 = 256 << 20;

/// A thread that looks; it ends with this value.
#[derive(Debug)]
pub(super) struct DiskWatch {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl DiskWatch {
    /// Begins to watch folders that lie on one disk. Returns `None` if the system refuses a thread or does not tell what is
    /// free: then nothing is watched.
    pub(super) fn begin(folders: Vec<OpenFolder>, limit: u64, stop: &Stop) -> Option<Self> {
        let free_at_first = folders.first()?.free_bytes()?;
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (shared, stop) = (Arc::clone(&over), stop.clone());
        let watch = move || {
            let mut budget = Budget::new(limit, free_at_first);
            while !wait(&shared, PERIOD) {
                if let Some(reached) = budget.look(&folders) {
                    stop.end(Why::TooMuchDisk(reached));
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
fn wait(over: &(Mutex<bool>, Condvar), period: Duration) -> bool {
    let is_over = over.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = over.1.wait_timeout_while(is_over, period, |is_over| !*is_over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Room that a run has, and when it is worth while to add up what it took.
#[derive(Debug)]
struct Budget {
    limit: u64,
    free_at_first: u64,
    next_walk: Option<Instant>,
}

impl Budget {
    fn new(limit: u64, free_at_first: u64) -> Self {
        Self {
            limit,
            free_at_first,
            next_walk: None,
        }
    }

    /// Returns the limit that is reached; `None` if there is none.
    fn look(&mut self, folders: &[OpenFolder]) -> Option<DiskLimit> {
        let free = folders.first()?.free_bytes()?;
        // A disk that was as full before the run is not the tool's doing until the tool makes it worse.
        if free < RESERVE && free < self.free_at_first {
            return Some(DiskLimit::Free(RESERVE));
        }
        // Nobody took half of the limit, so the tool has not taken all of it.
        let taken = self.free_at_first.saturating_sub(free);
        let now = Instant::now();
        if taken < self.limit / 2 || self.next_walk.is_some_and(|next| now < next) {
            return None;
        }
        let sum = folders.iter().fold(0_u64, |sum, folder| {
            sum.saturating_add(folder.measure_tree(self.limit.saturating_sub(sum)))
        });
        self.next_walk = Some(Instant::now() + now.elapsed() * WALK_SHARE);
        (sum > self.limit).then_some(DiskLimit::Written(self.limit))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_limit_and_leaves_a_reserve() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("a"), vec![1; 1 << 20]).unwrap();
        let folders = vec![OpenFolder::open_root(top.path()).unwrap()];
        let free = folders[0].free_bytes().unwrap();
        let much = free.saturating_add(1 << 40);
        // What was free at first, the limit, and what is reached.
        for (free_at_first, limit, expected) in [
            (much, 1 << 30, None),
            (much, 1 << 10, Some(DiskLimit::Written(1 << 10))),
            // Nothing was taken from the disk meanwhile: no walk.
            (0, 1 << 10, None),
        ] {
            let mut budget = Budget::new(limit, free_at_first);
            let reached = budget.look(&folders);
            if free < RESERVE {
                eprintln!("skipped: the disk is nearly full");
                return;
            }
            assert_eq!(reached, expected, "{free_at_first} {limit}");
        }
    }

    #[test]
    fn a_watch_ends_with_its_run() {
        let top = tempfile::tempdir().unwrap();
        let folders = vec![OpenFolder::open_root(top.path()).unwrap()];
        let stop = Stop::default();
        drop(DiskWatch::begin(folders, 1 << 30, &stop).unwrap());
        assert_eq!(stop.why(), None);
    }
}
