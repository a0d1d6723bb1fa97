//! Outlets of a confined process: ports inside that lead to one address, or to the few on a list.
//!
//! Owns: accepting, connecting and copying bytes, outside the sandbox. Never: connects to anything but the addresses
//! it was created for, whatever the tool sends.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{Shutdown, shutdown};

use crate::carry::{PAUSE, accept_each, copy_both_ways};
use crate::connect::connect_host;
use crate::handover::{confirm_listener, take_listener};
use crate::ready::{CountedConnection, OpenConnections, ReadyConnections};
use crate::relay::{JoinedConnections, JoinedSender, RelayLoop};
use crate::tunnel::WatchedTunnel;
use crate::{OutletRoute, SandboxError};

/// Largest head of a request to the proxy, which is a line and a few headers.
const LONGEST_HEAD: usize = 8 << 10;
/// Open connections of a tool. One that opens more waits: each takes two descriptors of this process. An adapter works on 128 requests at a
/// time, and may keep an idle connection for each.
const MOST_OPEN: usize = 256;
/// Largest number of refused names that are kept.
const MOST_REFUSED: usize = 32;
/// Time limit for one connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// Accepts the connections of one port inside the sandbox and leads them to one destination, as long as this value lives.
#[derive(Debug)]
pub struct NetworkOutlet {
    /// Second descriptor of the socket through which the keeper hands over the port.
    handover: UnixListener,
    port: Arc<OpenPort>,
    refused: Arc<RefusedHosts>,
}

/// Second descriptor of the port on which a thread accepts.
#[derive(Debug, Default)]
struct OpenPort {
    listener: Mutex<Option<TcpListener>>,
    is_closed: AtomicBool,
}

impl OpenPort {
    /// Keeps the descriptor, so that [`OpenPort::close`] can wake the thread. Returns false if the port was closed before.
    fn keep_listener(&self, listener: TcpListener) -> bool {
        *self.lock() = Some(listener);
        !self.is_closed()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Makes the thread end: a blocked `accept` cannot be interrupted, but returns when the socket is shut down from a second descriptor.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Some(listener) = self.lock().take() {
            let _ = shutdown(listener.as_raw_fd(), Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<TcpListener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names that a tool requested and was refused.
struct RefusedHosts {
    names: Mutex<BTreeSet<String>>,
    report: Box<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for RefusedHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RefusedHosts").field(&self.names).finish()
    }
}

impl RefusedHosts {
    /// Keeps a name and reports it, unless it is known or there are too many.
    fn note_refusal(&self, name: String) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MOST_REFUSED || !names.insert(name.clone()) {
            return;
        }
        // Released first: the report runs code of the caller.
        drop(names);
        (self.report)(&name);
    }
}

impl NetworkOutlet {
    /// Opens the socket through which the keeper hands over the port, in a folder that no tool can see.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open(socket: &Path, way: OutletRoute) -> Result<Self, SandboxError> {
        Self::serve_socket(socket, PortWork::Route(way), Box::new(|_| ()))
    }

    /// Opens the socket as [`NetworkOutlet::open`] does. `report` gets each name that the tool is refused, once and at
    /// once, as the tool wrote it; untrusted.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open_with_report(
        socket: &Path,
        way: OutletRoute,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, SandboxError> {
        Self::serve_socket(socket, PortWork::Route(way), Box::new(report))
    }

    /// Opens the socket of a port that leads to one host, for a client that never closes only one direction of a connection. Each connection is
    /// joined to one of `ready`, or to a new one if there is none.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open_with_ready(
        socket: &Path,
        (host, port): (&str, u16),
        ready: &ReadyConnections,
    ) -> Result<Self, SandboxError> {
        let work = PortWork::Ready(host.to_owned(), port, ready.clone());
        Self::serve_socket(socket, work, Box::new(|_| ()))
    }

