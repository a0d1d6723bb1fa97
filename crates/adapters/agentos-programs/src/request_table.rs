//! The requests that a confined process works on, and what each of its lines means for them.
//!
//! Owns: the order of lines, the window of each request, and the limits on what waits in memory. Never: trusts a line of the child,
//! or gives a message to another request than the one whose id it has.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::hosted_lines::{AdapterWork, ChildLine, HostedLine, SEND_WINDOW};

/// Longest line of a child. A server's answer has at most 16 MiB, and JSON escapes some of its characters.
pub(crate) const LONGEST_LINE: usize = 32 << 20;
/// Maximum bytes of all lines of one answer.
const MOST_OUTPUT: usize = 64 << 20;
/// Maximum bytes of all lines that nobody has read yet. Only answers with events of many megabytes come near it.
const MOST_UNREAD: usize = 64 << 20;

/// Rule that a child broke. The process is ended then: whoever breaks one may have mixed up answers before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolFault {
    #[error("a line is not a message")]
    NotMessage,
    #[error("a line is longer than {LONGEST_LINE} bytes")]
    LineTooLong,
    #[error("an answer came before the greeting was acknowledged")]
    NotReady,
    #[error("the greeting was acknowledged twice")]
    ReadyTwice,
    #[error("a message names a request that is not running")]
    UnknownRequest,
    #[error("a message does not belong to this kind of request")]
    WrongKind,
    #[error("a request ended as cancelled, and nobody had cancelled it")]
    NotCancelled,
    #[error("an answer was sent faster than it was read")]
    WindowExceeded,
    #[error("an answer is longer than {MOST_OUTPUT} bytes")]
    TooMuchOutput,
    #[error("more than {MOST_UNREAD} bytes of answers wait for their readers")]
    TooMuchUnread,
    #[error("it did not hang up after a request was cancelled")]
    StillRunning,
    #[error("it did not acknowledge the greeting in time")]
    NoGreeting,
}

/// Kind of a request, which decides the lines that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkKind {
    Task,
    Chat,
    Side,
}

impl WorkKind {
    pub(crate) fn of_work(work: &AdapterWork) -> Self {
        match work {
            AdapterWork::Task(_) => Self::Task,
            AdapterWork::Chat(_) | AdapterWork::WholeChat(_) => Self::Chat,
            AdapterWork::Side(_) => Self::Side,
        }
    }

    fn allows(self, line: &HostedLine) -> bool {
        match line {
            HostedLine::Text { .. } | HostedLine::Note { .. } | HostedLine::Output { .. } => {
                self == Self::Task
            }
            HostedLine::Event { .. } => self == Self::Chat,
            HostedLine::Document { .. } => self == Self::Side,
            HostedLine::Sending { .. }
            | HostedLine::SendingFailed { .. }
            | HostedLine::Error { .. }
            | HostedLine::Cancelled => true,
        }
    }
}

/// Request that was written to the process. `R` is who receives its lines.
struct RunningRequest<R> {
    receiver: R,
    kind: WorkKind,
    /// Bytes of lines for which the child got no credit yet.
    unread: usize,
    /// Bytes of all its lines.
    total: usize,
    time: TimeBox,
    is_cancelled: bool,
}

/// Time of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeBox {
    /// Time at which the process counts as hung if the request has not ended.
    pub(crate) deadline: Instant,
    /// Length of the time, for the error.
    pub(crate) limit: Duration,
}

/// Meaning of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineMeaning<R> {
    /// The process takes requests now.
    Ready,
    /// This message is for this receiver. The number is its size in bytes.
    Message(R, Box<HostedLine>, usize),
    /// The message is for a reader that is gone.
    Unwanted,
}

/// Parses a line of the child.
///
/// # Errors
/// If it is too long, or no message.
pub(crate) fn parse_line(line: &[u8]) -> Result<ChildLine, ProtocolFault> {
    if line.len() > LONGEST_LINE {
        return Err(ProtocolFault::LineTooLong);
    }
    serde_json::from_slice(line).map_err(|_| ProtocolFault::NotMessage)
}

/// Requests of one process.
pub(crate) struct RequestTable<R> {
    is_ready: bool,
    running: BTreeMap<u64, RunningRequest<R>>,
    /// Sum of `unread`.
    unread: usize,
    /// Number of requests that ended with a line of the child.
    served: u64,
}

impl<R> Default for RequestTable<R> {
    fn default() -> Self {
        Self {
            is_ready: false,
            running: BTreeMap::new(),
            unread: 0,
            served: 0,
        }
    }
}

impl<R: Clone> RequestTable<R> {
    /// Returns true if the process takes requests.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Returns the number of requests that have not ended.
    pub(crate) fn count_running(&self) -> usize {
        self.running.len()
    }

