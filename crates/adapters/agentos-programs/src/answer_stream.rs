//! The answer to one request, from the thread that reads the process to the future that waits for it.
//!
//! Owns: the queue of its lines, and the credit that a reader gives. Never: depends on an async runtime, or makes the thread wait: the
//! window of the request bounds the queue.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use agentos_tool::{SendGate, ToolError};

use crate::hosted_lines::{HostedLine, SEND_WINDOW};
use crate::process_slot::ProcessSlot;

/// Answer to one request. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Answer(Arc<Mutex<AnswerState>>);

#[derive(Default)]
struct AnswerState {
    lines: VecDeque<(HostedLine, usize)>,
    /// Bytes that were read since the last credit.
    read: usize,
    /// Error of a request that has no line for its end. `None` if there is none, or it was returned.
    failure: Option<Box<ToolError>>,
    has_ended: bool,
    is_closed: bool,
    /// True if a sending is permitted, and the process does not know yet, because the place is not set.
    has_permit: bool,
    waker: Option<Waker>,
    /// Process that works on the request, and the id of the request there. `None` while the server is connected to.
    place: Option<(Arc<ProcessSlot>, u64)>,
    /// Failure of the connection in the system's words, if there was one. `None` while the server is connected to, or if a connection
    /// was made.
    obstacle: Option<Vec<String>>,
}

impl Answer {
    fn lock(&self) -> MutexGuard<'_, AnswerState> {
        // Values are moved in and out in one step, so they are valid even after a panic of the other thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets where the request waits, and why the server could not be reached. Returns false if nobody reads the answer any more.
    pub(crate) fn set_place(&self, slot: &Arc<ProcessSlot>, id: u64, obstacle: Option<Vec<String>>) -> bool {
        let mut state = self.lock();
        state.place = Some((Arc::clone(slot), id));
        state.obstacle = obstacle;
        let (has_permit, is_open) = (std::mem::take(&mut state.has_permit), !state.is_closed);
        drop(state);
        if has_permit {
            slot.permit_sending(id);
        }
        is_open
    }

    /// Returns true if nobody reads the answer any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Adds a line of so many bytes. Returns the waker of the reader if it waits: the caller wakes it, once for all lines that came
    /// together, and without a lock, because waking may poll the reader on this thread.
    #[must_use]
    pub(crate) fn add_line(&self, line: HostedLine, bytes: usize) -> Option<Waker> {
        let mut state = self.lock();
        if state.is_closed || state.has_ended {
            return None;
        }
        state.has_ended = line.is_end();
        state.lines.push_back((line, bytes));
        state.waker.take()
    }

    /// Ends the answer after the lines that wait.
    pub(crate) fn fail(&self, error: ToolError) {
        let mut state = self.lock();
        if state.has_ended {
            return;
        }
        state.has_ended = true;
        state.failure = Some(Box::new(error));
        wake_reader(state);
    }
}

/// Wakes the reader. The lock is released before, because waking may poll the reader, and with it lock again, on this thread.
fn wake_reader(mut state: MutexGuard<'_, AnswerState>) {
    let waker = state.waker.take();
    drop(state);
    waker.into_iter().for_each(Waker::wake);
}

/// Line of an answer, with the credit that reading it gives.
#[derive(Default)]
struct ReadLine {
    /// The line. `None` after the end.
    line: Option<HostedLine>,
    /// The credit. `None` if there is not enough for one yet.
    credit: Option<ReadCredit>,
}

/// Credit for the process.
struct ReadCredit {
    slot: Arc<ProcessSlot>,
    id: u64,
    bytes: usize,
}

/// Reader of an answer. Dropping it cancels the request.
pub(crate) struct AnswerReader(pub(crate) Answer);

impl AnswerReader {
    /// Waits for the next line about the answer. `None` after the end. `gate` permits each sending of the request.
    ///
    /// # Errors
    /// If the process reports an error, or has ended, or the gate does not permit a sending.
    pub(crate) async fn next_line(&self, gate: &dyn SendGate) -> Result<Option<HostedLine>, ToolError> {
        loop {
            match self.read_line().await? {
                Some(HostedLine::Sending { size }) => {
                    gate.permit(size).await?;
                    self.permit_sending();
                }
                Some(HostedLine::SendingFailed { failure, has_begun }) => {
                    gate.note_failure(&failure, has_begun)
                }
                line => return Ok(line),
            }
        }
    }

    /// Permits the process to send the request once.
    fn permit_sending(&self) {
        let mut state = self.0.lock();
        let Some((slot, id)) = state.place.clone() else {
            // The first line of the process may arrive before the thread that wrote the request has set the place.
            state.has_permit = true;
            return;
        };
        drop(state);
        slot.permit_sending(id);
    }

    async fn read_line(&self) -> Result<Option<HostedLine>, ToolError> {
        let read = poll_fn(|context| self.poll_line(context.waker())).await?;
        if let Some(credit) = read.credit {
            credit.slot.give_credit(credit.id, credit.bytes);
        }
        Ok(read.line)
    }

    fn poll_line(&self, waker: &Waker) -> Poll<Result<ReadLine, ToolError>> {
        let mut state = self.0.lock();
        let Some((line, bytes)) = state.lines.pop_front() else {
            if let Some(error) = state.failure.take() {
                return Poll::Ready(Err(*error));
            }
            if state.has_ended {
                return Poll::Ready(Ok(ReadLine::default()));
            }
            state.waker = Some(waker.clone());
            return Poll::Pending;
        };
        state.read += bytes;
        let mut credit = None;
        // Half a window at a time: a credit for every piece would be a second message for each.
        if state.read >= SEND_WINDOW / 2 && !state.has_ended {
            let read = std::mem::take(&mut state.read);
            credit = state.place.clone().map(|(slot, id)| ReadCredit {
                slot,
                id,
                bytes: read,
            });
        }
        Poll::Ready(match line {
            HostedLine::Error { error } => Err(match state.obstacle.take() {
                // Only the outside knows why: the connection was attempted there, before the request was written.
                Some(causes) if !error.causes.is_empty() => ToolError { causes, ..error },
                Some(_) | None => error,
            }),
            line => Ok(ReadLine {
                line: Some(line),
                credit,
            }),
        })
    }
}

impl Drop for AnswerReader {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.lines.clear();
        let place = state.place.take().filter(|_| !state.has_ended);
        drop(state);
        if let Some((slot, id)) = place {
            slot.cancel_request(id);
        }
    }
}
