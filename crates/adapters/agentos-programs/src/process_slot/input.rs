//! The standard input of a process: its greeting, and then the lines of its slot.
//!
//! Owns: the end of the input. Never: waits for a process that has ended.

use std::sync::Arc;

use super::{ProcessSlot, RunPhase};

/// Input of the process of one run: its greeting, and then its requests.
pub(crate) struct ProcessInput {
    slot: Arc<ProcessSlot>,
    run: u64,
    greeting: Option<Vec<u8>>,
}

impl ProcessInput {
    pub(crate) fn new(slot: Arc<ProcessSlot>, run: u64, greeting: Vec<u8>) -> Self {
        let greeting = Some(greeting);
        Self { slot, run, greeting }
    }
}

impl Iterator for ProcessInput {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut line = match self.greeting.take() {
            Some(greeting) => greeting,
            // A request that cannot be written down runs into its deadline; JSON of these types cannot fail.
            None => serde_json::to_vec(&self.slot.next_output(self.run)?).unwrap_or_default(),
        };
        line.push(b'\n');
        Some(line)
    }
}

impl Drop for ProcessInput {
    fn drop(&mut self) {
        // A process that closes its input takes no requests any more. If the run has ended by itself, this does nothing.
        let state = self.slot.lock();
        let is_lost = state.run == self.run && matches!(state.phase, RunPhase::Starting | RunPhase::Serving);
        drop(state);
        if is_lost {
            self.slot.kill_run(self.run);
        }
    }
}
