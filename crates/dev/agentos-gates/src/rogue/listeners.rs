//! Sockets outside the sandbox that no tool may reach, and one that a profile allows.
//!
//! Owns: opening them and recording what arrives. Never: answers with anything that an attempt could use.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::GateError;

/// Time without data after which a message is considered complete.
const SILENCE: Duration = Duration::from_millis(300);
/// Largest number of recorded bytes of one connection.
// A tool could send without end, and the gate keeps what it reads in memory.
const MOST: u64 = 64 << 10;

/// All sockets outside one sandbox.
pub(super) struct Listeners {
    /// The port that no tool may reach.
    pub(super) forbidden: RecordedPort,
    /// The port that a profile allows.
    pub(super) allowed: RecordedPort,
    udp: UdpSocket,
    // No thread for these: a connection stays in the socket's queue until it is accepted, so the gate can ask
    // afterwards.
    unix: Vec<(&'static str, UnixListener)>,
}

/// A TCP port that records its connections.
pub(super) struct RecordedPort {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Listeners {
    /// Opens all of them: socket files in `outside` and `shown`, an abstract name, three ports.
    pub(super) fn open(outside: &Path, shown: &Path, token: &str) -> Result<Self, GateError> {
        let failed = || GateError::file("a socket for the rogue");
        let bind = |place: &Path| UnixListener::bind(place).map_err(failed());
        Ok(Self {
            forbidden: RecordedPort::open("tcp").map_err(failed())?,
            allowed: RecordedPort::open("allowed").map_err(failed())?,
            udp: UdpSocket::bind("127.0.0.1:0").map_err(failed())?,
            unix: vec![
                ("a socket file", bind(&outside.join("socket"))?),
                ("a socket file in a shown folder", bind(&shown.join("socket"))?),
                ("an abstract socket", abstract_socket(token).map_err(failed())?),
            ],
        })
    }

    /// Returns the ports: one that no tool may reach, one that a profile allows, and one for UDP.
    pub(super) fn ports(&self) -> Result<(u16, u16, u16), GateError> {
        let failed = GateError::file("a socket for the rogue");
        let udp = self.udp.local_addr().map_err(failed)?.port();
        Ok((self.forbidden.port, self.allowed.port, udp))
    }

    /// Names the sockets that a connection or a packet reached since the last call.
    pub(super) fn take_heard(&self) -> Vec<String> {
        let mut heard = Vec::new();
        if !self.forbidden.bytes().is_empty() {
            heard.push("TCP".to_owned());
        }
        if self.udp.set_nonblocking(true).is_ok() && self.udp.recv(&mut [0; 16]).is_ok() {
            heard.push("UDP".to_owned());
        }
        for (name, socket) in &self.unix {
            if socket.set_nonblocking(true).is_ok() && socket.accept().is_ok() {
                heard.push((*name).to_owned());
            }
        }
        heard
    }
}

impl RecordedPort {
    fn open(name: &'static str) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        // The thread is never joined: it ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut bytes = b"[connection]".to_vec();
                bytes.extend(read_message(&stream));
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
                // The other side may have closed the connection.
                let _ = (&stream).write_all(format!("seen at {name}\n").as_bytes());
            }
        });
        Ok(Self { port, heard })
    }

    /// Returns true if this text arrived at the port.
    pub(super) fn has_heard(&self, text: &str) -> bool {
        self.bytes()
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }

    fn bytes(&self) -> Vec<u8> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads until the other side closes the connection or sends nothing for a while.
fn read_message(stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    if stream.set_read_timeout(Some(SILENCE)).is_ok() {
        // The timeout is an error here; the bytes before it are in the buffer.
        let _ = stream.take(MOST).read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(target_os = "linux")]
fn abstract_socket(name: &str) -> std::io::Result<UnixListener> {
    use std::os::linux::net::SocketAddrExt;
    UnixListener::bind_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
}

#[cfg(not(target_os = "linux"))]
fn abstract_socket(_name: &str) -> std::io::Result<UnixListener> {
    Err(std::io::ErrorKind::Unsupported.into())
}