    /// Returns the number of requests that ended with a line of the child.
    pub(crate) fn count_served(&self) -> u64 {
        self.served
    }

    /// Adds a request that is about to be written.
    pub(crate) fn add_request(&mut self, id: u64, receiver: R, kind: WorkKind, time: TimeBox) {
        let request = RunningRequest {
            receiver,
            kind,
            unread: 0,
            total: 0,
            time,
            is_cancelled: false,
        };
        self.running.insert(id, request);
    }

    /// Interprets a message of the child. `bytes` is the length of its line.
    ///
    /// # Errors
    /// The rule that the message breaks.
    pub(crate) fn take_message(
        &mut self,
        message: ChildLine,
        bytes: usize,
    ) -> Result<LineMeaning<R>, ProtocolFault> {
        let (id, line) = match message {
            ChildLine::Ready if self.is_ready => return Err(ProtocolFault::ReadyTwice),
            ChildLine::Ready => {
                self.is_ready = true;
                return Ok(LineMeaning::Ready);
            }
            ChildLine::Answer { .. } if !self.is_ready => return Err(ProtocolFault::NotReady),
            ChildLine::Answer { id, line } => (id, line),
        };
        let request = self.running.get_mut(&id).ok_or(ProtocolFault::UnknownRequest)?;
        if !request.kind.allows(&line) {
            return Err(ProtocolFault::WrongKind);
        }
        if line == HostedLine::Cancelled && !request.is_cancelled {
            return Err(ProtocolFault::NotCancelled);
        }
        request.total = request.total.saturating_add(bytes);
        if request.total > MOST_OUTPUT {
            return Err(ProtocolFault::TooMuchOutput);
        }
        if line.is_end() {
            self.served += 1;
            let ended = self.running.remove(&id).ok_or(ProtocolFault::UnknownRequest)?;
            self.unread = self.unread.saturating_sub(ended.unread);
            return Ok(match ended.is_cancelled {
                true => LineMeaning::Unwanted,
                false => LineMeaning::Message(ended.receiver, Box::new(line), bytes),
            });
        }
        match request.kind {
            // The reader of a task's progress is this program's own, and never waits. A document is one line, and the end.
            WorkKind::Task | WorkKind::Side => {}
            WorkKind::Chat if request.unread >= SEND_WINDOW => return Err(ProtocolFault::WindowExceeded),
            WorkKind::Chat if self.unread.saturating_add(bytes) > MOST_UNREAD => {
                return Err(ProtocolFault::TooMuchUnread);
            }
            WorkKind::Chat => {
                request.unread += bytes;
                self.unread += bytes;
            }
        }
        Ok(match request.is_cancelled {
            true => LineMeaning::Unwanted,
            false => LineMeaning::Message(request.receiver.clone(), Box::new(line), bytes),
        })
    }

    /// Returns true if a request runs and is not cancelled.
    pub(crate) fn is_wanted(&self, id: u64) -> bool {
        self.running.get(&id).is_some_and(|request| !request.is_cancelled)
    }

    /// Counts bytes as read. Returns true if the child must get the credit: the request still runs.
    pub(crate) fn add_credit(&mut self, id: u64, bytes: usize) -> bool {
        let Some(request) = self.running.get_mut(&id) else {
            return false;
        };
        let bytes = bytes.min(request.unread);
        request.unread -= bytes;
        self.unread = self.unread.saturating_sub(bytes);
        true
    }

    /// Marks a request as cancelled, which has to end by the deadline. Returns true if the child must hear of it.
    pub(crate) fn cancel_request(&mut self, id: u64, deadline: Instant) -> bool {
        match self.running.get_mut(&id) {
            Some(request) if !request.is_cancelled => {
                request.is_cancelled = true;
                request.time.deadline = request.time.deadline.min(deadline);
                true
            }
            Some(_) | None => false,
        }
    }

    /// Returns the earliest deadline. `None` if no request runs.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.running.values().map(|request| request.time.deadline).min()
    }

    /// Removes a request whose deadline has passed. Holds its receiver and its time limit, or `None` if it was
    /// cancelled. `None` if there is no such request.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<Option<(R, Duration)>> {
        let due = |(_, request): &(&u64, &RunningRequest<R>)| request.time.deadline <= now;
        let id = *self.running.iter().find(due)?.0;
        let request = self.running.remove(&id)?;
        Some((!request.is_cancelled).then_some((request.receiver, request.time.limit)))
    }

    /// Ends all requests, because their process has ended. Returns who waits for an answer.
    pub(crate) fn end_all(&mut self) -> Vec<R> {
        let ended = std::mem::take(self).running.into_values();
        ended
            .filter(|request| !request.is_cancelled)
            .map(|request| request.receiver)
            .collect()
    }
}

#[cfg(test)]
mod tests;
