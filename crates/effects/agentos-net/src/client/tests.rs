//! The client against servers that answer, misbehave or are not there; all on loopback.

use std::time::Duration;

use agentos_testkit::server::{FakeServer, Reply, closed_port, head};
use agentos_tool::Secret;
use serde_json::json;

use super::*;
use crate::{HttpUrl, TimeLimits};

const KEY: &str = "sk-local-0123456789abcdef";

fn client() -> HttpClient {
    HttpClient::new(NetConfig {
        max_body_bytes: 64 << 10,
        max_event_bytes: 4 << 10,
        ..NetConfig::default()
    })
    .unwrap()
}

fn deadline() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn get(url: &str) -> Request {
    Request::get(HttpUrl::parse(url).unwrap(), Auth::Bearer(Secret::new(KEY)))
}

async fn failure(url: &str, deadline: Deadline) -> NetErrorKind {
    let error = client().send(&get(url), &deadline).await.unwrap_err();
    assert!(!error.to_string().contains(KEY), "{error}");
    for cause in error.causes() {
        assert!(!cause.contains(KEY) && !cause.contains("://"), "{cause}");
    }
    error.kind()
}

fn raw(reply: Reply) -> FakeServer {
    FakeServer::start_raw(reply).unwrap()
}

fn over_tls(url: &str) -> String {
    url.replace("http:", "https:")
}

#[tokio::test]
async fn each_way_not_to_connect_has_its_kind() {
    let garbage = raw(Reply::Bytes(b"220 mail.example.com ESMTP\r\n".to_vec()));
    let tls = raw(Reply::Bytes(vec![0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]));
    let closed = closed_port().unwrap();
    let cases = [
        ("closed port", closed.clone(), NetErrorKind::Refused),
        (
            "no such name",
            "http://name.invalid".to_owned(),
            NetErrorKind::Dns,
        ),
        ("http to a tls port", tls.url(), NetErrorKind::Tls),
        (
            "tls to another protocol",
            over_tls(&garbage.url()),
            NetErrorKind::Tls,
        ),
        ("tls to a closed port", over_tls(&closed), NetErrorKind::Refused),
    ];
    for (name, url, kind) in cases {
        assert_eq!(failure(&url, deadline()).await, kind, "{name}");
    }
}

#[tokio::test]
async fn a_connection_that_is_refused_keeps_the_systems_words_and_no_path() {
    let url = format!("{}/of-the-user/sk-path", closed_port().unwrap());
    let error = client().send(&get(&url), &deadline()).await.unwrap_err();
    let causes = error.causes();
    let root = causes.last().unwrap();
    assert!(root.to_lowercase().contains("refused"), "{causes:?}");
    assert!(!causes.concat().contains("of-the-user"), "{causes:?}");
    assert!(!causes.concat().contains("sk-path"), "{causes:?}");
}

#[tokio::test]
async fn each_way_not_to_answer_has_its_kind() {
    let endless_head = Reply::Flood(
        b"HTTP/1.1 200 OK\r\n".to_vec(),
        b"x-bomb: 0123456789\r\n".repeat(200),
    );
    let long_header = Reply::Flood(b"HTTP/1.1 200 OK\r\nx-bomb: ".to_vec(), vec![b'x'; 4096]);
    let endless_body = Reply::Flood(head(200, &[], None), vec![b'x'; 4096]);
    let cut_body = Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc".to_vec());
    let another = Reply::Bytes(b"220 mail.example.com ESMTP\r\n".to_vec());
    let cases = [
        ("closed at once", Reply::Bytes(Vec::new()), NetErrorKind::Closed),
        ("another protocol", another, NetErrorKind::NotHttp),
        ("endless headers", endless_head, NetErrorKind::TooLarge),
        ("one endless header", long_header, NetErrorKind::TooLarge),
        ("endless body", endless_body, NetErrorKind::TooLarge),
        ("a body that is cut", cut_body, NetErrorKind::Closed),
    ];
    for (name, reply, kind) in cases {
        assert_eq!(failure(&raw(reply).url(), deadline()).await, kind, "{name}");
    }
}

#[tokio::test]
async fn the_whole_answer_has_to_come_in_time() {
    for (name, reply) in [
        ("silence", Reply::Hang(Vec::new())),
        ("a drip", Reply::Drip(head(200, &[], None))),
    ] {
        let limit = Deadline::after(Duration::from_millis(300));
        assert_eq!(
            failure(&raw(reply).url(), limit).await,
            NetErrorKind::ReadTimeout,
            "{name}"
        );
    }
}