    fn serve_socket(
        socket: &Path,
        work: PortWork,
        report: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, SandboxError> {
        let failed = SandboxError::io;
        let opening = "open the socket for the tool's connections";
        let place = SocketPlace::open(socket).map_err(failed(opening))?;
        let listener = UnixListener::bind(place.short_path()).map_err(failed(opening))?;
        let handover = listener.try_clone().map_err(failed(opening))?;
        let (port, refused) = (
            Arc::<OpenPort>::default(),
            Arc::new(RefusedHosts {
                names: Mutex::default(),
                report,
            }),
        );
        let outlet = Self {
            handover,
            port: Arc::clone(&port),
            refused: Arc::clone(&refused),
        };
        thread::Builder::new()
            .spawn(move || serve_port(&listener, &port, &work, &refused))
            .map_err(failed("serve the socket for the tool's connections"))?;
        Ok(outlet)
    }

    /// Returns the names that the tool requested and was refused, as it wrote them; untrusted.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        let names = self.refused.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().cloned().collect()
    }
}

impl Drop for NetworkOutlet {
    fn drop(&mut self) {
        self.port.close();
        // If no port was handed over, the thread still waits for one. Through the descriptor and not by connecting: the name could lead
        // to another service by now.
        let _ = shutdown(self.handover.as_raw_fd(), Shutdown::Both);
    }
}

/// Work with the connections of a port.
enum PortWork {
    /// Each is led to a destination, on a thread of its own.
    Route(OutletRoute),
    /// Each is joined to a connection to this host, and all are served by one thread.
    Ready(String, u16, ReadyConnections),
}

/// Closes a port at the end of the thread that serves it, whatever the reason: an open port that nobody serves would leave the tool waiting.
struct ClosedAtEnd<'a>(&'a OpenPort);

impl Drop for ClosedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Receives the port from the keeper, and serves its connections until it is closed.
fn serve_port(handover: &UnixListener, port: &OpenPort, work: &PortWork, refused: &Arc<RefusedHosts>) {
    let _end = ClosedAtEnd(port);
    let Some(keeper) = await_keeper(handover, port) else {
        return;
    };
    // A keeper without an answer learns by the end of the connection that there will be none, and starts no tool.
    let Ok(listener) = take_listener(&keeper) else {
        return;
    };
    let Ok(second) = listener.try_clone() else { return };
    if !port.keep_listener(second) {
        return;
    }
    let is_closed = || port.is_closed();
    match work {
        PortWork::Route(route) => {
            if confirm_listener(&keeper).is_err() {
                return;
            }
            let open = OpenConnections::default();
            let take = |tool| {
                while open.count_open() >= MOST_OPEN && !is_closed() {
                    thread::sleep(PAUSE);
                }
                let (route, refused, counted) = (route.clone(), Arc::clone(refused), open.add_connection());
                let serve = move || {
                    let _counted = counted;
                    serve_one(tool, &route, &refused);
                };
                // If the system refuses the thread, the connection is closed, and the tool sees that.
                let _ = thread::Builder::new().spawn(serve);
            };
            accept_each(listener.incoming(), is_closed, take);
        }
        PortWork::Ready(host, number, ready) => {
            let Ok((relay, sender)) = RelayLoop::new(listener, MOST_OPEN) else {
                return;
            };
            if confirm_listener(&keeper).is_err() {
                return;
            }
            drop(keeper);
            relay.run(is_closed, |tool, counted| {
                join_server((tool, counted), (host, *number), ready, &sender);
            });
        }
    }
}

