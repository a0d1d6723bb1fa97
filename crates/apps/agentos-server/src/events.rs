//! Events: the records of the tape as they come, as server-sent events.
//!
//! Owns: the stream and where it resumes. Never: keeps an event for a listener: each reads the tape itself, so a slow one misses
//! nothing and holds nobody up.

use std::time::Duration;

use agentos_host::{TapeEvent, TapePlace};
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;

use crate::desk::SharedDesk;

/// Most events of one read.
const MOST_EVENTS: usize = 256;
/// Time between two looks at the tape. Other processes write it too, and no system says so alike for every file system.
const LOOK_TIME: Duration = Duration::from_millis(300);
/// Looks without an event after which a comment is sent, so that a connection whose other end is gone is noticed.
const QUIET_LOOKS: u32 = 50;

struct ListenerState {
    desk: SharedDesk,
    place: TapePlace,
    quiet: u32,
    is_first: bool,
}

/// Streams the records after the one that `Last-Event-ID` names; without it, those from now on.
pub async fn stream_events(desk: SharedDesk, headers: &HeaderMap) -> Response {
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let place = match last.and_then(|text| text.trim().parse().ok()) {
        Some(number) => TapePlace::after(number),
        None => skip_recorded(&desk).await,
    };
    let state = ListenerState {
        desk,
        place,
        quiet: 0,
        is_first: true,
    };
    let pieces = stream::unfold(state, |state| async {
        next_piece(state)
            .await
            .map(|(piece, state)| (Ok::<_, std::convert::Infallible>(piece), state))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(pieces)).into_response()
}

/// Returns the place after the last record.
async fn skip_recorded(desk: &SharedDesk) -> TapePlace {
    let mut place = TapePlace::default();
    loop {
        let from = place.clone();
        match desk
            .call(move |desk| desk.host.read_events(&from, MOST_EVENTS))
            .await
        {
            Ok((events, next)) if !events.is_empty() => place = next,
            Ok((_, next)) => return next,
            // A repository without a tape has no records yet.
            Err(_) => return place,
        }
    }
}

/// Waits for the next piece of the stream. `None` if the tape cannot be read any more.
async fn next_piece(mut state: ListenerState) -> Option<(Bytes, ListenerState)> {
    if std::mem::take(&mut state.is_first) {
        // At once, so that a client knows that it listens.
        return Some((Bytes::from_static(b"retry: 1000\n\n"), state));
    }
    loop {
        let from = state.place.clone();
        let read = state
            .desk
            .call(move |desk| desk.host.read_events(&from, MOST_EVENTS))
            .await;
        let (events, place) = read.ok()?;
        state.place = place;
        if !events.is_empty() {
            state.quiet = 0;
            let text: String = events.iter().map(format_event).collect();
            return Some((Bytes::from(text), state));
        }
        state.quiet += 1;
        if state.quiet >= QUIET_LOOKS {
            state.quiet = 0;
            return Some((Bytes::from_static(b": \n\n"), state));
        }
        tokio::time::sleep(LOOK_TIME).await;
    }
}

fn format_event(event: &TapeEvent) -> String {
    // The data is one line of JSON, as the format requires.
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: record\ndata: {data}\n\n", event.seq)
}
