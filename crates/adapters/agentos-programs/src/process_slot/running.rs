//! Messages of the reader of an answer to the process about its request.
//!
//! Owns: credits, permissions and cancellations of requests that run. Never: writes a line; the thread of the input does.

use std::time::Instant;

use super::{PATIENCE, ProcessSlot};

impl ProcessSlot {
    /// Passes a credit on to the process.
    pub(crate) fn give_credit(&self, id: u64, bytes: usize) {
        let mut state = self.lock();
        if state.table.add_credit(id, bytes) {
            *state.credits.entry(id).or_default() += bytes;
            self.output.notify_all();
        }
    }

    /// Permits one sending of a request.
    pub(crate) fn permit_sending(&self, id: u64) {
        let mut state = self.lock();
        if state.table.is_wanted(id) {
            state.permits.insert(id);
            self.output.notify_all();
        }
    }

    /// Cancels a request: one that waits is forgotten, one that runs is ended by the process.
    pub(crate) fn cancel_request(&self, id: u64) {
        let mut state = self.lock();
        state.waiting.retain(|request| request.id != id);
        if state.table.cancel_request(id, Instant::now() + PATIENCE) {
            state.credits.remove(&id);
            state.permits.remove(&id);
            state.cancels.insert(id);
        }
        state.update_idle(self.limits.idle);
        self.signal_all();
    }
}
