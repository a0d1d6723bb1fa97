//! A client that sends exactly the bytes of a test, because browsers and attackers send more than well-formed requests.
//!
//! Owns: one connection for each request. Never: follows a redirect, or repairs an answer.

use std::io::{self, Write as _};
use std::net::TcpStream;

/// Answer of a server.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    /// Status. 0 if there was no answer.
    pub status: u16,
    /// Head, with its status line.
    pub head: String,
    /// Body.
    pub body: String,
}

impl RawAnswer {
    /// Returns a header's value. `None` if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(':'));
        pairs
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }
}

/// Sends bytes, and gives the connection, for a test that reads an answer bit by bit.
///
/// # Errors
/// When nobody listens, or the connection breaks.
pub fn begin_request(address: &str, request: &[u8]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request)?;
    Ok(stream)
}

/// Sends bytes over the Unix socket at a path, and reads until the other side closes.
///
/// # Errors
/// If nobody listens there, or the connection breaks before an answer.
#[cfg(unix)]
pub fn send_local(socket: &std::path::Path, request: &[u8]) -> io::Result<RawAnswer> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    // A server that refuses a request may end before it has read all of it; its answer counts.
    let _ = stream.write_all(request);
    Ok(read_answer(&mut stream))
}

/// Sends bytes to an address such as `127.0.0.1:80`, and reads until the other side closes.
///
/// # Errors
/// If nobody listens there, or the connection breaks before an answer.
pub fn send_bytes(address: &str, request: &[u8]) -> io::Result<RawAnswer> {
    let mut stream = begin_request(address, request)?;
    Ok(read_answer(&mut stream))
}

fn read_answer(stream: &mut impl io::Read) -> RawAnswer {
    let mut bytes = Vec::new();
    // A server that refuses a request may reset the connection; what came before counts.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    RawAnswer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
