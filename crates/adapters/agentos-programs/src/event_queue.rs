//! Events of a confined model, from the thread that reads its output to the future that waits for them.
//!
//! Owns: the bound of the queue. Never: depends on an async runtime.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use agentos_model::ChatEvent;
use agentos_tool::ToolError;

/// Events that wait at most. A slow reader then stops the thread, which stops the child at its full pipe, which stops the server.
const MOST_WAITING: usize = 64;

/// Queue with one writer and one reader.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventQueue(Arc<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    waiting: Mutex<WaitingEvents>,
    /// Signals the writer that there is room, or that nobody reads any more.
    room: Condvar,
}

#[derive(Debug, Default)]
struct WaitingEvents {
    events: VecDeque<ChatEvent>,
    /// The end of the stream. `None` before it.
    end: Option<Result<(), ToolError>>,
    waker: Option<Waker>,
    is_closed: bool,
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingEvents> {
        // Values are moved in and out in one step, so they are valid even after a panic of the other thread.
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event, and waits for room before. Drops the event if nobody reads any more.
    pub(crate) fn push_event(&self, event: ChatEvent) {
        let is_full =
            |waiting: &mut WaitingEvents| !waiting.is_closed && waiting.events.len() >= MOST_WAITING;
        let room = self.0.room.wait_while(self.lock(), is_full);
        let mut waiting = room.unwrap_or_else(PoisonError::into_inner);
        if waiting.is_closed {
            return;
        }
        waiting.events.push_back(event);
        wake_reader(waiting);
    }

    /// Ends the stream after the events that wait.
    pub(crate) fn end_stream(&self, end: Result<(), ToolError>) {
        let mut waiting = self.lock();
        waiting.end = Some(end);
        wake_reader(waiting);
    }

    /// Drops the events that wait, and every later one.
    pub(crate) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        waiting.events.clear();
        self.0.room.notify_all();
    }

    /// Waits for the next event. `None` after the end.
    ///
    /// # Errors
    /// If the stream ended with an error.
    pub(crate) async fn next_event(&self) -> Result<Option<ChatEvent>, ToolError> {
        poll_fn(|context| {
            let mut waiting = self.lock();
            if let Some(event) = waiting.events.pop_front() {
                self.0.room.notify_all();
                return Poll::Ready(Ok(Some(event)));
            }
            match waiting.end.take() {
                Some(Ok(())) => {
                    waiting.end = Some(Ok(()));
                    Poll::Ready(Ok(None))
                }
                Some(Err(error)) => {
                    // An error is returned once; after it, the stream is at its end.
                    waiting.end = Some(Ok(()));
                    Poll::Ready(Err(error))
                }
                None => {
                    waiting.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// Wakes the reader. The lock is released before, because waking may poll the reader, and with it lock again, on this thread.
fn wake_reader(mut waiting: MutexGuard<'_, WaitingEvents>) {
    let waker = waiting.waker.take();
    drop(waiting);
    waker.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::Context;

    use super::*;

    fn text(number: usize) -> ChatEvent {
        ChatEvent::Text {
            text: number.to_string(),
        }
    }

    /// Reads one event. `None` if there is none yet.
    fn try_next(queue: &EventQueue) -> Option<Result<Option<ChatEvent>, ToolError>> {
        let mut next = pin!(queue.next_event());
        match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => Some(event),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_writer_waits_for_its_reader_and_a_closed_queue_frees_it() {
        let queue = EventQueue::default();
        for number in 0..MOST_WAITING {
            queue.push_event(text(number));
        }
        let (writer, (sent, done)) = (queue.clone(), channel());
        let thread = std::thread::spawn(move || {
            for number in MOST_WAITING..MOST_WAITING * 3 {
                writer.push_event(text(number));
                sent.send(number).unwrap();
            }
            writer.end_stream(Ok(()));
        });
        for number in 0..MOST_WAITING {
            // The writer has sent at most as many events as were read.
            assert!(done.try_iter().all(|sent| sent < MOST_WAITING + number));
            assert_eq!(try_next(&queue), Some(Ok(Some(text(number)))));
        }
        // The writer waits for room again, or will; nobody reads any more.
        queue.close();
        thread.join().unwrap();
        assert_eq!(try_next(&queue), Some(Ok(None)));
    }

    #[test]
    fn events_come_before_the_end_and_an_error_once() {
        let queue = EventQueue::default();
        assert_eq!(try_next(&queue), None);
        queue.push_event(text(1));
        let error = crate::AgentError::Thread.into_tool_error(0);
        queue.end_stream(Err(error.clone()));
        assert_eq!(try_next(&queue), Some(Ok(Some(text(1)))));
        assert_eq!(try_next(&queue), Some(Err(error)));
        assert_eq!(try_next(&queue), Some(Ok(None)));
    }
}