#[tokio::test]
async fn silence_ends_a_call_and_a_stream_that_flows_does_not() {
    let (short, long) = (Duration::from_millis(100), Duration::from_secs(60));
    let first_byte = |limit| TimeLimits {
        first_byte: limit,
        idle: long,
        total: long,
    };
    let idle = |idle, total| TimeLimits {
        first_byte: long,
        idle,
        total,
    };
    let mut begun = head(200, &[], None);
    begun.push(b'x');
    let cases = [
        (
            Reply::Hang(Vec::new()),
            first_byte(short),
            ExceededLimit::FirstByte(short),
        ),
        (
            Reply::Hang(head(200, &[], None)),
            first_byte(short),
            ExceededLimit::FirstByte(short),
        ),
        (
            Reply::Hang(begun.clone()),
            idle(short, long),
            ExceededLimit::Idle(short),
        ),
        // One byte every 10 ms: no silence, so only the limit on the whole call ends it.
        (
            Reply::Drip(begun),
            idle(Duration::from_secs(5), short),
            ExceededLimit::Total(short),
        ),
    ];
    for (reply, limits, exceeded) in cases {
        let server = raw(reply);
        let error = client()
            .send(&get(&server.url()), &Deadline::with_limits(limits))
            .await
            .unwrap_err();
        assert_eq!(error.exceeded_limit(), Some(exceeded), "{error}");
        assert_eq!(error.kind(), NetErrorKind::ReadTimeout);
    }
}

#[tokio::test]
async fn tls_at_a_server_that_waits_in_plain_http_is_named() {
    // It reads until the end of a head, which a TLS handshake does not contain, and answers everything else.
    let server = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
    let config = NetConfig {
        connect_timeout: Duration::from_millis(300),
        ..NetConfig::default()
    };
    let url = server.url().replacen("http:", "https:", 1);
    let error = HttpClient::new(config)
        .unwrap()
        .send(&get(&url), &deadline())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Tls, "{error}");
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let elsewhere = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
    let target = elsewhere.url();
    let server = FakeServer::start(move |_| Reply::http(302, &[("location", &target)], b"")).unwrap();
    let answer = client().send(&get(&server.url()), &deadline()).await.unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(elsewhere.requests(), []);
}