/// Waits for the keeper. `None` if the outlet was dropped.
fn await_keeper(handover: &UnixListener, port: &OpenPort) -> Option<UnixStream> {
    loop {
        match handover.accept() {
            Ok((keeper, _)) => {
                // There is one keeper. Another one must not wait for an answer.
                let _ = shutdown(handover.as_raw_fd(), Shutdown::Both);
                return Some(keeper);
            }
            Err(_) if port.is_closed() => return None,
            // Too many open files, for a moment (accept(2)).
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Joins a connection to one that is ready, or to a new one, which is made on a thread because that takes a while.
fn join_server(
    (tool, counted): (TcpStream, CountedConnection),
    (host, port): (&str, u16),
    ready: &ReadyConnections,
    sender: &JoinedSender,
) {
    let join = move |server, used| JoinedConnections {
        tool,
        server,
        used,
        counted,
    };
    if let Some(server) = ready.take_open() {
        sender.send_joined(join(server, ready.begin_use()));
        return;
    }
    let (host, ready, sender) = (host.to_owned(), ready.clone(), sender.clone());
    let connect = move || {
        if let Ok(server) = connect_host(&host, port, PATIENCE) {
            sender.send_joined(join(server, ready.begin_use()));
        }
    };
    // If the system refuses the thread, the connection is closed, and the tool sees that.
    let _ = thread::Builder::new().spawn(connect);
}

/// Place of a socket. Its whole path is often too long for a socket's address (unix(7): 108 bytes); a path through
/// its open folder is always short enough.
#[derive(Debug)]
pub(crate) struct SocketPlace {
    folder: File,
    name: OsString,
}

impl SocketPlace {
    /// Opens the folder of a socket that only this program can write.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    #[expect(
        clippy::disallowed_methods,
        reason = "a folder of ours that the tool does not see"
    )]
    pub(crate) fn open(socket: &Path) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::InvalidInput);
        Ok(Self {
            folder: File::open(socket.parent().ok_or_else(missing)?)?,
            name: socket.file_name().ok_or_else(missing)?.to_owned(),
        })
    }

    /// Returns a short path of the socket, valid as long as this value lives.
    pub(crate) fn short_path(&self) -> PathBuf {
        let folder = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        Path::new(&folder).join(&self.name)
    }
}

fn serve_one(mut tool: TcpStream, way: &OutletRoute, refused: &RefusedHosts) {
    // What a server sends in small pieces must not wait until the last one is acknowledged (RFC 896).
    let _ = tool.set_nodelay(true);
    let allowed = match way {
        OutletRoute::Address(host, port) => {
            if let Ok(server) = connect_host(host, *port, PATIENCE) {
                copy_both_ways(&tool, &server);
            }
            return;
        }
        OutletRoute::Proxy(allowed) => allowed,
    };
    let Some((wanted, early)) = read_request(&mut tool) else {
        let _ = tool.write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n");
        return;
    };
    let is_allowed = |(host, port): &&(String, u16)| wanted.eq_ignore_ascii_case(&format!("{host}:{port}"));
    let Some((host, port)) = allowed.iter().find(is_allowed) else {
        refused.note_refusal(wanted);
        let _ = tool.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
        return;
    };
    // An IPv6 address is written in brackets there (RFC 3986, section 3.2.2).
    let Ok(server) = connect_host(host.trim_matches(['[', ']']), *port, PATIENCE) else {
        let _ = tool.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        return;
    };
    let report = |name| refused.note_refusal(name);
    let begun = tool.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
    if begun.is_ok() {
        let watched = WatchedTunnel::new((&tool, &server), (host, *port), early, &report);
        copy_both_ways(&watched, &server);
    }
}

/// Reads the `host:port` of a `CONNECT`, and what came after its head. `None` if it is another request.
fn read_request(tool: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            let early = head.split_off(end + 4);
            return Some((connect_target(&head)?, early));
        }
        let count = tool.read(&mut buffer).ok()?;
        if count == 0 || head.len() > LONGEST_HEAD {
            return None;
        }
        head.extend_from_slice(buffer.get(..count)?);
    }
}

/// Reads the target of `CONNECT host:port HTTP/1.1`. `None` if the head is another request. A refused target is shown
/// to a person, so only visible ASCII is accepted, which is enough for every host and port (RFC 3986, section 3.2).
pub(crate) fn connect_target(head: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(head).ok()?;
    let mut words = text.lines().next()?.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("CONNECT"), Some(target), Some("HTTP/1.0" | "HTTP/1.1"))
            if target.len() <= 255 && target.bytes().all(|byte| byte.is_ascii_graphic()) =>
        {
            Some(target.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
