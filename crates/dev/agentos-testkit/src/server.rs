//! A fake HTTP server on loopback that answers exactly the bytes a test gives it, and misbehaves on request.
//!
//! Owns: sockets, threads and the record of what was asked. Never: listens anywhere but on loopback, or
//! outlives its value.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

const DRIP_PAUSE: Duration = Duration::from_millis(10);

/// Answer to a connection.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, then silence until the other side hangs up.
    Hang(Vec<u8>),
    /// These bytes, then one blank every 10 ms until the other side hangs up.
    Drip(Vec<u8>),
    /// The first bytes, then the second ones again and again until the other side hangs up.
    Flood(Vec<u8>, Vec<u8>),
}

impl Reply {
    /// A well-formed answer.
    #[must_use]
    pub fn http(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut bytes = head(status, headers, Some(body.len()));
        bytes.extend_from_slice(body);
        Self::Bytes(bytes)
    }

    /// A well-formed answer with JSON.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::http(
            status,
            &[("content-type", "application/json")],
            body.to_string().as_bytes(),
        )
    }
}

/// The head of an answer; without a length the body ends with the connection.
#[must_use]
pub fn head(status: u16, headers: &[(&str, &str)], length: Option<usize>) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Fake\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(length) = length {
        text.push_str(&format!("content-length: {length}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// Request as the server received it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Method, as in `POST`.
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Recorded {
    /// Returns the first header of this name, or `None` if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

type Answer = dyn Fn(&Recorded) -> Reply + Send + Sync;

#[derive(Default)]
struct Shared {
    stopping: AtomicBool,
    requests: Mutex<Vec<Recorded>>,
    asked: Condvar,
    open: Mutex<Vec<TcpStream>>,
    hang_ups: Mutex<usize>,
    hung_up: Condvar,
}

/// A running server. Stopped, and its connections closed, when dropped.
pub struct FakeServer {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// Listens on a free port and answers each request with what `answer` makes of it.
    ///
    /// # Errors
    /// When there is no free port on loopback.
    pub fn start(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> io::Result<Self> {
        Self::listen(Arc::new(answer), read_request)
    }

    /// Answers the first bytes of each connection, whatever they are.
    ///
    /// # Errors
    /// When there is no free port on loopback.
    pub fn start_raw(reply: Reply) -> io::Result<Self> {
        Self::listen(Arc::new(move |_: &Recorded| reply.clone()), read_anything)
    }

    fn listen(answer: Arc<Answer>, read: fn(&mut TcpStream) -> io::Result<Recorded>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if state.stopping.load(Ordering::SeqCst) {
                    break;
                }
                if let Ok(copy) = stream.try_clone() {
                    lock(&state.open).push(copy);
                }
                let (state, answer) = (Arc::clone(&state), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &state, answer.as_ref(), read));
            }
        });
        Ok(Self {
            port,
            shared,
            accepting: Some(accepting),
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// Waits until something was asked, at most `limit`.
    #[must_use]
    pub fn saw_request(&self, limit: Duration) -> bool {
        let requests = lock(&self.shared.requests);
        let waited = self
            .shared
            .asked
            .wait_timeout_while(requests, limit, |requests| requests.is_empty());
        waited.is_ok_and(|(requests, _)| !requests.is_empty())
    }

    /// Waits until the other side has closed a connection that was left hanging, at most `limit`.
    #[must_use]
    pub fn saw_hang_up(&self, limit: Duration) -> bool {
        let count = lock(&self.shared.hang_ups);
        let waited = self
            .shared
            .hung_up
            .wait_timeout_while(count, limit, |count| *count == 0);
        waited.is_ok_and(|(count, _)| *count > 0)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which looks at the flag first.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        for stream in lock(&self.shared.open).iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// An address on loopback where nobody listens.
///
/// # Errors
/// When there is no free port on loopback.
pub fn closed_port() -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(format!("http://127.0.0.1:{}", listener.local_addr()?.port()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    mut stream: TcpStream,
    shared: &Shared,
    answer: &Answer,
    read: fn(&mut TcpStream) -> io::Result<Recorded>,
) {
    let Ok(request) = read(&mut stream) else { return };
    lock(&shared.requests).push(request.clone());
    shared.asked.notify_all();
    let hung_up = match answer(&request) {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).and_then(|()| stream.flush());
            false
        }
        Reply::Hang(bytes) => stream.write_all(&bytes).is_ok() && reads_to_end(&mut stream),
        Reply::Drip(bytes) => {
            let _ = stream.write_all(&bytes);
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(DRIP_PAUSE);
            }
            true
        }
        Reply::Flood(first, again) => {
            let _ = stream.write_all(&first);
            while stream.write_all(&again).is_ok() {}
            true
        }
    };
    let _ = stream.shutdown(Shutdown::Both);
    if hung_up {
        *lock(&shared.hang_ups) += 1;
        shared.hung_up.notify_all();
    }
}

fn reads_to_end(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 512];
    while matches!(stream.read(&mut rest), Ok(count) if count > 0) {}
    true
}

fn read_anything(stream: &mut TcpStream) -> io::Result<Recorded> {
    let mut bytes = vec![0; 4096];
    let count = stream.read(&mut bytes)?;
    bytes.truncate(count);
    Ok(Recorded {
        body: bytes,
        ..Recorded::default()
    })
}

fn read_request(stream: &mut TcpStream) -> io::Result<Recorded> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    let mut request = parse_head(&String::from_utf8_lossy(&head));
    let length = request
        .header("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    request.body.resize(length, 0);
    stream.read_exact(&mut request.body)?;
    Ok(request)
}

fn parse_head(head: &str) -> Recorded {
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    Recorded {
        method: first.next().unwrap_or_default(),
        path: first.next().unwrap_or_default(),
        headers: lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect(),
        body: Vec::new(),
    }
}
