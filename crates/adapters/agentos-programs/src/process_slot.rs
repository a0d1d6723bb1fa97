//! The place of one confined process: the requests that wait for it, and the ones that it works on.
//!
//! Three threads use it: the worker runs the process and reads its lines, one writes its input, and one watches the clock.
//!
//! | state of the process | begins | ends |
//! |---|---|---|
//! | none | the slot is made, or a process has ended | a request comes, or [`ProcessSlot::want_process`] |
//! | starting | the worker starts it; the greeting is written | its layers are complete, and it is ready |
//! | serving | requests are written | none runs and none waits |
//! | idle | none runs and none waits | a request comes, or the idle time is over |
//! | ending | its input is closed: idle, closed, or hung | it has ended by itself, or is killed after a grace |
//! | ended | it ended in whatever way | running requests fail; waiting ones get the next process, unless three ended in a row before any answer |
//!
//! Owns: these states and the deadlines. Never: starts a process; `process_worker` does.

mod input;
mod running;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use agentos_sandbox::{SandboxError, StopHandle};
use agentos_tool::ToolError;

use crate::AgentError;
use crate::answer_stream::Answer;
use crate::hosted_lines::{AdapterWork, ChildLine, HostedLine, ParentLine};
use crate::request_table::{LineMeaning, ProtocolFault, RequestTable, TimeBox, WorkKind};
use crate::server_reach::{ProcessLimits, ReadyStock, ServerConnection};

pub(crate) use input::ProcessInput;

/// Requests that one process works on at a time. Each has a connection.
const MOST_RUNNING: usize = 128;
/// Processes that may end in a row without an answer before waiting requests fail.
const MOST_FAILURES: u32 = 3;
/// Time after a request's own limit until the process counts as hung. The child enforces the limit itself, with a better error.
const GRACE: Duration = Duration::from_secs(5);
/// Time that a process has to acknowledge its greeting, to hang up, or to end after its input.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time that a process has to end by itself after its input has ended.
const END_GRACE: Duration = Duration::from_secs(2);

/// Request that was not written yet.
pub(crate) struct WaitingRequest {
    pub(crate) id: u64,
    pub(crate) answer: Answer,
    pub(crate) work: AdapterWork,
    /// Time limit of the work, from the moment at which it is written.
    pub(crate) limit: Duration,
    pub(crate) connection: Option<ServerConnection>,
}

/// Place of one process.
pub(crate) struct ProcessSlot {
    limits: ProcessLimits,
    state: Mutex<SlotState>,
    /// Signals the thread that writes the input.
    output: Condvar,
    /// Signals the thread that watches the clock.
    clock: Condvar,
}

