//! Events over a WebSocket: the same events as the stream of server-sent events, for clients that read sockets more easily.
//!
//! Owns: the upgrade of a request that the judge has allowed, the frames of both ends, and their bounds. Never: takes an order from
//! a client: a frame with data ends the connection.
//!
//! Each event is one text frame: `{"event":"record","id":17,"data":{…}}`, without `id` for the other events.
//!
//! | bound | against |
//! |---|---|
//! | a message of a client has at most 4 KiB, and data is refused whatever its size | floods, and clients of another service |
//! | a ping each 15 s; 45 s without a frame of the client end the connection | connections whose other end is gone |
//! | 30 s for a frame to be written | clients that do not read |
//! | a place among the listeners, and a place among the connections, until the end | thousands of sockets |

use std::sync::Arc;
use std::time::Duration;

use axum::Error;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocketUpgrade, close_code};
use axum::http::header::SEC_WEBSOCKET_VERSION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::connections::RunningRequest;
use crate::events::{EventListener, EventPiece};
use crate::fault::RequestFault;
use crate::rest::RestFault;

/// Largest message of a client, in bytes. A ping has at most 125.
const LARGEST_MESSAGE: usize = 4 << 10;
/// Bytes of the buffer for frames of a client. The usual 128 KiB for each socket would be 32 MiB for all.
const READ_BUFFER: usize = 1 << 10;
/// Bounds of a socket.
const TIMES: SocketTimes = SocketTimes {
    ping: Duration::from_secs(15),
    silent: Duration::from_secs(45),
    write: Duration::from_secs(30),
};

/// Bounds of a socket in time.
#[derive(Debug, Clone, Copy)]
struct SocketTimes {
    /// Time between two pings.
    ping: Duration,
    /// Longest time without a frame of the client.
    silent: Duration,
    /// Longest time until a frame is written.
    write: Duration,
}

/// Answers a request that wants a WebSocket. `seat` is the place of its connection.
pub fn open_socket(
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    listener: EventListener,
    seat: Arc<RunningRequest>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return refuse_upgrade(&rejection),
    };
    upgrade
        .max_message_size(LARGEST_MESSAGE)
        .max_frame_size(LARGEST_MESSAGE)
        .read_buffer_size(READ_BUFFER)
        // Each event is written at once.
        .write_buffer_size(0)
        .on_upgrade(|socket| async move {
            let (sink, frames) = socket.split();
            let pieces = futures_util::stream::unfold(listener, EventListener::next_piece);
            serve_socket((sink, frames), pieces, TIMES).await;
            drop(seat);
        })
}

fn refuse_upgrade(rejection: &WebSocketUpgradeRejection) -> Response {
    let is_version = matches!(
        rejection,
        WebSocketUpgradeRejection::InvalidWebSocketVersionHeader(_)
    );
    let status = match is_version {
        true => StatusCode::UPGRADE_REQUIRED,
        false => StatusCode::BAD_REQUEST,
    };
    let what = format!("this is not the beginning of a WebSocket: {rejection}");
    let mut response = RestFault::from(RequestFault::new(status, "bad-upgrade", what)).into_response();
    if is_version {
        // RFC 6455, section 4.4: the server names the version that it speaks.
        let version = HeaderValue::from_static("13");
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, version);
    }
    response
}

/// Sends the pieces until one end leaves or breaks a bound.
async fn serve_socket<S, F, P>((mut sink, mut frames): (S, F), pieces: P, times: SocketTimes)
where
    S: Sink<Message, Error = Error> + Unpin,
    F: Stream<Item = Result<Message, Error>> + Unpin,
    P: Stream<Item = EventPiece>,
{
    let mut pieces = std::pin::pin!(pieces);
    let mut pings = interval(times.ping);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    let (code, reason) = loop {
        let messages = tokio::select! {
            frame = frames.next() => match frame {
                // The library answers a ping.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                    heard = Instant::now();
                    continue;
                }
                Some(Ok(Message::Text(_) | Message::Binary(_))) => {
                    break (close_code::UNSUPPORTED, "events are sent here, and no message is taken");
                }
                Some(Ok(Message::Close(_))) => {
                    // The library has an answer ready, and sends it with the next frame or flush.
                    let _ = timeout(times.write, sink.flush()).await;
                    return;
                }
                // A frame that breaks the protocol or a bound ends the connection.
                Some(Err(_)) | None => return,
            },
            _ = pings.tick() => match heard.elapsed() > times.silent {
                true => break (close_code::POLICY, "no answer to a ping"),
                false => vec![Message::Ping(axum::body::Bytes::new())],
            },
            piece = pieces.next() => match piece {
                Some(piece) => write_piece(&piece),
                None => break (close_code::AWAY, "the events have ended, or the token or session has"),
            },
        };
        // One limit for all: between two of them, nothing looks whether the author still counts, and no answer to a ping is read.
        let written = async {
            for message in messages {
                sink.send(message).await?;
            }
            Ok::<(), Error>(())
        };
        if !matches!(timeout(times.write, written).await, Ok(Ok(()))) {
            return;
        }
    };
    let frame = CloseFrame {
        code,
        reason: Utf8Bytes::from_static(reason),
    };
    // The client may be gone.
    let _ = timeout(times.write, sink.send(Message::Close(Some(frame)))).await;
}

