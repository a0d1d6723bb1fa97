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
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{Shutdown, shutdown};

use crate::carry::{accept_each, copy_both_ways};
use crate::connect::connect_host;
use crate::handover::take_listener;
use crate::ready::ReadyConnections;
use crate::relay::{JoinedConnections, JoinedSender, RelayLoop};
use crate::tunnel::WatchedTunnel;
use crate::{OutletRoute, SandboxError};

/// Largest head of a request to the proxy, which is a line and a few headers.
const LONGEST_HEAD: usize = 8 << 10;
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
    /// Keeps the descriptor, so that [`OpenPort::close`] can wake the thread. Returns false if it was called already.
    fn keep(&self, listener: TcpListener) -> bool {
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
    /// Opens the socket, in a folder that no tool can see. `keeper` is the user of process 1 of the run, which
    /// connects to it; `None` if that is this program's own user.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open(socket: &Path, keeper: Option<u32>, way: OutletRoute) -> Result<Self, SandboxError> {
        Self::serve_socket(socket, keeper, PortWork::Route(way), Box::new(|_| ()))
    }

    /// Opens the socket as [`NetworkOutlet::open`] does. `report` gets each name that the tool is refused, once and at
    /// once, as the tool wrote it; untrusted.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open_with_report(
        socket: &Path,
        keeper: Option<u32>,
        way: OutletRoute,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, SandboxError> {
        Self::serve_socket(socket, keeper, PortWork::Route(way), Box::new(report))
    }

    /// Opens a socket that leads to one host for a client that never closes only one direction of a connection. Each connection is
    /// joined to one of `ready`, or to a new one if there is none.
    ///
    /// # Errors
    /// If the socket cannot be created.
    pub fn open_with_ready(
        socket: &Path,
        keeper: Option<u32>,
        (host, port): (&str, u16),
        ready: &ReadyConnections,
    ) -> Result<Self, SandboxError> {
        let work = PortWork::Ready(host.to_owned(), port, ready.clone());
        Self::serve_socket(socket, keeper, work, Box::new(|_| ()))
    }

    fn serve_socket(
        socket: &Path,
        keeper: Option<u32>,
        work: PortWork,
        report: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, SandboxError> {
        let failed = SandboxError::io;
        let opening = "open the socket for the tool's connections";
        let place = SocketPlace::open(socket).map_err(failed(opening))?;
        let listener = UnixListener::bind(place.short_path()).map_err(failed(opening))?;
        let handover = listener.try_clone().map_err(failed(opening))?;
        std::os::unix::fs::lchown(socket, keeper, keeper).map_err(failed(opening))?;
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

/// Receives the port from the keeper, and serves its connections until it is closed.
fn serve_port(handover: &UnixListener, port: &OpenPort, work: &PortWork, refused: &Arc<RefusedHosts>) {
    // The only failure is a keeper that is gone, or an outlet that was dropped.
    let received = handover.accept().and_then(|(keeper, _)| take_listener(&keeper));
    let Ok(listener) = received else { return };
    let Ok(second) = listener.try_clone() else { return };
    if !port.keep(second) {
        return;
    }
    let is_closed = || port.is_closed();
    match work {
        PortWork::Route(way) => {
            let take = |tool| {
                let (way, refused) = (way.clone(), Arc::clone(refused));
                // If there are too many connections, this one is closed, and the tool sees that.
                let _ = thread::Builder::new().spawn(move || serve_one(tool, &way, &refused));
            };
            accept_each(listener.incoming(), is_closed, take);
        }
        PortWork::Ready(host, number, ready) => {
            // Without descriptors for the loop, the port is closed, and the tool sees that.
            if let Ok((relay, sender)) = RelayLoop::new(listener) {
                relay.run(is_closed, |tool| {
                    join_server(tool, (host, *number), ready, &sender)
                });
            }
        }
    }
}

/// Joins a connection to one that is ready, or to a new one, which is made on a thread because that takes a while.
fn join_server(tool: TcpStream, (host, port): (&str, u16), ready: &ReadyConnections, sender: &JoinedSender) {
    if let Some(server) = ready.take_open() {
        let used = ready.begin_use();
        sender.send(JoinedConnections { tool, server, used });
        return;
    }
    let (host, ready, sender) = (host.to_owned(), ready.clone(), sender.clone());
    let connect = move || {
        if let Ok(server) = connect_host(&host, port, PATIENCE) {
            let used = ready.begin_use();
            sender.send(JoinedConnections { tool, server, used });
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
mod tests {
    use std::net::SocketAddr;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    use super::*;
    use crate::carry::copy_bytes;
    use crate::handover::{connect_port, give_new_port};

    #[test]
    fn only_a_connect_names_a_target() {
        let cases = [
            (
                "CONNECT a.example:443 HTTP/1.1\r\nHost: b\r\n\r\n",
                Some("a.example:443"),
            ),
            ("CONNECT a.example:443 HTTP/1.0\r\n\r\n", Some("a.example:443")),
            ("GET http://a.example/ HTTP/1.1\r\n\r\n", None),
            ("CONNECT a.example:443\r\n\r\n", None),
            ("connect a.example:443 HTTP/1.1\r\n\r\n", None),
            ("CONNECT a\u{1b}[31m:443 HTTP/1.1\r\n\r\n", None),
            ("CONNECT a\r:443 HTTP/1.1\r\n\r\n", None),
            ("CONNECT \u{202e}a:443 HTTP/1.1\r\n\r\n", None),
        ];
        for (head, expected) in cases {
            assert_eq!(connect_target(head.as_bytes()).as_deref(), expected, "{head}");
        }
    }

    /// What a tool that sends `request` gets back.
    fn exchange(port: SocketAddr, request: &str) -> String {
        let mut stream = connect_port(port);
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_proxy_leads_to_the_addresses_on_its_list_and_names_the_others() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let echo = thread::spawn(move || {
            let (stream, _) = server.accept().unwrap();
            copy_bytes(&stream, &stream);
        });
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let way = OutletRoute::Proxy(vec![("127.0.0.1".to_owned(), port)]);
        let (told, heard) = mpsc::channel();
        let report = move |name: &str| told.send(name.to_owned()).unwrap_or_default();
        let outlet = NetworkOutlet::open_with_report(&socket, None, way, report).unwrap();
        let tool_port = give_new_port(&socket);
        let answer = exchange(
            tool_port,
            &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello"),
        );
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"),
            "{answer}"
        );
        echo.join().unwrap();
        let answer = exchange(tool_port, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(exchange(tool_port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        exchange(tool_port, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
        assert_eq!(outlet.refused(), ["evil.example:443"]);
        drop(outlet);
        // Reported once, however often the tool tries.
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["evil.example:443"]);
    }

    #[test]
    fn an_end_connects_to_nothing_that_took_the_sockets_place() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, other) = (folder.path().join("x.sock"), folder.path().join("service.sock"));
        let service = UnixListener::bind(&other).unwrap();
        let outlet = NetworkOutlet::open(&socket, None, OutletRoute::Proxy(Vec::new())).unwrap();
        std::fs::remove_file(&socket).unwrap();
        std::os::unix::fs::symlink(&other, &socket).unwrap();
        drop(outlet);
        service.set_nonblocking(true).unwrap();
        let error = service.accept().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "nobody connected");
        assert!(UnixStream::connect(&socket).is_ok(), "the service is still there");
    }

    #[test]
    fn a_tunnel_is_closed_when_another_host_is_named_in_it() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let heard = thread::spawn(move || {
            let mut all = Vec::new();
            for stream in server.incoming().take(2) {
                let mut bytes = Vec::new();
                let mut stream = stream.unwrap();
                let _ = stream.read_to_end(&mut bytes);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                all.push(String::from_utf8(bytes).unwrap());
            }
            all
        });
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let outlet = NetworkOutlet::open(
            &socket,
            None,
            OutletRoute::Proxy(vec![("127.0.0.1".to_owned(), port)]),
        )
        .unwrap();
        let tool_port = give_new_port(&socket);
        let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n");
        let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let own = request(&format!("127.0.0.1:{port}"));
        let answer = exchange(tool_port, &format!("{connect}{own}"));
        assert!(answer.ends_with("HTTP/1.1 200 OK\r\n\r\n"), "{answer}");
        let answer = exchange(
            tool_port,
            &format!("{connect}{own}{}", request("attacker.example")),
        );
        assert!(!answer.ends_with("200 OK\r\n\r\n"), "{answer}");
        assert_eq!(outlet.refused(), ["attacker.example"]);
        // The first request of the second tunnel may have come through before the second one was read.
        let heard = heard.join().unwrap();
        assert_eq!(heard.first(), Some(&own));
        assert!(heard.iter().all(|bytes| !bytes.contains("attacker")), "{heard:?}");
    }
}
