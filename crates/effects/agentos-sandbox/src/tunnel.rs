//! Watches what a tool sends through a tunnel that its proxy opened for one host.
//!
//! An allowed `CONNECT api.example:443` says which address is reached, not which server the tool talks to there:
//! servers of many names often share one address, and the name inside the tunnel decides. Two protocols show it. TLS
//! names the server in the ClientHello (RFC 6066, section 3), and HTTP/1 in the `Host` of every request (RFC 9112,
//! section 3.2). Nothing of either is passed on before its name is compared.
//!
//! Not visible, and so not compared: a `Host` inside TLS, the inner name of an encrypted ClientHello (its outer name
//! is compared), a renegotiation inside TLS 1.2, and every other protocol. HTTP/2 without TLS is refused, because its
//! names are compressed.
//!
//! Owns: recognising the protocol, and closing a tunnel that names another host. Never: connects, or changes a byte
//! that it passes on.

mod hello;
mod requests;

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, PoisonError};

use hello::TlsRecords;
use requests::HttpRequests;

/// Largest number of bytes that are held until a name is known: several times what clients send and servers accept.
const LONGEST_START: usize = 64 << 10;
/// Largest number of characters of a foreign name that are reported; a host name is shorter (RFC 1035, section
/// 2.3.4).
const LONGEST_NAME: usize = 255;
/// Methods of requests, to recognise a request of HTTP/0.9, which has no version (RFC 9110, section 9.3).
const METHODS: [&[u8]; 9] = [
    b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH",
];

/// Host that a tunnel was allowed for.
#[derive(Debug, Clone)]
struct TunnelHost {
    name: String,
    port: u16,
}

impl TunnelHost {
    /// Returns true if a name means this host: whatever its case, with or without the dot of the root.
    fn has_name(&self, name: &str) -> bool {
        let (ours, theirs) = (bare_name(&self.name), bare_name(name));
        match (ours.parse::<IpAddr>(), theirs.parse::<IpAddr>()) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            _ => ours.eq_ignore_ascii_case(theirs),
        }
    }

    /// Returns true if `host` or `host:port` means this host, and this port if one is named.
    fn has_authority(&self, text: &str) -> bool {
        if self.has_name(text) {
            return true;
        }
        let named = text.rsplit_once(':');
        let is_port = |port: &str| port.bytes().all(|c| c.is_ascii_digit()) && port.parse() == Ok(self.port);
        named.is_some_and(|(name, port)| is_port(port) && self.has_name(name))
    }

    fn is_address(&self) -> bool {
        bare_name(&self.name).parse::<IpAddr>().is_ok()
    }

    /// Describes something that names no host, so that it can be reported like one that does.
    fn unreadable_name(&self, what: &str) -> ForeignName {
        ForeignName(format!("{}:{} ({what})", self.name, self.port))
    }
}

/// Removes the brackets of an IPv6 address (RFC 3986, section 3.2.2) and the dot of the root domain.
fn bare_name(name: &str) -> &str {
    let inside = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.unwrap_or_else(|| name.strip_suffix('.').unwrap_or(name))
}

/// Name for which a tunnel is closed, as the tool wrote it; untrusted.
#[derive(Debug, PartialEq, Eq)]
struct ForeignName(String);

impl ForeignName {
    fn new(written: &[u8]) -> Self {
        let text = String::from_utf8_lossy(written);
        Self(text.chars().take(LONGEST_NAME).collect())
    }
}

/// Protocol in a tunnel, as far as it is known.
#[derive(Debug)]
enum TunnelProtocol {
    /// Too few bytes were sent to know.
    Unknown(Vec<u8>),
    Tls(TlsRecords),
    Http(HttpRequests),
    /// A protocol that names no host.
    Other,
}

/// State of what a tool sends through a tunnel.
#[derive(Debug)]
struct TunnelWatch {
    host: TunnelHost,
    protocol: TunnelProtocol,
}

impl TunnelWatch {
    fn new(name: &str, port: u16) -> Self {
        Self {
            host: TunnelHost {
                name: name.to_owned(),
                port,
            },
            protocol: TunnelProtocol::Unknown(Vec::new()),
        }
    }

