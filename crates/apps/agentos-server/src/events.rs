//! Events: the records of the tape as server-sent events, resumed with `Last-Event-ID`, and the steps of running turns.
//!
//! Owns: the stream. Never: keeps a queue for a listener: each takes the records that it has not received yet when it can, so a slow
//! listener misses no record and holds no other listener up.
//!
//! | event | data | number |
//! |---|---|---|
//! | `record` | a record of the tape | `id`, for `Last-Event-ID` |
//! | `turn` | a step of a turn: its text, its tools, its end | none: the session has the turn when it has ended |
//! | `missed` | the number of steps that this listener was too slow for | none |

use std::time::Duration;

use agentos_host::{TapeEvent, TapePlace};
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};

use crate::desk::SharedDesk;
use crate::event_hub::{EventMark, MOST_EVENTS};
use crate::fault::RequestFault;
use crate::talks::TalkEvent;

/// Time without an event after which a comment is sent, so that a connection whose other end is gone is noticed.
const QUIET_TIME: Duration = Duration::from_secs(15);

struct ListenerState {
    desk: SharedDesk,
    /// Place among the listeners, until the stream ends.
    _listener: OwnedSemaphorePermit,
    /// Last event that was sent.
    sent: EventMark,
    newest: watch::Receiver<EventMark>,
    talks: broadcast::Receiver<TalkEvent>,
    /// True if only turns of the repository's own sessions are shown.
    is_bound: bool,
    /// Place on the tape after that event. `None` if the last events were not read from there.
    place: Option<TapePlace>,
    is_first: bool,
}

/// Streams the records after the one that `Last-Event-ID` names; without it, the records from now on. `is_bound` is true if only turns of the
/// repository's own sessions are shown.
///
/// # Errors
/// If too many listen already.
pub async fn stream_events(
    desk: SharedDesk,
    is_bound: bool,
    headers: &HeaderMap,
) -> Result<Response, RequestFault> {
    let Some(place) = desk.events.take_place() else {
        let what = "too many programs listen to events already";
        return Err(RequestFault::new(StatusCode::SERVICE_UNAVAILABLE, "busy", what));
    };
    let newest = desk.events.watch_mark(&desk);
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = last.and_then(|text| text.trim().parse().ok());
    // A repository without a tape has no records yet.
    let now = desk.events.look_once(&desk).await.unwrap_or_default();
    let sent = EventMark {
        seq: last.unwrap_or(now.seq),
        ..now
    };
    let state = ListenerState {
        talks: desk.talks.listen(),
        is_bound,
        desk,
        _listener: place,
        sent,
        newest,
        place: None,
        is_first: true,
    };
    let pieces = stream::unfold(state, |state| async {
        next_piece(state)
            .await
            .map(|(piece, state)| (Ok::<_, std::convert::Infallible>(piece), state))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Waits for the next piece of the stream. `None` if the tape cannot be read any more.
async fn next_piece(mut state: ListenerState) -> Option<(Bytes, ListenerState)> {
    if std::mem::take(&mut state.is_first) {
        // At once, so that a client knows that it listens.
        return Some((Bytes::from_static(b"retry: 1000\n\n"), state));
    }
    loop {
        let newest = *state.newest.borrow_and_update();
        if newest.tape != state.sent.tape {
            state.sent = EventMark { seq: 0, ..newest };
            state.place = None;
        }
        if newest.seq > state.sent.seq {
            let events = list_next(&mut state).await?;
            if let Some(last) = events.last() {
                state.sent.seq = last.seq;
                let text: String = events.iter().map(format_event).collect();
                return Some((Bytes::from(text), state));
            }
        }
        let ListenerState {
            newest,
            talks,
            is_bound,
            ..
        } = &mut state;
        let piece = tokio::select! {
            changed = newest.changed() => match changed {
                Ok(()) => continue,
                // The desk is gone: the service ends.
                Err(_) => return None,
            },
            step = talks.recv() => match step {
                Ok(step) if *is_bound && !step.is_own => continue,
                Ok(step) => format_step(&step),
                Err(RecvError::Lagged(count)) => format!("event: missed\ndata: {{\"steps\":{count}}}\n\n"),
                Err(RecvError::Closed) => return None,
            },
            () = tokio::time::sleep(QUIET_TIME) => ": \n\n".to_owned(),
        };
        return Some((Bytes::from(piece), state));
    }
}

/// Returns the events after the last one that was sent, at most so many. `None` if the tape cannot be read.
async fn list_next(state: &mut ListenerState) -> Option<Vec<TapeEvent>> {
    let after = state.sent.seq;
    if let Some(events) = state.desk.events.list_kept(after) {
        state.place = None;
        return Some(events);
    }
    // Read on from where the last read ended: from its beginning each time, a long tape would take the square of its length.
    let place = state.place.take().unwrap_or_else(|| TapePlace::after(after));
    let read = state
        .desk
        .call(move |desk| desk.host.read_events(&place, MOST_EVENTS));
    let (events, next) = read.await.ok()?;
    state.place = Some(next);
    Some(events)
}

fn format_step(step: &TalkEvent) -> String {
    let data = serde_json::to_string(step).unwrap_or_default();
    format!("event: turn\ndata: {data}\n\n")
}

fn format_event(event: &TapeEvent) -> String {
    // The data is one line of JSON, as the format requires.
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: record\ndata: {data}\n\n", event.seq)
}
