//! Finds the server name in the TLS records that a client sends.
//!
//! Owns: assembling a ClientHello and reading it. Never: reads what is encrypted.

use super::{ForeignName, LONGEST_START, TunnelHost};

/// Types of records (RFC 8446, section 5.1; 24 is the heartbeat of RFC 6520).
const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const HEARTBEAT: u8 = 24;
/// Largest length of a record, that of TLS 1.2 (RFC 5246, section 6.2.3).
const LONGEST_RECORD: usize = (1 << 14) + 2048;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Records of one connection, read in pieces. Every ClientHello is read, however many there are and wherever they
/// are: a second one, after a server's HelloRetryRequest, may follow early data, and servers take their name from it.
#[derive(Debug, Default)]
pub(super) struct TlsRecords {
    /// Bytes that are not assigned to a record yet.
    raw: Vec<u8>,
    /// Number of bytes of the current record that are passed on without a look.
    free: usize,
    /// Records with parts of a ClientHello that is not complete.
    held: Vec<u8>,
    /// Handshake message that is being assembled.
    message: Vec<u8>,
    /// Number of bytes left of a message that is not a ClientHello.
    skipped: usize,
    has_hello: bool,
    /// True after a change of cipher, where TLS 1.2 begins to encrypt.
    is_ciphered: bool,
}

impl TlsRecords {
    pub(super) fn admit(
        &mut self,
        host: &TunnelHost,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ForeignName> {
        self.raw.extend_from_slice(bytes);
        let raw = std::mem::take(&mut self.raw);
        let mut rest = raw.as_slice();
        while !rest.is_empty() {
            if self.free > 0 {
                let (now, later) = rest.split_at(self.free.min(rest.len()));
                out.extend_from_slice(now);
                self.free -= now.len();
                rest = later;
                continue;
            }
            let [kind, version, _, high, low, ..] = *rest else {
                break;
            };
            let length = usize::from(u16::from_be_bytes([high, low]));
            let is_record = (CHANGE_CIPHER_SPEC..=HEARTBEAT).contains(&kind) && version == 3;
            if !is_record || length > LONGEST_RECORD || (kind != HANDSHAKE && !self.is_begun()) {
                return Err(host.unreadable_name("TLS that cannot be read"));
            }
            if kind != HANDSHAKE {
                self.is_ciphered |= kind == CHANGE_CIPHER_SPEC;
                self.free = 5 + length;
                continue;
            }
            let Some((record, later)) = rest.split_at_checked(5 + length) else {
                break;
            };
            self.held.extend_from_slice(record);
            self.read_handshake(host, record.get(5..).unwrap_or_default())?;
            if self.message.is_empty() {
                out.append(&mut self.held);
            } else if self.held.len() > LONGEST_START {
                return Err(host.unreadable_name("a ClientHello that is too long"));
            }
            rest = later;
        }
        self.raw = rest.to_vec();
        Ok(())
    }

    /// Returns true if a ClientHello was read and none is being assembled: other records make sense only then.
    fn is_begun(&self) -> bool {
        self.has_hello && self.message.is_empty()
    }

    fn read_handshake(&mut self, host: &TunnelHost, mut bytes: &[u8]) -> Result<(), ForeignName> {
        // From here on the content is encrypted in TLS 1.2 and cannot be read. A ClientHello is still recognised,
        // because TLS 1.3 sends a change of cipher as padding before its second ClientHello (RFC 8446, section D.4).
        if self.is_ciphered && self.message.is_empty() && !begins_hello(bytes) {
            return Ok(());
        }
        while !bytes.is_empty() {
            if self.skipped > 0 {
                let count = self.skipped.min(bytes.len());
                self.skipped -= count;
                bytes = bytes.get(count..).unwrap_or_default();
                continue;
            }
            let wanted = match *self.message {
                [_, a, b, c, ..] => 4 + length_of([a, b, c]),
                _ => 4,
            };
            let missing = wanted.saturating_sub(self.message.len()).min(bytes.len());
            let (now, later) = bytes.split_at(missing);
            self.message.extend_from_slice(now);
            bytes = later;
            let [kind, a, b, c, ref body @ ..] = *self.message else {
                continue;
            };
            let length = length_of([a, b, c]);
            if kind == CLIENT_HELLO {
                if body.len() == length {
                    check_name(host, body)?;
                    (self.has_hello, self.message) = (true, Vec::new());
                }
            } else if self.has_hello {
                (self.skipped, self.message) = (length, Vec::new());
            } else {
                return Err(host.unreadable_name("TLS without a ClientHello"));
            }
        }
        Ok(())
    }
}

fn length_of([a, b, c]: [u8; 3]) -> usize {
    usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)
}

/// Returns true if the bytes of a record begin a ClientHello and not something encrypted: by its type, a length of
/// less than 64 KiB, and its version.
fn begins_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [CLIENT_HELLO, 0, _, _, 3, ..])
        || (bytes.len() < 5 && bytes.first() == Some(&CLIENT_HELLO))
}

/// Compares the name in a ClientHello with the host.
fn check_name(host: &TunnelHost, hello: &[u8]) -> Result<(), ForeignName> {
    match server_name(hello) {
        None => Err(host.unreadable_name("a ClientHello that cannot be read")),
        // A client may leave the name out only if the host has none (RFC 6066, section 3).
        Some(None) if host.is_address() => Ok(()),
        Some(None) => Err(host.unreadable_name("TLS without a server name")),
        Some(Some(name)) => match std::str::from_utf8(name) {
            Ok(text) if host.has_name(text) => Ok(()),
            _ => Err(ForeignName::new(name)),
        },
    }
}

/// Reads the host name from a ClientHello. The outer `None` if it cannot be read for certain; the inner one if it
/// names no host.
fn server_name(hello: &[u8]) -> Option<Option<&[u8]>> {
    let mut hello = MessageFields(hello);
    // Version and random.
    hello.take(2 + 32)?;
    let session = usize::from(hello.byte()?);
    hello.take(session)?;
    hello.vector()?;
    let compression = usize::from(hello.byte()?);
    hello.take(compression)?;
    if hello.0.is_empty() {
        return Some(None);
    }
    let mut extensions = MessageFields(hello.vector()?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.vector()?;
        if kind != SERVER_NAME {
            continue;
        }
        let mut list = MessageFields(content);
        let mut names = MessageFields(list.vector()?);
        let is_host = names.byte()? == HOST_NAME;
        let name = names.vector()?;
        // With several names or extensions it is not known which one a server takes.
        if !is_host || name.is_empty() || found.is_some() || !names.0.is_empty() || !list.0.is_empty() {
            return None;
        }
        found = Some(name);
    }
    hello.0.is_empty().then_some(found)
}

/// Unread rest of a message, read field by field.
struct MessageFields<'a>(&'a [u8]);

impl<'a> MessageFields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (now, later) = self.0.split_at_checked(count)?;
        self.0 = later;
        Some(now)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// Takes a field that follows its length of two bytes. `None` if the message is too short.
    fn vector(&mut self) -> Option<&'a [u8]> {
        let length = usize::from(self.number()?);
        self.take(length)
    }
}