#[derive(Default)]
struct SlotState {
    waiting: VecDeque<WaitingRequest>,
    table: RequestTable<Answer>,
    credits: BTreeMap<u64, usize>,
    /// Running requests that may be sent once.
    permits: BTreeSet<u64>,
    cancels: BTreeSet<u64>,
    next_id: u64,
    /// Number of the current run. The input of an earlier one has ended.
    run: u64,
    phase: RunPhase,
    /// Time at which the current phase ends by force, or the process has been idle for long enough. `None` while requests run.
    until: Option<Instant>,
    /// Time at which the clock looks again. `None` if it waits for a signal alone.
    watched: Option<Instant>,
    stop: StopHandle,
    ready: ReadyStock,
    is_wanted: bool,
    is_closed: bool,
    has_worker: bool,
    worker: Option<JoinHandle<()>>,
    failures: u32,
    /// Fault that the clock found.
    fault: Option<ProtocolFault>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RunPhase {
    #[default]
    Ended,
    Starting,
    Serving,
    Ending,
}

/// Run that the worker is about to make.
pub(crate) struct BegunRun {
    pub(crate) number: u64,
    pub(crate) stop: StopHandle,
    pub(crate) ready: ReadyStock,
}

impl ProcessSlot {
    pub(crate) fn new(limits: ProcessLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
            output: Condvar::new(),
            clock: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SlotState> {
        // No code of others runs under this lock, so the state is consistent even after a panic of another thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal_all(&self) {
        self.output.notify_all();
        self.clock.notify_all();
    }

    /// Wakes the clock if it would look too late. Most requests end long before their deadline, and need no look.
    fn wake_late_clock(&self, state: &SlotState) {
        if state
            .next_look()
            .is_some_and(|next| state.watched.is_none_or(|watched| next < watched))
        {
            self.clock.notify_all();
        }
    }

    /// Adds a request, and returns its id. `work` is called to start the worker if there is none.
    ///
    /// # Errors
    /// If the system refuses a thread, or the slot is closed.
    pub(crate) fn add_request(
        &self,
        request: WaitingRequest,
        worker: impl FnOnce() + Send + 'static,
    ) -> Result<u64, AgentError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(SandboxError::Stopped.into());
        }
        state.next_id += 1;
        let id = state.next_id;
        state.waiting.push_back(WaitingRequest { id, ..request });
        if let Err(error) = state.start_worker(worker) {
            state.waiting.pop_back();
            return Err(error);
        }
        self.signal_all();
        Ok(id)
    }

    /// Adds a request for which the process has an idle connection, and returns its id.
    ///
    /// # Errors
    /// The request, if there is no such connection.
    pub(crate) fn add_on_idle(&self, request: WaitingRequest) -> Result<u64, Box<WaitingRequest>> {
        let mut state = self.lock();
        let in_use = state.table.count_running() + state.waiting.len();
        // A connection that the server has closed is not counted any more. Instead of one that is closed on the way, the process makes
        // another through the same outlet, or its adapter reports that the connection was closed.
        if state.is_closed || state.phase != RunPhase::Serving || state.ready.count_open() <= in_use {
            return Err(Box::new(request));
        }
        state.next_id += 1;
        let id = state.next_id;
        state.waiting.push_back(WaitingRequest { id, ..request });
        self.output.notify_all();
        Ok(id)
    }

    /// Starts a process before there is a request for it. A failure is ignored: the first request reports it.
    pub(crate) fn want_process(&self, worker: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        if !state.is_closed {
            state.is_wanted = true;
            let _ = state.start_worker(worker);
        }
    }

    /// Begins the next run. `None` if there is nothing to do; the worker has to end then.
    pub(crate) fn begin_run(&self) -> Option<BegunRun> {
        let mut state = self.lock();
        let is_wanted = std::mem::take(&mut state.is_wanted) || !state.waiting.is_empty();
        if state.is_closed || !is_wanted {
            state.has_worker = false;
            return None;
        }
        state.run += 1;
        state.phase = RunPhase::Starting;
        state.until = Some(Instant::now() + PATIENCE);
        state.stop = StopHandle::default();
        state.ready = ReadyStock::default();
        state.fault = None;
        Some(BegunRun {
            number: state.run,
            stop: state.stop.clone(),
            ready: state.ready.clone(),
        })
    }

