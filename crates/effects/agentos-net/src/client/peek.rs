//! Recognises a server that speaks TLS, or none, after a request in the other form failed.
//!
//! Owns: one short connection without any key. Never: runs before a request has already failed.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Deadline, HttpUrl};

/// Beginning of a TLS alert record, which a TLS server sends in reply to plain HTTP.
const ALERT: [u8; 2] = [0x15, 0x03];

/// Maximum time for the short connection. The server took a connection a moment ago.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns true if the server answers plain HTTP with a TLS alert.
pub(super) async fn speaks_tls(url: &HttpUrl, deadline: &Deadline) -> bool {
    peek(url, deadline).await == Some(ALERT)
}

/// Returns true if the server answers plain HTTP.
pub(super) async fn speaks_http(url: &HttpUrl, deadline: &Deadline) -> bool {
    // Every version of HTTP/1 begins its answer with `HTTP/` (RFC 9112, section 4).
    peek(url, deadline).await == Some(*b"HT")
}

async fn peek(url: &HttpUrl, deadline: &Deadline) -> Option<[u8; 2]> {
    let host = url.host().trim_matches(['[', ']']);
    let first = tokio::time::timeout(PATIENCE, first_bytes((host, url.port())));
    let first = deadline.await_first_byte(Instant::now(), first).await;
    // A deadline, a timeout of ours or an error of the connection: in each case nothing is known about the protocol.
    first.ok()?.ok()?.ok()
}

async fn first_bytes(address: (&str, u16)) -> std::io::Result<[u8; 2]> {
    let mut stream = TcpStream::connect(address).await?;
    // A TLS server sends its alert only after it has read something that is not a handshake.
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut bytes = [0; 2];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
