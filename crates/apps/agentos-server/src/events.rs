//! Events: the records of the tape and the steps of running turns, for listeners; and the stream of server-sent events.
//!
//! Owns: the listener, and this stream; `events_socket` has the same events over a WebSocket. Never: keeps a queue for a listener:
//! each takes the records that it has not received yet when it can, so a slow listener misses no record and holds no other
//! listener up.
//!
//! | event | data | number |
//! |---|---|---|
//! | `record` | a record of the tape | `id`, for `Last-Event-ID` or `?after=` |
//! | `turn` | a step of a turn: its text, its tools, its end | none: the session has the turn when it has ended |
//! | `missed` | the number of steps that this listener was too slow for | none |

use std::time::Duration;

use agentos_host::{TapeEvent, TapePlace};
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::caller::CallerStanding;
use crate::desk::SharedDesk;
use crate::event_hub::{EventMark, ListenerAuthor, ListenerPlace, ListenerWay, MOST_EVENTS};
use crate::fault::RequestFault;
use crate::talks::TalkEvent;

/// Time without an event after which a comment is sent, so that a connection whose other end is gone is noticed.
const QUIET_TIME: Duration = Duration::from_secs(15);

/// A listener.
pub struct EventListener {
    desk: SharedDesk,
    /// Place among the listeners, until the stream ends.
    _listener: ListenerPlace,
    /// Last event that was sent.
    sent: EventMark,
    newest: watch::Receiver<EventMark>,
    talks: broadcast::Receiver<TalkEvent>,
    /// True if only turns of the repository's own sessions are shown.
    is_bound: bool,
    /// Standing of the author. `None` for programs of the user, over the Unix socket.
    standing: Option<CallerStanding>,
    /// Place on the tape after that event. `None` if the last events were not read from there.
    place: Option<TapePlace>,
}

/// Part of a stream that is sent at once.
pub enum EventPiece {
    /// Records of the tape, at least one.
    Records(Vec<TapeEvent>),
    /// Step of a turn.
    Step(Box<TalkEvent>),
    /// Number of steps that this listener was too slow for.
    Missed(u64),
    /// Nothing has happened for a while.
    Quiet,
}

/// Reads the number of the last event that a listener has received. `None` if the listener names no event.
pub fn read_last(headers: &HeaderMap, uri: &Uri) -> Option<u64> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    if let Some(text) = header {
        return text.trim().parse().ok();
    }
    // The WebSocket of a browser has no headers of its own.
    let mut query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let (_, after) = query.find(|(name, _)| name == "after")?;
    after.parse().ok()
}

/// Streams a listener's events as server-sent events.
pub fn stream_events(listener: EventListener) -> Response {
    // At once, so that a client knows that it listens.
    let begun =
        stream::once(async { Ok::<_, std::convert::Infallible>(Bytes::from_static(b"retry: 1000\n\n")) });
    let pieces = stream::unfold(listener, |listener| async {
        let (piece, listener) = listener.next_piece().await?;
        Some((Ok(Bytes::from(format_piece(&piece))), listener))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    let pieces = futures_util::StreamExt::chain(begun, pieces);
    (headers, Body::from_stream(pieces)).into_response()
}

impl EventListener {
    /// Listens to the records after a number; without a number, to the records from now on. A token is shown turns of the repository's
    /// own sessions alone.
    ///
    /// # Errors
    /// If too many listen already.
    pub async fn begin(
        desk: SharedDesk,
        way: ListenerWay,
        (author, standing): (Option<ListenerAuthor>, Option<CallerStanding>),
        last: Option<u64>,
    ) -> Result<Self, RequestFault> {
        let is_bound = matches!(author, Some(ListenerAuthor::Token(_)));
        let Some(place) = desk.served.listeners.take(way, author) else {
            let what = "too many programs listen to events already";
            return Err(RequestFault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what));
        };
        let newest = desk.events.watch_mark(&desk);
        // A repository without a tape has no records yet.
        let now = desk.events.look_once(&desk).await.unwrap_or_default();
        Ok(Self {
            talks: desk.talks.listen(),
            is_bound,
            standing,
            desk,
            _listener: place,
            sent: EventMark {
                seq: last.unwrap_or(now.seq),
                ..now
            },
            newest,
            place: None,
        })
    }

    /// Waits for the next piece of the stream. `None` if the tape cannot be read any more, or the author counts no more, which is
    /// noticed before each piece.
    pub async fn next_piece(mut self) -> Option<(EventPiece, Self)> {
        let piece = self.await_piece().await?;
        let counts = self.standing.as_ref().is_none_or(CallerStanding::counts);
        counts.then_some((piece, self))
    }

    async fn await_piece(&mut self) -> Option<EventPiece> {
        loop {
            let newest = *self.newest.borrow_and_update();
            if newest.tape != self.sent.tape {
                self.sent = EventMark { seq: 0, ..newest };
                self.place = None;
            }
            if newest.seq > self.sent.seq {
                let events = self.list_next().await?;
                if let Some(last) = events.last() {
                    self.sent.seq = last.seq;
                    return Some(EventPiece::Records(events));
                }
            }
            let piece = tokio::select! {
                changed = self.newest.changed() => match changed {
                    Ok(()) => continue,
                    // The desk is gone: the service ends.
                    Err(_) => return None,
                },
                step = self.talks.recv() => match step {
                    Ok(step) if self.is_bound && !step.is_own => continue,
                    Ok(step) => EventPiece::Step(Box::new(step)),
                    Err(RecvError::Lagged(count)) => EventPiece::Missed(count),
                    Err(RecvError::Closed) => return None,
                },
                () = tokio::time::sleep(QUIET_TIME) => EventPiece::Quiet,
            };
            return Some(piece);
        }
    }

    /// Returns the events after the last one that was sent, at most so many. `None` if the tape cannot be read.
    async fn list_next(&mut self) -> Option<Vec<TapeEvent>> {
        let after = self.sent.seq;
        if let Some(events) = self.desk.events.list_kept(after) {
            self.place = None;
            return Some(events);
        }
        // Read on from where the last read ended: from its beginning each time, a long tape would take the square of its length.
        let place = self.place.take().unwrap_or_else(|| TapePlace::after(after));
        let read = self
            .desk
            .call(move |desk| desk.host.stories().read_events(&place, MOST_EVENTS));
        let (events, next) = read.await.ok()?;
        self.place = Some(next);
        Some(events)
    }
}

/// Writes a piece as server-sent events.
fn format_piece(piece: &EventPiece) -> String {
    match piece {
        EventPiece::Records(events) => events.iter().map(format_event).collect(),
        EventPiece::Step(step) => {
            let data = serde_json::to_string(step).unwrap_or_default();
            format!("event: turn\ndata: {data}\n\n")
        }
        EventPiece::Missed(count) => format!("event: missed\ndata: {{\"steps\":{count}}}\n\n"),
        EventPiece::Quiet => ": \n\n".to_owned(),
    }
}

fn format_event(event: &TapeEvent) -> String {
    // The data is one line of JSON, as the format requires.
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: record\ndata: {data}\n\n", event.seq)
}