    /// Takes bytes that the tool sent, and appends to `out` what may be passed on.
    ///
    /// # Errors
    /// If another host is named, or a name cannot be read for certain.
    fn admit(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ForeignName> {
        if let TunnelProtocol::Unknown(held) = &mut self.protocol {
            held.extend_from_slice(bytes);
            let Some(known) = recognize(held) else {
                let is_short = held.len() <= LONGEST_START;
                return is_short
                    .then_some(())
                    .ok_or_else(|| self.host.unreadable_name("a line without end"));
            };
            let held = std::mem::take(held);
            self.protocol = known;
            return self.pass_on(&held, out);
        }
        self.pass_on(bytes, out)
    }

    fn pass_on(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ForeignName> {
        match &mut self.protocol {
            TunnelProtocol::Tls(records) => records.admit(&self.host, bytes, out),
            TunnelProtocol::Http(requests) => {
                if requests.admit(&self.host, bytes, out)? {
                    self.protocol = TunnelProtocol::Other;
                }
                Ok(())
            }
            TunnelProtocol::Unknown(_) | TunnelProtocol::Other => {
                out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Appends to `out` what is left when the tool has closed its side. Half of a head or of a ClientHello is not
    /// passed on.
    fn end(&mut self, out: &mut Vec<u8>) {
        if let TunnelProtocol::Unknown(held) = &mut self.protocol
            && !is_http_line(held)
        {
            out.append(held);
        }
    }
}

/// Recognizes the protocol by its first bytes. `None` if more are needed.
fn recognize(held: &[u8]) -> Option<TunnelProtocol> {
    match held {
        [] | [0x16] => return None,
        // A record of a handshake, of SSL 3.0 and all versions of TLS (RFC 8446, section 5.1).
        [0x16, 0x03, ..] => return Some(TunnelProtocol::Tls(TlsRecords::default())),
        _ => {}
    }
    // Servers skip empty lines before a request (RFC 9112, section 2.2), and some of them blanks.
    let start = held.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let text = held.get(start..)?;
    if !text.first().copied().is_some_and(is_token) {
        return Some(TunnelProtocol::Other);
    }
    let is_other = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    match text.iter().position(|byte| *byte == b'\n') {
        Some(end) if is_http_line(text.get(..end)?) => Some(TunnelProtocol::Http(HttpRequests::default())),
        Some(_) => Some(TunnelProtocol::Other),
        None if text.iter().any(is_other) && !is_http_line(text) => Some(TunnelProtocol::Other),
        None => None,
    }
}

/// Returns true if a line is, or is meant to be, a request of HTTP.
fn is_http_line(line: &[u8]) -> bool {
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    METHODS.iter().any(|method| first.eq_ignore_ascii_case(method))
        || line.windows(5).any(|part| part.eq_ignore_ascii_case(b"HTTP/"))
}

/// Returns true if a byte is allowed in a method or in the name of a header (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Tool's end of a tunnel: reading from it returns only what may be passed on.
pub(crate) struct WatchedTunnel<'a> {
    tool: &'a TcpStream,
    server: &'a TcpStream,
    inner: Mutex<WatchedBytes>,
    report: &'a (dyn Fn(String) + Sync),
}

struct WatchedBytes {
    watch: TunnelWatch,
    /// Bytes that were read together with the request for the tunnel and are not checked yet.
    early: Vec<u8>,
    /// Bytes that may be passed on; those before `given` were returned already.
    clear: Vec<u8>,
    given: usize,
    is_over: bool,
}

impl<'a> WatchedTunnel<'a> {
    /// Watches a tunnel to `host:port`. `early` has the first bytes that the tool sent. A foreign name is given to
    /// `report`.
    pub(crate) fn new(
        (tool, server): (&'a TcpStream, &'a TcpStream),
        (host, port): (&str, u16),
        early: Vec<u8>,
        report: &'a (dyn Fn(String) + Sync),
    ) -> Self {
        let inner = WatchedBytes {
            watch: TunnelWatch::new(host, port),
            early,
            clear: Vec::new(),
            given: 0,
            is_over: false,
        };
        Self {
            tool,
            server,
            inner: Mutex::new(inner),
            report,
        }
    }

    /// Reads once, and closes both ends if another host is named.
    fn advance(&self, inner: &mut WatchedBytes, room: usize) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut inner.early);
        if bytes.is_empty() {
            bytes.resize(room, 0);
            let mut tool = self.tool;
            let count = tool.read(&mut bytes)?;
            bytes.truncate(count);
        }
        (inner.given, inner.is_over) = (0, bytes.is_empty());
        inner.clear.clear();
        if inner.is_over {
            inner.watch.end(&mut inner.clear);
        } else if let Err(ForeignName(name)) = inner.watch.admit(&bytes, &mut inner.clear) {
            inner.clear.clear();
            inner.is_over = true;
            (self.report)(name);
            // Either end may be closed already.
            let _ = self.server.shutdown(Shutdown::Both);
            let _ = self.tool.shutdown(Shutdown::Both);
        }
        Ok(())
    }
}

impl Read for &WatchedTunnel<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut left = inner.clear.get(inner.given..).unwrap_or_default();
            if !left.is_empty() || inner.is_over {
                let count = left.read(buffer)?;
                inner.given += count;
                return Ok(count);
            }
            self.advance(&mut inner, buffer.len())?;
        }
    }
}

impl Write for &WatchedTunnel<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut tool = self.tool;
        tool.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for WatchedTunnel<'_> {
    fn as_raw_fd(&self) -> RawFd {
        self.tool.as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
