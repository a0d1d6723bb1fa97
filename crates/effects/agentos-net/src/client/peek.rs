//! Recognises a TLS server after it failed to answer plain HTTP.
//!
//! Owns: one short connection without any key. Never: runs before a request has already failed.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Deadline, HttpUrl};

/// Beginning of a TLS alert record, which a TLS server sends in reply to plain HTTP.
const ALERT: [u8; 2] = [0x15, 0x03];

pub(super) async fn speaks_tls(url: &HttpUrl, deadline: &Deadline) -> bool {
    let host = url.host().trim_matches(['[', ']']);
    let first = deadline.run_within(first_bytes((host, url.port()))).await;
    matches!(first, Some(Ok(bytes)) if bytes == ALERT)
}

async fn first_bytes(address: (&str, u16)) -> std::io::Result<[u8; 2]> {
    let mut stream = TcpStream::connect(address).await?;
    // A TLS server sends its alert only after it has read something that is not a handshake.
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    let mut bytes = [0; 2];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
