//! The open connections, and which of them makes room for another.
//!
//! | state of a connection | it makes room |
//! |---|---|
//! | no request yet, or between two | if no other of these has waited longer |
//! | a request of a known author is answered, until the last piece of the answer is handed to the connection | never |
//!
//! An author is known once the judge has seen a session, a token, or the user's own socket. Requests of unknown authors are answered too,
//! and never hold a place, so another user of the machine cannot fill the places.
//!
//! Owns: their number, and this choice. Never: reads a request.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::Notify;

/// Connections of a service. Clones share them.
#[derive(Clone)]
pub struct OpenConnections {
    table: Arc<Mutex<ConnectionTable>>,
    most: usize,
}

#[derive(Default)]
struct ConnectionTable {
    /// Number of events so far, in place of a clock.
    events: u64,
    open: BTreeMap<u64, OpenConnection>,
}

struct OpenConnection {
    /// Requests that are answered.
    running: usize,
    /// Event after which no request was answered any more.
    idle_since: u64,
    /// Signal to the connection to end.
    leave: Arc<Notify>,
}

/// Place of one connection, until it is dropped with the requests that it answers: a WebSocket outlives its HTTP connection.
pub struct ConnectionSeat {
    place: Arc<SeatPlace>,
    leave: Arc<Notify>,
}

/// Name of a place, for the request that comes over its connection.
#[derive(Clone)]
pub struct SeatName(Arc<SeatPlace>);

/// A request that is answered, until this value is dropped.
pub struct RunningRequest(Arc<SeatPlace>);

/// Entry of the table, which ends with this value.
struct SeatPlace {
    connections: OpenConnections,
    id: u64,
}

impl OpenConnections {
    /// Makes a table for so many connections at once.
    pub fn new(most: usize) -> Self {
        Self {
            table: Arc::default(),
            most,
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        // Entries are changed in one step, so the table is valid even after a panic of another thread.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection. If there are too many, the one that has been idle for the longest time ends. `None` if none is idle.
    pub fn admit(&self) -> Option<ConnectionSeat> {
        let mut table = self.lock();
        if table.open.len() >= self.most {
            let idle = table.open.iter().filter(|(_, open)| open.running == 0);
            let (&longest, _) = idle.min_by_key(|(_, open)| open.idle_since)?;
            if let Some(open) = table.open.remove(&longest) {
                open.leave.notify_one();
            }
        }
        table.events += 1;
        let (id, leave) = (table.events, Arc::new(Notify::new()));
        let open = OpenConnection {
            running: 0,
            idle_since: id,
            leave: Arc::clone(&leave),
        };
        table.open.insert(id, open);
        drop(table);
        let connections = self.clone();
        Some(ConnectionSeat {
            place: Arc::new(SeatPlace { connections, id }),
            leave,
        })
    }
}

impl ConnectionSeat {
    /// Waits until the connection has to make room.
    pub async fn await_leave(&self) {
        self.leave.notified().await;
    }

    /// Returns the name of the place.
    pub fn name(&self) -> SeatName {
        SeatName(Arc::clone(&self.place))
    }
}

impl SeatName {
    /// Marks a request as answered from now on, until the returned value, or the body that it holds, is dropped. `None` if the
    /// connection has lost its place, so that the request must not begin.
    pub fn hold_request(&self) -> Option<RunningRequest> {
        let place = &self.0;
        place.connections.lock().open.get_mut(&place.id)?.running += 1;
        Some(RunningRequest(Arc::clone(place)))
    }
}

impl Drop for SeatPlace {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.id);
    }
}

impl RunningRequest {
    /// Holds the request until its answer is dropped.
    pub fn hold_body(self, inner: Body) -> Body {
        Body::new(HeldBody {
            inner,
            _request: self,
        })
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let mut table = self.0.connections.lock();
        table.events += 1;
        let now = table.events;
        if let Some(open) = table.open.get_mut(&self.0.id) {
            open.running = open.running.saturating_sub(1);
            open.idle_since = now;
        }
    }
}

/// Body of a response, with the request that it answers.
struct HeldBody {
    inner: Body,
    _request: RunningRequest,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    fn has_to_leave(seat: &ConnectionSeat) -> bool {
        pin!(seat.await_leave())
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }

    #[test]
    fn the_connection_that_was_idle_for_longest_makes_room_and_one_with_a_request_never() {
        let connections = OpenConnections::new(3);
        let [one, two, three] = [0; 3].map(|_| connections.admit().unwrap());
        let hold = |seat: &ConnectionSeat| seat.name().hold_request().unwrap().hold_body(Body::empty());
        let answer_of_one = hold(&one);
        // Two has had a request, so three was idle for longer.
        drop(hold(&two));
        let four = connections.admit().unwrap();
        assert_eq!(
            [&one, &two, &three, &four].map(has_to_leave),
            [false, false, true, false]
        );
        assert!(three.name().hold_request().is_none(), "it has lost its place");
        let answer_of_two = hold(&two);
        let answer_of_four = hold(&four);
        assert!(connections.admit().is_none(), "each is answering");
        drop(answer_of_one);
        let five = connections.admit().unwrap();
        assert_eq!(
            [&one, &two, &four, &five].map(has_to_leave),
            [true, false, false, false]
        );
        drop((answer_of_two, answer_of_four, one, two, three, four, five));
        assert_eq!(connections.lock().open.len(), 0);
    }

    #[test]
    fn a_socket_keeps_the_place_of_a_connection_that_has_ended() {
        let connections = OpenConnections::new(1);
        let seat = connections.admit().unwrap();
        let socket = seat.name().hold_request().unwrap();
        drop(seat);
        assert!(connections.admit().is_none());
        drop(socket);
        assert!(connections.admit().is_some());
    }
}
