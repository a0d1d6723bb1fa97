//! Page on this machine to which a browser returns from a sign-in (RFC 8252, section 7.3).
//!
//! Owns: its socket on loopback, and which request is the answer of the sign-in. Never: sends anything but fixed text, reads more than a
//! head of a request, or listens after it was answered.
//!
//! Every program of the machine, and every page in the user's browser, can send requests here. So a request counts only if it has the
//! random `state` of this sign-in, which they cannot know; every other one is refused, and the wait goes on. A connection waits by
//! itself: browsers open some ahead that never send a request.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use agentos_tool::Secret;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::form_urlencoded;

/// Path of the page.
const PATH: &str = "/callback";
/// Largest head of a request, in bytes. The code of a sign-in may be a signed token of several kilobytes.
const LARGEST_HEAD: usize = 32 << 10;
/// Longest time in which a connection sends its head.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Pause after a connection that could not be accepted: while files are short, the next attempt fails at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Most connections at a time. A browser opens a few.
const MOST_CONNECTIONS: usize = 32;

/// Failure to receive the answer of a sign-in.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    /// No port of loopback can be used.
    #[error("no port of this machine can be opened for the browser to return to")]
    Listen(#[source] io::Error),
    /// The browser did not return in time.
    #[error("the browser did not return within {} seconds", .0.as_secs())]
    Silent(Duration),
}

/// Answer of a sign-in, as the browser brings it.
#[derive(Debug, Clone, Default)]
pub struct CallbackAnswer {
    /// Code with which tokens are requested. `None` if the sign-in was refused.
    pub code: Option<Secret>,
    /// Error code of a refused sign-in, as in `access_denied`. Untrusted.
    pub error: Option<String>,
    /// Reason for people. Untrusted.
    pub reason: Option<String>,
    /// Issuer that the answer names (RFC 9207). Untrusted.
    pub issuer: Option<String>,
}

/// Socket that waits for a browser.
#[derive(Debug)]
pub struct CallbackListener {
    listener: TcpListener,
    port: u16,
}

impl CallbackListener {
    /// Opens a port that the system chooses, on loopback.
    ///
    /// # Errors
    /// [`CallbackError::Listen`] if the system gives none.
    pub async fn open() -> Result<Self, CallbackError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(CallbackError::Listen)?;
        let port = listener.local_addr().map_err(CallbackError::Listen)?.port();
        Ok(Self { listener, port })
    }

    /// Returns the address to which the browser is sent back.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer that has this `state`. The port is closed afterwards.
    ///
    /// # Errors
    /// [`CallbackError::Silent`] if none comes within `limit`.
    pub async fn receive(self, state: &Secret, limit: Duration) -> Result<CallbackAnswer, CallbackError> {
        tokio::time::timeout(limit, self.accept_answer(state))
            .await
            .map_err(|_| CallbackError::Silent(limit))
    }

    async fn accept_answer(self, state: &Secret) -> CallbackAnswer {
        // Dropping the set ends the connections that are left.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MOST_CONNECTIONS => {
                    match accepted {
                        Ok((stream, _)) => {
                            connections.spawn(answer_connection(stream, self.port, state.clone()));
                        }
                        // One connection is lost, or files are short for now. The browser still has to come, and `limit` ends the wait.
                        Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                    }
                }
                Some(answered) = connections.join_next() => {
                    if let Ok(Some(callback)) = answered {
                        return callback;
                    }
                }
            }
        }
    }
}

/// Answers the request of a connection. Returns the answer of the sign-in if the request is that.
async fn answer_connection(mut stream: TcpStream, port: u16, state: Secret) -> Option<CallbackAnswer> {
    let head = tokio::time::timeout(HEAD_TIME, read_head(&mut stream)).await;
    let read = match head {
        Ok(Ok(head)) => read_callback(&head, port, &state),
        Ok(Err(_)) | Err(_) => return None,
    };
    let page = match &read {
        Ok(_) => write_page(
            "200 OK",
            "The answer has arrived. You can close this page and go back to the terminal.",
        ),
        Err(refusal) => write_page(
            refusal.status(),
            "This page takes the answer of one sign-in, and this is not it.",
        ),
    };
    // A browser that is gone has sent its answer all the same.
    let _ = stream.write_all(page.as_bytes()).await;
    let _ = stream.shutdown().await;
    read.ok()
}

/// Reads the head of a request: everything before the first empty line.
async fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).await?;
        // The end may have begun in the three bytes before.
        let unseen = head.len().saturating_sub(3);
        head.extend_from_slice(piece.get(..count).unwrap_or_default());
        let mut ends = head.get(unseen..).unwrap_or_default().windows(4);
        if count == 0 || head.len() > LARGEST_HEAD || ends.any(|end| end == b"\r\n\r\n") {
            return Ok(head);
        }
    }
}

/// Reason why a request is not the answer of the sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallbackRefusal {
    Malformed,
    OtherMethod,
    OtherHost,
    OtherPath,
    OtherState,
}

impl CallbackRefusal {
    fn status(self) -> &'static str {
        match self {
            Self::Malformed => "400 Bad Request",
            Self::OtherMethod => "405 Method Not Allowed",
            Self::OtherHost => "421 Misdirected Request",
            Self::OtherPath => "404 Not Found",
            Self::OtherState => "403 Forbidden",
        }
    }
}

/// Reads the answer of the sign-in from the head of a request.
fn read_callback(head: &[u8], port: u16, state: &Secret) -> Result<CallbackAnswer, CallbackRefusal> {
    let head = std::str::from_utf8(head).map_err(|_| CallbackRefusal::Malformed)?;
    let (head, _) = head.split_once("\r\n\r\n").ok_or(CallbackRefusal::Malformed)?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) || words.next().is_some() {
        return Err(CallbackRefusal::Malformed);
    }
    if method != Some("GET") {
        return Err(CallbackRefusal::OtherMethod);
    }
    // A page of another site reaches this port under its own name, if its name is made to lead here (DNS rebinding).
    let mut hosts = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = hosts.next().map(|(_, host)| host.trim());
    if host != Some(format!("127.0.0.1:{port}").as_str()) || hosts.next().is_some() {
        return Err(CallbackRefusal::OtherHost);
    }
    let target = target.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != PATH {
        return Err(CallbackRefusal::OtherPath);
    }
    read_query(query, state)
}

/// Reads the parameters of the answer. None of them may occur twice (RFC 6749, section 3.1).
fn read_query(query: &str, state: &Secret) -> Result<CallbackAnswer, CallbackRefusal> {
    let mut callback = CallbackAnswer::default();
    let mut found_state = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.into_owned();
        let before = match name.as_ref() {
            "state" => found_state.replace(value),
            "code" => callback.code.replace(Secret::new(&value)).map(|_| String::new()),
            "error" => callback.error.replace(value),
            "error_description" => callback.reason.replace(value),
            "iss" => callback.issuer.replace(value),
            // Unknown parameters are ignored (RFC 6749, section 4.1.2).
            _ => None,
        };
        if before.is_some() {
            return Err(CallbackRefusal::Malformed);
        }
    }
    if found_state.as_deref() != Some(state.expose()) {
        return Err(CallbackRefusal::OtherState);
    }
    match callback.code.is_some() != callback.error.is_some() {
        true => Ok(callback),
        false => Err(CallbackRefusal::Malformed),
    }
}

/// Writes an answer. Its text is fixed: nothing of a request is repeated.
fn write_page(status: &str, text: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\r\n{text}\n",
        text.len() + 1
    )
}

#[cfg(test)]
mod tests;
