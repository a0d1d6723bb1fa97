//! Looks at the machine at the side, so that a decision knows the seconds before it.
//!
//! Owns: the thread and the looks that are kept. Never: looks while it is paused: a model's own work would count as a busy machine.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use agentos_select::MachineLook;

use crate::{MachineSource, SystemMachine};

/// Looks that are kept: more than a minute of them at one a second.
const MOST_LOOKS: usize = 64;

#[derive(Debug, Default)]
struct MonitorState {
    looks: VecDeque<MachineLook>,
    is_paused: bool,
    is_over: bool,
}

#[derive(Debug, Default)]
struct MonitorShare {
    state: Mutex<MonitorState>,
    changed: Condvar,
}

/// Thread that looks at the machine until it is dropped.
#[derive(Debug)]
pub struct MachineMonitor {
    share: Arc<MonitorShare>,
    thread: Option<JoinHandle<()>>,
}

impl MachineMonitor {
    /// Starts to look, once in every such time. `clock` returns milliseconds since 1970.
    #[must_use]
    pub fn start(every: Duration, clock: fn() -> u64) -> Self {
        let share = Arc::new(MonitorShare::default());
        let shared = Arc::clone(&share);
        let thread = std::thread::spawn(move || watch(&shared, every, clock));
        Self {
            share,
            thread: Some(thread),
        }
    }

    /// Stops looking, or begins again.
    pub fn set_paused(&self, is_paused: bool) {
        lock(&self.share).is_paused = is_paused;
        self.share.changed.notify_all();
    }

    /// Returns the looks so far, the oldest first.
    #[must_use]
    pub fn list_looks(&self) -> Vec<MachineLook> {
        lock(&self.share).looks.iter().copied().collect()
    }
}

impl Drop for MachineMonitor {
    fn drop(&mut self) {
        lock(&self.share).is_over = true;
        self.share.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing to say here.
            thread.join().ok();
        }
    }
}

fn lock(share: &MonitorShare) -> MutexGuard<'_, MonitorState> {
    share.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(share: &MonitorShare, every: Duration, clock: fn() -> u64) {
    let mut machine = SystemMachine::default();
    let mut state = lock(share);
    while !state.is_over {
        if state.is_paused {
            // The use of the processor since the last look would contain the pause.
            machine.forget_times();
        } else if let Some(look) = machine
            .read_sample(clock())
            .ok()
            .and_then(|sample| sample.to_look())
        {
            state.looks.push_back(look);
            if state.looks.len() > MOST_LOOKS {
                state.looks.pop_front();
            }
            share.changed.notify_all();
        }
        let waited = share.changed.wait_timeout(state, every);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn looks_are_kept_until_the_monitor_is_dropped() {
        let monitor = MachineMonitor::start(Duration::from_millis(1), || 5);
        let state = lock(&monitor.share);
        let waited = monitor
            .share
            .changed
            .wait_while(state, |state| state.looks.len() < MOST_LOOKS);
        drop(waited.unwrap());
        let looks = monitor.list_looks();
        assert_eq!((looks.len(), looks[0].at_ms), (MOST_LOOKS, 5));
        drop(monitor);
    }
}
