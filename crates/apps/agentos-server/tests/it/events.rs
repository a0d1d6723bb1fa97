//! Events: many listeners, slow ones, and ones that come back.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use agentos_testkit::http::begin_request;

use crate::support::{FIX, Service};

/// A listener: a connection that streams events.
struct Listener {
    lines: BufReader<TcpStream>,
    head: String,
    heard: Vec<u64>,
}

impl Listener {
    fn start(service: &Service, after: u64) -> Self {
        let request = format!(
            "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: {after}\r\n\r\n",
            service.address, service.read_token
        );
        let stream = begin_request(&service.address, request.as_bytes()).unwrap();
        Self {
            lines: BufReader::new(stream),
            head: String::new(),
            heard: Vec::new(),
        }
    }

    /// Reads on until the event of this number.
    fn hear_until(&mut self, last: u64) {
        while self.heard.last() != Some(&last) {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "{:?}", self.heard);
            if let Some(id) = line.strip_prefix("id: ") {
                self.heard.push(id.trim().parse().unwrap());
            } else if self.heard.is_empty() {
                self.head.push_str(&line);
            }
        }
    }
}

/// Returns the number of records on the tape.
fn count_records(service: &Service) -> u64 {
    let body = service.call("GET", "/api/evidence", "").body;
    let after = body.split_once("\"records\":").unwrap().1;
    after.split_once(',').unwrap().0.parse().unwrap()
}

#[test]
fn listeners_lose_nothing_whether_they_are_slow_or_come_back() {
    let service = Service::start();
    service.propose(FIX);
    let begun = count_records(&service);
    // As many as one session may have, but for two.
    let mut listeners: Vec<Listener> = (0..30).map(|_| Listener::start(&service, 0)).collect();
    for at in 0..12 {
        service.propose(&FIX.replace("a + b", &format!("a + b + {at}")));
    }
    // A third reads now, a third reads a part and comes back, and a third reads nothing before the end.
    let middle = count_records(&service);
    assert!(middle > begun);
    for (at, listener) in listeners.iter_mut().enumerate() {
        match at % 3 {
            0 => listener.hear_until(middle),
            1 => {
                listener.hear_until(begun);
                let heard = std::mem::take(&mut listener.heard);
                *listener = Listener::start(&service, begun);
                listener.heard = heard;
            }
            _ => {}
        }
    }
    // More than the service keeps for all, so that the slow ones are served from the tape.
    let mut last = middle;
    for at in 0.. {
        if last > begun + 300 {
            break;
        }
        service.propose(&FIX.replace("a + b", &format!("b + a + {at}")));
        last = count_records(&service);
    }
    let all: Vec<u64> = (1..=last).collect();
    for (at, mut listener) in listeners.into_iter().enumerate() {
        listener.hear_until(last);
        assert_eq!(listener.heard, all, "listener {at}");
    }
}

#[test]
fn events_resume_after_the_last_one_that_was_received() {
    let service = Service::start();
    service.propose(FIX);
    let mut listener = Listener::start(&service, 2);
    service.propose(&FIX.replace("a + b", "b + a"));
    let last = count_records(&service);
    listener.hear_until(last);
    assert_eq!(listener.heard, (3..=last).collect::<Vec<u64>>());
    assert!(
        listener.head.contains("content-type: text/event-stream"),
        "{}",
        listener.head
    );
}
