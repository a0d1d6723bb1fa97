//! Events over a WebSocket: judged before the upgrade, and the same as the stream.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use agentos_testkit::http::begin_request;
use serde_json::Value;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

use crate::support::{FIX, Service};

/// Opens a socket with the token that reads.
fn open(service: &Service, after: u64) -> WebSocket<TcpStream> {
    let address = format!("ws://{}/api/events?after={after}", service.address);
    let mut request = address.into_client_request().unwrap();
    let token = format!("Bearer {}", service.read_token);
    request
        .headers_mut()
        .insert("authorization", token.parse().unwrap());
    let stream = begin_request(&service.address, b"").unwrap();
    tungstenite::client(request, stream).unwrap().0
}

/// Reads the events of a socket until the record of this number.
fn hear_until(socket: &mut WebSocket<TcpStream>, last: u64) -> Vec<Value> {
    let mut heard: Vec<Value> = Vec::new();
    while heard.last().is_none_or(|event| event["id"] != last) {
        if let Message::Text(text) = socket.read().unwrap() {
            heard.push(serde_json::from_str(&text).unwrap());
        }
    }
    heard
}

/// Returns the code with which the service closes a socket. `None` if the connection ends without a code.
fn hear_end(socket: &mut WebSocket<TcpStream>) -> Option<CloseCode> {
    loop {
        match socket.read() {
            Ok(Message::Close(frame)) => return frame.map(|frame| frame.code),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

/// Returns the number of records on the tape.
fn count_records(service: &Service) -> u64 {
    let body = service.call("GET", "/api/evidence", "").body;
    let document: Value = serde_json::from_str(&body).unwrap();
    document["records"].as_u64().unwrap()
}

#[test]
fn a_socket_has_the_records_of_the_stream() {
    let service = Service::start();
    service.propose(FIX);
    // Sockets that nobody reads hold no other one up.
    let _silent: Vec<_> = (0..20).map(|_| open(&service, 0)).collect();
    let mut socket = open(&service, 0);
    let last = count_records(&service);
    let mut heard = hear_until(&mut socket, last);
    service.propose(&FIX.replace("a + b", "b + a"));
    let end = count_records(&service);
    heard.extend(hear_until(&mut socket, end));
    let numbers: Vec<u64> = heard.iter().map(|event| event["id"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=end).collect::<Vec<u64>>());

    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: {}\r\n\r\n",
        service.address,
        service.read_token,
        end - 1
    );
    let stream = begin_request(&service.address, head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let data: Value = serde_json::from_str(&data.unwrap()).unwrap();
    let event = heard.last().unwrap();
    assert_eq!((&event["event"], &event["data"]), (&Value::from("record"), &data));
}

#[test]
fn a_client_that_sends_data_is_left() {
    let service = Service::start();
    let mut socket = open(&service, 0);
    socket.send(Message::text("{\"approve\":\"all\"}")).unwrap();
    assert_eq!(hear_end(&mut socket), Some(CloseCode::Unsupported));
    // The connection may break while the frame is written.
    let mut socket = open(&service, 0);
    let _ = socket.send(Message::binary(vec![0; 1 << 20]));
    hear_end(&mut socket);
    // No end of a fragmented message, and a frame without a mask.
    for bytes in [&b"\x01\x80\0\0\0\0"[..], b"\x81\x01a"] {
        let mut socket = open(&service, 0);
        for _ in 0..3 {
            let _ = socket.get_mut().write_all(bytes);
        }
        hear_end(&mut socket);
    }
    let mut socket = open(&service, 0);
    let frame = CloseFrame {
        code: CloseCode::Normal,
        reason: "enough".into(),
    };
    socket.close(Some(frame)).unwrap();
    assert_eq!(
        hear_end(&mut socket),
        Some(CloseCode::Normal),
        "a close is answered"
    );
    assert_eq!(service.call("GET", "/api/status", "").status, 200);
}

/// A listener receives nothing after its token was revoked, or its session ended.
#[test]
fn a_listener_ends_with_its_token_and_its_session() {
    let service = Service::start();
    let person = service.sign_in();
    let mut of_token = open(&service, 0);
    let address = format!("ws://{}/api/events", service.page);
    let mut request = address.into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("origin", service.origin().parse().unwrap());
    headers.insert(
        "cookie",
        format!("agentos-session={}", person.cookie).parse().unwrap(),
    );
    let stream = begin_request(&service.address, b"").unwrap();
    let mut of_person = tungstenite::client(request, stream).unwrap().0;
    service.propose(FIX);
    hear_until(&mut of_token, 1);
    hear_until(&mut of_person, 1);

    service.host().revoke_service_token("read").unwrap();
    let out = service.post_form("/signout", &person.cookie, &[("form", &person.form)]);
    assert_eq!(out.status, 303, "{}", out.body);
    let last = count_records(&service);
    service.propose(&FIX.replace("a + b", "b + a"));
    for mut socket in [of_token, of_person] {
        loop {
            match socket.read().unwrap() {
                Message::Text(text) => {
                    let event: Value = serde_json::from_str(&text).unwrap();
                    assert!(event["id"].as_u64().unwrap() <= last, "{event}");
                }
                Message::Close(frame) => break assert_eq!(frame.unwrap().code, CloseCode::Away),
                _ => {}
            }
        }
    }
}

/// Begins a WebSocket with these lines. Returns the head of the answer.
fn begin(service: &Service, path: &str, lines: &[(&str, String)]) -> Vec<String> {
    let mut head = format!("GET {path} HTTP/1.1\r\n");
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let stream = begin_request(&service.address, head.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn a_request_that_is_refused_is_not_upgraded() {
    let service = Service::start();
    let person = service.sign_in();
    let token = || format!("Bearer {}", service.read_token);
    let cookie = format!("agentos-session={}", person.cookie);
    let allowed = |host: &str| {
        vec![
            ("Host", host.to_owned()),
            ("Authorization", token()),
            ("Connection", "Upgrade".to_owned()),
            ("Upgrade", "websocket".to_owned()),
            ("Sec-WebSocket-Version", "13".to_owned()),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==".to_owned()),
            ("Origin", String::new()),
            ("Cookie", String::new()),
        ]
    };
    let with = |host: &str, changes: &[(&'static str, String)]| {
        let mut lines = allowed(host);
        for (name, value) in changes {
            lines
                .iter_mut()
                .find(|(known, _)| known == name)
                .unwrap()
                .1
                .clone_from(value);
        }
        lines
    };
    let (fixed, page) = (service.address.as_str(), service.page.as_str());
    let own = format!("http://{fixed}");
    let text = str::to_owned;
    let events = "/api/events";
    let signed_in = [("Authorization", String::new()), ("Cookie", cookie)];
    let at_page = |origin: &str| with(page, &[&signed_in[..], &[("Origin", text(origin))]].concat());
    let secret = format!("/api/events?token={}", service.read_token);
    let cases = vec![
        ("a token", events, allowed(fixed), 101),
        ("own origin", events, with(fixed, &[("Origin", own)]), 101),
        ("own page", events, at_page(&service.origin()), 101),
        ("a cookie without an origin", events, at_page(""), 403),
        (
            "a page of another site",
            events,
            at_page("http://evil.example"),
            403,
        ),
        ("a page of no site", events, at_page("null"), 403),
        (
            "a page of another port",
            events,
            at_page("http://127.0.0.1:3000"),
            403,
        ),
        ("a cookie at a fixed name", events, with(fixed, &signed_in), 401),
        (
            "a foreign origin",
            events,
            with(fixed, &[("Origin", text("http://evil.example"))]),
            403,
        ),
        ("a foreign name", events, allowed("evil.example"), 421),
        (
            "no token",
            events,
            with(fixed, &[("Authorization", String::new())]),
            401,
        ),
        (
            "a wrong token",
            events,
            with(fixed, &[("Authorization", text("Bearer x"))]),
            401,
        ),
        (
            "an agent's token",
            events,
            with(
                fixed,
                &[("Authorization", format!("Bearer {}", service.agent_token))],
            ),
            403,
        ),
        (
            "a token in the query",
            secret.as_str(),
            with(fixed, &[("Authorization", String::new())]),
            400,
        ),
        ("two tokens", secret.as_str(), allowed(fixed), 400),
        (
            "another version",
            events,
            with(fixed, &[("Sec-WebSocket-Version", text("8"))]),
            426,
        ),
        (
            "no version",
            events,
            with(fixed, &[("Sec-WebSocket-Version", String::new())]),
            426,
        ),
        (
            "no key",
            events,
            with(fixed, &[("Sec-WebSocket-Key", String::new())]),
            400,
        ),
        (
            "no connection line",
            events,
            with(fixed, &[("Connection", text("keep-alive"))]),
            400,
        ),
        (
            "another protocol",
            events,
            with(fixed, &[("Upgrade", text("h2c"))]),
            400,
        ),
        ("another path", "/api/runs", allowed(fixed), 400),
        (
            "another repository",
            "/repositories/other/api/events",
            allowed(fixed),
            404,
        ),
    ];
    for (name, path, lines, status) in cases {
        let head = begin(&service, path, &lines);
        let first = head.first().map_or("", String::as_str);
        assert_eq!(
            first.split(' ').nth(1),
            Some(status.to_string().as_str()),
            "{name}: {head:?}"
        );
        let names_version = head.iter().any(|line| line == "sec-websocket-version: 13");
        assert_eq!(names_version, status == 426, "{name}: {head:?}");
    }
}