    /// Waits for the next line to write. `None` if the input of the run has ended.
    pub(crate) fn next_output(&self, run: u64) -> Option<ParentLine> {
        let mut state = self.lock();
        loop {
            if state.run != run || !matches!(state.phase, RunPhase::Starting | RunPhase::Serving) {
                return None;
            }
            if let Some(line) = state.take_output() {
                self.wake_late_clock(&state);
                return Some(line);
            }
            state = self.output.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Handles a message of the process; `bytes` is the length of its line. Returns the message with the answer that it is for. `None` if it is for nobody.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(crate) fn take_message(
        &self,
        message: ChildLine,
        bytes: usize,
    ) -> Result<Option<(Answer, Box<HostedLine>, usize)>, ProtocolFault> {
        let mut state = self.lock();
        let running = state.table.count_running();
        let meaning = state.table.take_message(message, bytes)?;
        if matches!(meaning, LineMeaning::Ready) && state.phase == RunPhase::Starting {
            state.phase = RunPhase::Serving;
            state.update_idle(self.limits.idle);
            self.signal_all();
        }
        if state.table.count_running() != running {
            // A connection that its request did not use would wait here until the server closes it.
            state.ready.keep_newest(state.table.count_running());
            state.update_idle(self.limits.idle);
            if !state.waiting.is_empty() {
                self.output.notify_all();
            }
            self.wake_late_clock(&state);
        }
        Ok(match meaning {
            LineMeaning::Message(answer, line, bytes) => Some((answer, line, bytes)),
            LineMeaning::Ready | LineMeaning::Unwanted => None,
        })
    }

    /// Ends the process of a run at once.
    pub(crate) fn kill_run(&self, run: u64) {
        let mut state = self.lock();
        if state.run == run && state.phase != RunPhase::Ended {
            state.phase = RunPhase::Ending;
            state.stop.stop();
            self.signal_all();
        }
    }

    /// Watches the deadlines of a run until it has ended.
    pub(crate) fn watch_clock(&self, run: u64) {
        let mut state = self.lock();
        while state.run == run && state.phase != RunPhase::Ended {
            state.watched = state.next_look();
            let Some(next) = state.watched else {
                state = self.clock.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let now = Instant::now();
            if next > now {
                let waited = self.clock.wait_timeout(state, next - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if let Some(overdue) = state.table.take_overdue(now) {
                state.fault = Some(ProtocolFault::StillRunning);
                state.end_by_force();
                if let Some((answer, limit)) = overdue {
                    let error = SandboxError::OutOfTime(limit);
                    drop(state);
                    answer.fail(AgentError::from(error).into_tool_error(0));
                    state = self.lock();
                }
            } else {
                match state.phase {
                    // Idle for long enough.
                    RunPhase::Serving => state.end_softly(),
                    RunPhase::Starting => {
                        state.fault = Some(ProtocolFault::NoGreeting);
                        state.end_by_force();
                    }
                    RunPhase::Ending => state.end_by_force(),
                    RunPhase::Ended => {}
                }
            }
            self.output.notify_all();
        }
    }

    /// Returns the fault that the clock found in the current run. `None` if it found none.
    pub(crate) fn clock_fault(&self) -> Option<ProtocolFault> {
        self.lock().fault
    }

    /// Returns true if the current run was asked to end, and nothing went wrong before.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().phase == RunPhase::Ending
    }

    /// Marks the current run as ended, so that its threads end.
    pub(crate) fn mark_ended(&self) {
        let mut state = self.lock();
        state.phase = RunPhase::Ended;
        state.until = None;
        self.signal_all();
    }

    /// Settles the requests after a run: the running ones fail with the error of the run, the waiting ones stay. `None` means a
    /// run that ended because it was idle or closed. If no process can be started, the waiting ones fail too.
    pub(crate) fn settle_run(&self, failure: Option<&RunFailure>) {
        let mut state = self.lock();
        let has_served = state.table.count_served() > 0;
        let failed = state.table.end_all();
        state.credits.clear();
        state.permits.clear();
        state.cancels.clear();
        let mut given_up = VecDeque::new();
        if let Some(failure) = failure {
            state.failures = if has_served { 0 } else { state.failures + 1 };
            if failure.is_final || state.failures >= MOST_FAILURES {
                given_up = std::mem::take(&mut state.waiting);
            }
        } else if has_served {
            state.failures = 0;
        }
        if state.is_closed {
            given_up = std::mem::take(&mut state.waiting);
        }
        let failures = state.failures;
        drop(state);
        let stopped = || AgentError::from(SandboxError::Stopped).into_tool_error(0);
        let error = failure.map_or_else(stopped, |failure| failure.error.clone());
        for answer in failed {
            answer.fail(error.clone());
        }
        for request in given_up {
            let mut error = error.clone();
            if failures > 1 {
                error.message = format!("{}; {failures} processes in a row ended like this", error.message);
            }
            request.answer.fail(error);
        }
    }

    /// Closes the slot: its process ends, and its requests fail. Returns after its last thread has ended. It can be used again.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        match state.table.count_running() {
            0 => state.end_softly(),
            _ => state.end_by_force(),
        }
        let worker = state.worker.take();
        self.signal_all();
        drop(state);
        if let Some(worker) = worker {
            let _ = worker.join();
        }
        let mut state = self.lock();
        let left = std::mem::take(&mut state.waiting);
        state.is_closed = false;
        drop(state);
        for request in left {
            request
                .answer
                .fail(AgentError::from(SandboxError::Stopped).into_tool_error(0));
        }
    }

    /// Returns the numbers of waiting requests, running requests and credits on their way.
    #[cfg(test)]
    pub(crate) fn count_all(&self) -> (usize, usize, usize) {
        let state = self.lock();
        (
            state.waiting.len(),
            state.table.count_running(),
            state.credits.len() + state.permits.len() + state.cancels.len(),
        )
    }
}

/// Failure of a run.
pub(crate) struct RunFailure {
    pub(crate) error: ToolError,
    /// True if another process would fail in the same way, as where nothing can confine it.
    pub(crate) is_final: bool,
}

impl SlotState {
    fn start_worker(&mut self, worker: impl FnOnce() + Send + 'static) -> Result<(), AgentError> {
        if self.has_worker {
            return Ok(());
        }
        let started = thread::Builder::new().spawn(worker);
        self.worker = Some(started.map_err(|_| AgentError::Thread)?);
        self.has_worker = true;
        Ok(())
    }

    /// Returns the next time at which something is due. `None` if nothing is.
    fn next_look(&self) -> Option<Instant> {
        let due = [self.until, self.table.next_deadline()];
        due.into_iter().flatten().min()
    }

    /// Takes the next line that can be written now. `None` if there is none.
    fn take_output(&mut self) -> Option<ParentLine> {
        if let Some(id) = self.cancels.pop_first() {
            return Some(ParentLine::Cancel { id });
        }
        if let Some(id) = self.permits.pop_first() {
            return Some(ParentLine::Permit { id });
        }
        if let Some((id, bytes)) = self.credits.pop_first() {
            return Some(ParentLine::Credit { id, bytes });
        }
        if !self.table.is_ready() || self.table.count_running() >= MOST_RUNNING {
            return None;
        }
        let request = self.waiting.pop_front()?;
        if let Some(connection) = request.connection {
            self.ready.add_connection(connection);
        }
        let limit = request.limit + GRACE;
        let time = TimeBox {
            deadline: Instant::now() + limit,
            limit,
        };
        let kind = WorkKind::of_work(&request.work);
        self.table.add_request(request.id, request.answer, kind, time);
        self.until = None;
        Some(ParentLine::Request {
            id: request.id,
            work: Box::new(request.work),
        })
    }

    /// Starts or stops the idle time.
    fn update_idle(&mut self, idle: Duration) {
        if self.phase == RunPhase::Serving {
            let is_idle = self.table.count_running() == 0 && self.waiting.is_empty();
            self.until = is_idle.then(|| Instant::now() + idle);
        }
    }

    /// Closes the input of the process, which then ends by itself or is killed.
    fn end_softly(&mut self) {
        if matches!(self.phase, RunPhase::Starting | RunPhase::Serving) {
            self.phase = RunPhase::Ending;
            self.until = Some(Instant::now() + END_GRACE);
        }
    }

    fn end_by_force(&mut self) {
        if self.phase != RunPhase::Ended {
            self.phase = RunPhase::Ending;
            self.until = None;
            self.stop.stop();
        }
    }
}
