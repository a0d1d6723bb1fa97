//! Confined processes of one adapter, which serve many requests.
//!
//! A server that cannot be reached must fail a request with the same error as an adapter outside of a sandbox would. So each request
//! is connected first, outside, and a failed connection is served by a process without a network, which finds the same. The exception is
//! a request for which the process has an idle connection.
//!
//! Owns: the connection of a request, and which process it goes to. Never: lets a process reach another address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use agentos_sandbox::SandboxError;
use agentos_tool::ToolError;

use crate::AgentError;
use crate::answer_stream::{Answer, AnswerReader};
use crate::hosted_lines::AdapterWork;
use crate::process_slot::{ProcessSlot, WaitingRequest};
use crate::process_worker::serve_slot;
use crate::refusals::LastRun;
use crate::server_reach::{ProcessLauncher, ProcessLimits, ServerReach};

/// Confined processes of one adapter, with one profile and one key.
///
/// There is one process for a server that can be reached, which works on many requests at once. It is started with the first
/// request, again after it has ended, and ends when it was idle for a while or this value is dropped.
pub struct ModelProcess {
    shared: Arc<SharedProcess>,
}

struct SharedProcess {
    launcher: Box<dyn ProcessLauncher>,
    limits: ProcessLimits,
    last: Arc<LastRun>,
    slots: Mutex<OpenSlots>,
}

#[derive(Default)]
struct OpenSlots {
    slots: BTreeMap<ServerReach, Arc<ProcessSlot>>,
    is_closed: bool,
}

impl ModelProcess {
    /// Makes the processes of a launcher, which records in `last` what it learns at the end of each.
    pub(crate) fn with_launcher(
        launcher: Box<dyn ProcessLauncher>,
        limits: ProcessLimits,
        last: Arc<LastRun>,
    ) -> Self {
        Self {
            shared: Arc::new(SharedProcess {
                launcher,
                limits,
                last,
                slots: Mutex::default(),
            }),
        }
    }

    /// Starts a process for the first request, while the caller does other things.
    pub fn prepare(&self) {
        if let Some(slot) = self.shared.find_slot(ServerReach::Open) {
            slot.want_process(self.shared.make_worker(&slot, ServerReach::Open));
        }
    }

    /// Ends all processes, and returns when nothing of them is left. The next request starts a new one.
    pub fn end_processes(&self) {
        let slots: Vec<_> = self.shared.lock().slots.values().cloned().collect();
        for slot in slots {
            slot.close();
        }
    }

    /// Sends a request. `limit` is the time limit of the work, which the adapter enforces itself.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub(crate) fn send_work(&self, work: AdapterWork, limit: Duration) -> Result<AnswerReader, ToolError> {
        let (answer, shared) = (Answer::default(), Arc::clone(&self.shared));
        let reader = AnswerReader(answer.clone());
        // A connection of the process waits: nothing has to be looked up or connected to.
        let work = match self.shared.send_on_idle(&answer, work, limit) {
            Ok(None) => return Ok(reader),
            Ok(Some(work)) => work,
            Err(error) => return Err(error.into_tool_error(0)),
        };
        // On a thread, because a name lookup blocks.
        let connect = move || {
            if let Err(error) = shared.connect_and_send(&answer, work, limit) {
                answer.fail(error.into_tool_error(0));
            }
        };
        let started = thread::Builder::new().spawn(connect);
        started.map_err(|_| AgentError::Thread.into_tool_error(0))?;
        Ok(reader)
    }

    /// Returns the record of the last process that has ended.
    pub(crate) fn last_run(&self) -> &LastRun {
        &self.shared.last
    }

    /// Returns the time limits.
    pub(crate) fn limits(&self) -> ProcessLimits {
        self.shared.limits
    }

    /// Returns the slot for a server that can be reached.
    #[cfg(test)]
    pub(crate) fn open_slot(&self) -> Option<Arc<ProcessSlot>> {
        self.shared.find_slot(ServerReach::Open)
    }
}

impl Drop for ModelProcess {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.end_processes();
    }
}

impl SharedProcess {
    fn lock(&self) -> MutexGuard<'_, OpenSlots> {
        // Slots are only added, so the map is consistent even after a panic of another thread.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the slot of a reach. `None` if the processes were dropped.
    fn find_slot(&self, reach: ServerReach) -> Option<Arc<ProcessSlot>> {
        let mut open = self.lock();
        if open.is_closed {
            return None;
        }
        let slot = open.slots.entry(reach);
        Some(Arc::clone(
            slot.or_insert_with(|| Arc::new(ProcessSlot::new(self.limits))),
        ))
    }

    fn make_worker(
        self: &Arc<Self>,
        slot: &Arc<ProcessSlot>,
        reach: ServerReach,
    ) -> impl FnOnce() + Send + 'static {
        let (shared, slot) = (Arc::clone(self), Arc::clone(slot));
        move || serve_slot(&slot, shared.launcher.as_ref(), reach)
    }

    /// Sends a request to the process if that has an idle connection to the server. Returns the work if it has none.
    ///
    /// # Errors
    /// If the processes were closed meanwhile.
    fn send_on_idle(
        self: &Arc<Self>,
        answer: &Answer,
        work: AdapterWork,
        limit: Duration,
    ) -> Result<Option<AdapterWork>, AgentError> {
        let slot = self.find_slot(ServerReach::Open).ok_or(SandboxError::Stopped)?;
        let request = WaitingRequest {
            id: 0,
            answer: answer.clone(),
            work,
            limit,
            connection: None,
        };
        match slot.add_on_idle(request) {
            Ok(id) => {
                answer.set_place(&slot, id, None);
                Ok(None)
            }
            Err(request) => Ok(Some(request.work)),
        }
    }

    fn connect_and_send(
        self: &Arc<Self>,
        answer: &Answer,
        work: AdapterWork,
        limit: Duration,
    ) -> Result<(), AgentError> {
        if answer.is_closed() {
            return Ok(());
        }
        let attempt = self.launcher.connect_server();
        let slot = self.find_slot(attempt.reach).ok_or(SandboxError::Stopped)?;
        let request = WaitingRequest {
            id: 0,
            answer: answer.clone(),
            work,
            limit,
            connection: attempt.connection,
        };
        let id = slot.add_request(request, self.make_worker(&slot, attempt.reach))?;
        if !answer.set_place(&slot, id, attempt.obstacle) {
            slot.cancel_request(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
