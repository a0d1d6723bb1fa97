//! Reads the host from every request that a client sends over one connection of HTTP/1.
//!
//! Owns: where a request ends and the next one begins. This must be known for certain: what one side takes for a body
//! may be a request to the other (RFC 9112, section 11.2). Never: guesses; framing that could be read in two ways is
//! refused.

use super::{ForeignName, LONGEST_START, TunnelHost, is_token};

/// Largest length of the line with the size of a chunk.
const LONGEST_SIZE: usize = 4 << 10;

/// Part of a request that the next byte belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum RequestPart {
    #[default]
    Head,
    /// Body, of which this many bytes are left.
    Body(u64),
    ChunkSize,
    /// Chunk, of which this many bytes are left before its line end.
    Chunk(u64),
    ChunkEnd,
    Trailer,
}

/// Requests of one connection, read in pieces.
#[derive(Debug, Default)]
pub(super) struct HttpRequests {
    part: RequestPart,
    held: Vec<u8>,
    /// Number of bytes of `held` that were searched and contain no end of a head.
    scanned: usize,
    /// True if the last request offered to change to another protocol.
    has_upgrade: bool,
}

impl HttpRequests {
    /// Takes bytes that the client sent, and appends to `out` what may be passed on. Returns true if everything that
    /// follows is another protocol.
    ///
    /// # Errors
    /// If another host is named, or the framing cannot be read for certain.
    pub(super) fn admit(
        &mut self,
        host: &TunnelHost,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, ForeignName> {
        self.held.extend_from_slice(bytes);
        while !self.held.is_empty() {
            let taken = match self.part {
                RequestPart::Head => {
                    if self.is_upgraded() {
                        out.append(&mut self.held);
                        return Ok(true);
                    }
                    self.read_head(host)?
                }
                RequestPart::Body(left) => self.take_rest(left, RequestPart::Body, RequestPart::Head),
                RequestPart::Chunk(left) => self.take_rest(left, RequestPart::Chunk, RequestPart::ChunkEnd),
                RequestPart::ChunkSize => self.chunk_size(host)?,
                RequestPart::ChunkEnd => self.chunk_end(host)?,
                RequestPart::Trailer => self.read_trailer(host)?,
            };
            if taken == 0 {
                break;
            }
            out.extend(self.held.drain(..taken));
            self.scanned = 0;
        }
        Ok(false)
    }

    /// Returns true if the server accepted a change of protocol, as for a WebSocket, whose first byte cannot begin a
    /// request (RFC 6455, section 5.2).
    fn is_upgraded(&self) -> bool {
        let first = self.held.first().copied().unwrap_or_default();
        self.has_upgrade && !is_token(first) && !first.is_ascii_whitespace()
    }

    fn read_head(&mut self, host: &TunnelHost) -> Result<usize, ForeignName> {
        let blank = self
            .held
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        if blank > 0 {
            return Ok(blank);
        }
        // The end of a head has up to three bytes in the part that was searched already.
        let from = self.scanned.saturating_sub(3);
        let unseen = self.held.get(from..).unwrap_or_default();
        let end = (0..unseen.len()).find_map(|at| match unseen.get(at..)? {
            [b'\n', b'\n', ..] => Some(from + at + 2),
            [b'\n', b'\r', b'\n', ..] => Some(from + at + 3),
            _ => None,
        });
        let Some(end) = end else {
            self.scanned = self.held.len();
            return match self.held.len() {
                0..=LONGEST_START => Ok(0),
                _ => Err(host.unreadable_name("a request that is too long")),
            };
        };
        let head = RequestHead::read(host, self.held.get(..end).unwrap_or_default())?;
        (self.part, self.has_upgrade) = (head.body, head.has_upgrade);
        Ok(end)
    }

    fn take_rest(&mut self, left: u64, same: fn(u64) -> RequestPart, next: RequestPart) -> usize {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(self.held.len());
        let left = left.saturating_sub(count as u64);
        self.part = if left == 0 { next } else { same(left) };
        count
    }

    fn chunk_size(&mut self, host: &TunnelHost) -> Result<usize, ForeignName> {
        let unreadable = || host.unreadable_name("a chunk that cannot be read");
        let Some(end) = self.held.iter().position(|byte| *byte == b'\n') else {
            return if self.held.len() > LONGEST_SIZE {
                Err(unreadable())
            } else {
                Ok(0)
            };
        };
        let line = self.held.get(..end).and_then(|line| line.strip_suffix(b"\r"));
        let line = line
            .and_then(|line| std::str::from_utf8(line).ok())
            .ok_or_else(unreadable)?;
        // Blanks are allowed before the name of an extension; nothing else is.
        let size = line
            .split(';')
            .next()
            .unwrap_or_default()
            .trim_end_matches([' ', '\t']);
        // Fifteen hexadecimal digits always fit into 64 bits, so that no size can overflow into a smaller one.
        let is_size = (1..=15).contains(&size.len()) && size.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_size || line.contains('\r') {
            return Err(unreadable());
        }
        self.part = match u64::from_str_radix(size, 16).map_err(|_| unreadable())? {
            0 => RequestPart::Trailer,
            size => RequestPart::Chunk(size),
        };
        Ok(end + 1)
    }

    fn chunk_end(&mut self, host: &TunnelHost) -> Result<usize, ForeignName> {
        match *self.held {
            [b'\r'] => Ok(0),
            [b'\r', b'\n', ..] => {
                self.part = RequestPart::ChunkSize;
                Ok(2)
            }
            _ => Err(host.unreadable_name("a chunk that cannot be read")),
        }
    }

    fn read_trailer(&mut self, host: &TunnelHost) -> Result<usize, ForeignName> {
        let unreadable = || host.unreadable_name("a request that cannot be read");
        let Some(end) = self.held.iter().position(|byte| *byte == b'\n') else {
            return if self.held.len() > LONGEST_START {
                Err(unreadable())
            } else {
                Ok(0)
            };
        };
        let line = self.held.get(..end).and_then(|line| line.strip_suffix(b"\r"));
        let line = line.ok_or_else(unreadable)?;
        if line.is_empty() {
            self.part = RequestPart::Head;
        } else {
            parse_header(line).ok_or_else(unreadable)?;
        }
        Ok(end + 1)
    }
}

/// Facts from a head that decide how the bytes after it are read.
struct RequestHead {
    body: RequestPart,
    has_upgrade: bool,
}

impl RequestHead {
    /// Reads a head up to its empty line.
    fn read(host: &TunnelHost, head: &[u8]) -> Result<Self, ForeignName> {
        let unreadable = || host.unreadable_name("a request that cannot be read");
        let mut lines = head
            .split(|byte| *byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = lines.next().unwrap_or_default();
        let is_old = check_request_line(host, first)?;
        let (mut names, mut lengths, mut encodings) = (Vec::new(), Vec::new(), Vec::new());
        let mut has_upgrade = false;
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = parse_header(line).ok_or_else(unreadable)?;
            match name.to_ascii_lowercase().as_slice() {
                b"host" => names.push(value),
                b"content-length" => lengths.push(value),
                b"transfer-encoding" => encodings.push(value),
                b"upgrade" => has_upgrade = true,
                // HTTP/2 would follow, in which names are compressed.
                b"http2-settings" => return Err(host.unreadable_name("HTTP/2 without TLS")),
                _ => {}
            }
        }
        match *names {
            [] if is_old => {}
            [name] => match std::str::from_utf8(name) {
                Ok(text) if host.has_authority(text) => {}
                _ => return Err(ForeignName::new(name)),
            },
            _ => return Err(unreadable()),
        }
        // Two lengths, or a length and an encoding: clients and servers disagree on which one counts, which is how
        // requests are smuggled.
        let body = match (&*lengths, &*encodings) {
            ([], []) => RequestPart::Head,
            ([length], []) => content_length(length).ok_or_else(unreadable)?,
            ([], [encoding]) if !is_old && encoding.eq_ignore_ascii_case(b"chunked") => {
                RequestPart::ChunkSize
            }
            _ => return Err(unreadable()),
        };
        Ok(Self { body, has_upgrade })
    }
}

/// Checks the first line of a request, and the host in it if there is one. Returns true for HTTP/1.0.
fn check_request_line(host: &TunnelHost, line: &[u8]) -> Result<bool, ForeignName> {
    let unreadable = || host.unreadable_name("a request that cannot be read");
    if line.iter().any(u8::is_ascii_control) {
        return Err(unreadable());
    }
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = *words else {
        return Err(unreadable());
    };
    let is_old = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        b"HTTP/2.0" => return Err(host.unreadable_name("HTTP/2 without TLS")),
        _ => return Err(unreadable()),
    };
    if method.is_empty() || !method.iter().copied().all(is_token) {
        return Err(unreadable());
    }
    // A tunnel inside the tunnel would lead on to another host.
    if method.eq_ignore_ascii_case(b"CONNECT") {
        return Err(ForeignName::new(target));
    }
    if target.first() == Some(&b'/') || target == b"*" {
        return Ok(is_old);
    }
    let text = std::str::from_utf8(target).ok();
    let (scheme, rest) = text
        .and_then(|text| text.split_once("://"))
        .ok_or_else(unreadable)?;
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    if is_http && host.has_authority(authority) {
        return Ok(is_old);
    }
    Err(ForeignName::new(authority.as_bytes()))
}

/// Splits the line of a header into name and value. `None` if it could be read in more than one way (RFC 9112,
/// section 5).
fn parse_header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?);
    let is_plain = |byte: &u8| !byte.is_ascii_control() || *byte == b'\t';
    let is_header = !name.is_empty() && name.iter().copied().all(is_token) && value.iter().all(is_plain);
    is_header.then(|| (name, value.trim_ascii()))
}

fn content_length(value: &[u8]) -> Option<RequestPart> {
    let is_number = (1..=18).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| is_number)?;
    match text.parse().ok()? {
        0 => Some(RequestPart::Head),
        length => Some(RequestPart::Body(length)),
    }
}