#[tokio::test]
async fn the_key_is_in_its_header_and_nowhere_else() {
    let cases = [
        (Auth::None, None),
        (
            Auth::Bearer(Secret::new(KEY)),
            Some(("authorization", format!("Bearer {KEY}"))),
        ),
        (
            Auth::Header("x-api-key", Secret::new(KEY)),
            Some(("x-api-key", KEY.to_owned())),
        ),
    ];
    for (auth, wanted) in cases {
        let server = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
        let url = HttpUrl::parse(&server.url()).unwrap().join("v1/x");
        let request = Request::post(url, auth, json!({"a": 1}));
        assert!(!format!("{request:?}").contains(KEY));
        client().send(&request, &deadline()).await.unwrap();
        let seen = server.requests().remove(0);
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/x"));
        assert_eq!(seen.json(), json!({"a": 1}));
        let holding: Vec<_> = seen
            .headers
            .iter()
            .filter(|(_, value)| value.contains(KEY))
            .cloned()
            .collect();
        let wanted: Vec<_> = wanted
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        assert_eq!(holding, wanted);
        assert_eq!(
            seen.header("user-agent"),
            Some(concat!("agentos/", env!("CARGO_PKG_VERSION")))
        );
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_not_sent() {
    let server = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
    let url = HttpUrl::parse(&server.url()).unwrap();
    let request = Request::get(url, Auth::Bearer(Secret::new("two\nlines")));
    let error = client().send(&request, &deadline()).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::BadHeader);
    assert!(!error.to_string().contains("lines") && server.requests().is_empty());
}

#[tokio::test]
async fn the_wait_a_server_asks_for_is_read() {
    let cases = [
        (vec![("retry-after", "2")], Some(2000)),
        (vec![("retry-after-ms", "150"), ("retry-after", "2")], Some(150)),
        (vec![("llm_provider-retry-after", "7")], Some(7000)),
        (vec![("retry-after", "-1")], None),
        (vec![("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")], None),
    ];
    for (headers, wanted) in cases {
        let sent = headers.clone();
        let server = FakeServer::start(move |_| Reply::http(429, &sent, b"{}")).unwrap();
        let answer = client().send(&get(&server.url()), &deadline()).await.unwrap();
        assert_eq!(
            answer.retry_after,
            wanted.map(Duration::from_millis),
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn events_arrive_one_by_one_and_under_a_cap() {
    let mut stream = head(200, &[("content-type", "text/event-stream")], None);
    stream.extend_from_slice(b"data: a\n\ndata: b\n\ndata: cut");
    let server = FakeServer::start(move |_| Reply::Bytes(stream.clone())).unwrap();
    let mut answer = client().open(&get(&server.url()), &deadline()).await.unwrap();
    assert_eq!(answer.body_shape().await.unwrap(), BodyShape::Events);
    let mut events = answer.events(BodyShape::Events);
    assert_eq!(events.next().await.unwrap().as_deref(), Some("a"));
    assert_eq!(events.next().await.unwrap().as_deref(), Some("b"));
    assert_eq!(events.next().await.unwrap(), None);

    let start = head(200, &[("content-type", "text/event-stream")], None);
    for (again, what) in [
        (b"data: x".to_vec(), "one event"),
        (b"data: x\n\n".repeat(99), "the whole"),
    ] {
        let start = start.clone();
        let server = FakeServer::start(move |_| Reply::Flood(start.clone(), again.clone())).unwrap();
        let mut events = client()
            .open(&get(&server.url()), &deadline())
            .await
            .unwrap()
            .events(BodyShape::Events);
        let error = loop {
            match events.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("an endless stream ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), NetErrorKind::TooLarge, "{what}");
    }
}

#[tokio::test]
async fn dropping_a_call_hangs_up() {
    let mut stream = head(200, &[("content-type", "text/event-stream")], None);
    stream.extend_from_slice(b"data: a\n\n");
    let server = FakeServer::start(move |_| Reply::Hang(stream.clone())).unwrap();
    let mut events = client()
        .open(&get(&server.url()), &deadline())
        .await
        .unwrap()
        .events(BodyShape::Events);
    assert_eq!(events.next().await.unwrap().as_deref(), Some("a"));
    drop(events);
    // The runtime's own thread closes the socket, so it must not be blocked meanwhile.
    let seen = tokio::task::spawn_blocking(move || server.saw_hang_up(Duration::from_secs(20)));
    assert!(seen.await.unwrap());
}

#[tokio::test]
async fn a_connection_is_used_once() {
    // The server promises to keep the connection and then closes it, as servers do after some time.
    let kept = b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n{}".to_vec();
    let server = FakeServer::start(move |_| Reply::Bytes(kept.clone())).unwrap();
    let client = client();
    for _ in 0..50 {
        client.send(&get(&server.url()), &deadline()).await.unwrap();
    }
    assert_eq!(server.requests().len(), 50);
}

#[tokio::test]
async fn the_first_bytes_show_the_shape_of_a_body() {
    use BodyShape::{Document, Events, Lines};
    let cases: [(&str, &str, BodyShape); 16] = [
        ("text/event-stream", "data: a\n\n", Events),
        ("text/plain; charset=utf-8", "data: a\n\n", Events),
        ("application/json", "\n: ping\n\ndata: a\n\n", Events),
        ("application/json", "\u{feff}event: a\n\n", Events),
        ("application/x-ndjson", "data: a\n\n", Events),
        ("application/x-ndjson", "{}\n", Lines),
        ("text/event-stream", " {\"error\": \"no\"}", Document),
        ("text/event-stream", "<html>", Document),
        ("text/event-stream", "", Events),
        ("application/json", "{}", Document),
        ("application/json", "{\"a\":1}\n{\"b\":2}\n", Lines),
        ("application/json", "{\"a\":1}\n", Document),
        ("application/json", "{\n  \"a\": {}\n}", Document),
        ("application/json", "{\"a\": {}\n, \"b\": 1}", Document),
        ("text/plain", "date", Document),
        ("text/plain", "dat", Document),
    ];
    for (kind, body, shape) in cases {
        let server =
            FakeServer::start(move |_| Reply::http(200, &[("content-type", kind)], body.as_bytes())).unwrap();
        let mut answer = client().open(&get(&server.url()), &deadline()).await.unwrap();
        assert_eq!(answer.body_shape().await.unwrap(), shape, "{kind} {body}");
        // The bytes that were looked at are still a part of the body.
        assert_eq!(
            answer.read().await.unwrap().body,
            body.as_bytes(),
            "{kind} {body}"
        );
    }
}

#[tokio::test]
async fn a_compressed_answer_is_refused_with_its_encoding() {
    let server = FakeServer::start(|_| Reply::http(200, &[("content-encoding", "gzip")], b"x")).unwrap();
    let error = client().open(&get(&server.url()), &deadline()).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Encoded);
    assert!(
        error
            .to_string()
            .ends_with("is compressed with `gzip`, which no request asks for"),
        "{error}"
    );
}

#[tokio::test]
async fn bytes_that_keep_a_connection_open_do_not_prolong_a_limit() {
    let limits = |first_byte, idle| {
        Deadline::with_limits(TimeLimits {
            first_byte: Duration::from_millis(first_byte),
            idle: Duration::from_millis(idle),
            total: Duration::from_secs(60),
        })
    };
    let start = head(200, &[("content-type", "text/event-stream")], None);
    let word = [start.as_slice(), b"data: a\n\n"].concat();
    for (begin, deadline, wanted) in [
        (start, limits(100, 60_000), "limit on the first byte"),
        (word, limits(60_000, 100), "limit on silence"),
    ] {
        // A blank line every 10 ms, as a server sends that keeps the connection open.
        let server = FakeServer::start(move |_| Reply::Drip(begin.clone())).unwrap();
        let answer = client().open(&get(&server.url()), &deadline).await.unwrap();
        let mut events = answer.events(BodyShape::Events);
        let error = loop {
            match events.next().await {
                Ok(Some(_)) => events.note_word(),
                Ok(None) => panic!("an endless stream ended"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
