//! Events: the records of the tape as server-sent events, resumed with `Last-Event-ID`.
//!
//! Owns: the stream. Never: keeps a queue for a listener: each takes what it has not received yet when it can, so a slow one misses
//! nothing and holds nobody up.

use std::time::Duration;

use agentos_host::{TapeEvent, TapePlace};
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::desk::SharedDesk;
use crate::event_hub::{EventMark, MOST_EVENTS};
use crate::fault::RequestFault;

/// Time without an event after which a comment is sent, so that a connection whose other end is gone is noticed.
const QUIET_TIME: Duration = Duration::from_secs(15);

struct ListenerState {
    desk: SharedDesk,
    /// Place among the listeners, until the stream ends.
    _listener: OwnedSemaphorePermit,
    /// Last event that was sent.
    sent: EventMark,
    newest: watch::Receiver<EventMark>,
    /// Place on the tape after that event. `None` if the last events were not read from there.
    place: Option<TapePlace>,
    is_first: bool,
}

/// Streams the records after the one that `Last-Event-ID` names; without it, those from now on.
///
/// # Errors
/// If too many listen already.
pub async fn stream_events(desk: SharedDesk, headers: &HeaderMap) -> Result<Response, RequestFault> {
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
        match tokio::time::timeout(QUIET_TIME, state.newest.changed()).await {
            Ok(Ok(())) => {}
            // The desk is gone: the service ends.
            Ok(Err(_)) => return None,
            Err(_) => return Some((Bytes::from_static(b": \n\n"), state)),
        }
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

fn format_event(event: &TapeEvent) -> String {
    // The data is one line of JSON, as the format requires.
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: record\ndata: {data}\n\n", event.seq)
}