/// Writes a piece as messages. Empty if nothing has happened: pings have times of their own.
fn write_piece(piece: &EventPiece) -> Vec<Message> {
    let event = match piece {
        EventPiece::Records(events) => {
            let written = events
                .iter()
                .map(|event| json!({"event": "record", "id": event.seq, "data": event}).to_string());
            return written.map(Message::text).collect();
        }
        EventPiece::Step(step) => json!({"event": "turn", "data": step}),
        EventPiece::Missed(count) => json!({"event": "missed", "data": {"steps": count}}),
        EventPiece::Quiet => return Vec::new(),
    };
    vec![Message::text(event.to_string())]
}

#[cfg(test)]
mod tests {
    use futures_util::{sink, stream};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(1);

    /// Serves a socket whose client sends these frames and then stays silent. Returns what the client received, in words.
    async fn serve(sent: Vec<Result<Message, Error>>, pieces: Vec<EventPiece>, times: SocketTimes) -> String {
        let (sender, mut received) = unbounded_channel();
        let write = |sender: UnboundedSender<Message>, message| async move {
            let _ = sender.send(message);
            Ok::<_, Error>(sender)
        };
        let sink = Box::pin(sink::unfold(sender, write));
        let frames = stream::iter(sent).chain(stream::pending());
        serve_socket(
            (sink, frames),
            stream::iter(pieces).chain(stream::pending()),
            times,
        )
        .await;
        let mut words = Vec::new();
        while let Some(message) = received.recv().await {
            words.push(match message {
                Message::Text(text) => text.to_string(),
                Message::Close(Some(frame)) => format!("close {} {}", frame.code, frame.reason),
                Message::Ping(_) => continue,
                other => format!("{other:?}"),
            });
        }
        words.join("\n")
    }

    fn times(silent: Duration) -> SocketTimes {
        SocketTimes {
            ping: SHORT,
            silent,
            write: LONG,
        }
    }

    #[tokio::test]
    async fn a_client_that_answers_no_ping_is_left() {
        let pieces = vec![EventPiece::Missed(3), EventPiece::Quiet];
        // Both the events and the end come; their order is a matter of time.
        let heard = serve(vec![], pieces, times(Duration::ZERO)).await;
        assert!(heard.ends_with("close 1008 no answer to a ping"), "{heard}");
    }

    #[tokio::test]
    async fn a_frame_with_data_ends_the_socket_and_a_close_does_too() {
        for message in [Message::text("approve"), Message::binary(vec![0; 3])] {
            let heard = serve(
                vec![Ok(Message::Pong(Default::default())), Ok(message)],
                vec![],
                times(LONG),
            )
            .await;
            insta::allow_duplicates! {
                insta::assert_snapshot!(heard, @"close 1003 events are sent here, and no message is taken");
            }
        }
        for end in [Ok(Message::Close(None)), Err(Error::new("too large"))] {
            assert_eq!(serve(vec![end], vec![], times(LONG)).await, "");
        }
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_left() {
        let sink = Box::pin(sink::unfold((), |(), _: Message| {
            std::future::pending::<Result<(), Error>>()
        }));
        let frames = stream::pending::<Result<Message, Error>>();
        let times = SocketTimes {
            write: SHORT,
            ..times(LONG)
        };
        serve_socket((sink, frames), stream::pending(), times).await;
    }

    #[test]
    fn an_event_is_one_text() {
        let event = agentos_host::TapeEvent {
            version: 1,
            seq: 7,
            at: "2026-11-28T10:00:00Z".to_owned(),
            run: "r".to_owned(),
            kind: "consent".to_owned(),
        };
        let pieces = [
            EventPiece::Records(vec![event]),
            EventPiece::Missed(2),
            EventPiece::Quiet,
        ];
        let written: Vec<String> = pieces
            .iter()
            .flat_map(write_piece)
            .map(|message| message.into_text().unwrap().to_string())
            .collect();
        insta::assert_snapshot!(written.join("\n"), @r#"
        {"data":{"at":"2026-11-28T10:00:00Z","kind":"consent","run":"r","seq":7,"version":1},"event":"record","id":7}
        {"data":{"steps":2},"event":"missed"}
        "#);
    }
}
