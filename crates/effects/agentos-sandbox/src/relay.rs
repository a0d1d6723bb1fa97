//! Copies the bytes of all connections of one outlet on one thread.
//!
//! A confined adapter keeps a connection for each request that runs. With two threads for each of them, a request woke up to four threads,
//! and every thread had a buffer.
//!
//! | state of a direction | waits for | next |
//! | --- | --- | --- |
//! | empty | bytes of its source | they are written at once; what does not fit is kept: full |
//! | full | room at its target | empty, when all is written; nothing is read meanwhile, so the source waits too |
//! | over | nothing: its source has ended, or its target takes nothing | the pair is closed when both directions are over |
//!
//! Owns: copying, and what the end of one side means for the other. Never: connects, or knows where a connection leads.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{Shutdown, shutdown};
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::ready::UsedConnection;

/// Bytes that are read at once.
const BUFFER: usize = 32 << 10;
/// Events that are taken at once.
const MOST_EVENTS: usize = 64;
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);
/// Event of the listener.
const LISTENER: u64 = u64::MAX;
/// Event of the channel with joined connections.
const JOINED: u64 = u64::MAX - 1;

/// Connection of a tool, joined to that of its server.
pub(crate) struct JoinedConnections {
    pub(crate) tool: TcpStream,
    pub(crate) server: TcpStream,
    /// Ends when either side has ended.
    pub(crate) used: UsedConnection,
}

/// Hands joined connections to the loop. Clones lead to the same loop.
#[derive(Clone)]
pub(crate) struct JoinedSender {
    sender: Sender<JoinedConnections>,
    waker: Arc<UnixStream>,
}

impl JoinedSender {
    /// Hands over two connections. They are closed if the loop has ended.
    pub(crate) fn send(&self, joined: JoinedConnections) {
        if self.sender.send(joined).is_ok() {
            // If the socket is full, the loop has enough to wake up for.
            let _ = (&*self.waker).write(&[0]);
        }
    }
}

/// Loop over the connections of one outlet.
pub(crate) struct RelayLoop {
    events: OwnedFd,
    listener: TcpListener,
    joined: Receiver<JoinedConnections>,
    woken: UnixStream,
    pairs: BTreeMap<u64, Pair>,
    next: u64,
    buffer: Vec<u8>,
}

impl RelayLoop {
    /// Makes the loop of a listener.
    ///
    /// # Errors
    /// If the system refuses a descriptor.
    pub(crate) fn new(listener: TcpListener) -> io::Result<(Self, JoinedSender)> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (woken, waker) = UnixStream::pair()?;
        let (sender, joined) = channel();
        listener.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        epoll::add(&events, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&events, &woken, EventData::new_u64(JOINED), EventFlags::IN)?;
        let relay = Self {
            events,
            listener,
            joined,
            woken,
            pairs: BTreeMap::new(),
            next: 0,
            buffer: vec![0; BUFFER],
        };
        let waker = Arc::new(waker);
        Ok((relay, JoinedSender { sender, waker }))
    }

    /// Accepts connections and copies bytes, until `is_closed`. Each accepted connection is given to `take`, which must not wait.
    pub(crate) fn run(mut self, is_closed: impl Fn() -> bool, mut take: impl FnMut(TcpStream)) {
        let mut happened = Vec::with_capacity(MOST_EVENTS);
        loop {
            happened.clear();
            match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut happened), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &happened {
                match event.data.u64() {
                    LISTENER => self.accept(&is_closed, &mut take),
                    JOINED => self.add_joined(),
                    side => self.advance(side, event.flags),
                }
            }
            if is_closed() {
                return;
            }
        }
    }

    fn accept(&self, is_closed: &impl Fn() -> bool, take: &mut impl FnMut(TcpStream)) {
        loop {
            match self.listener.accept() {
                Ok((tool, _)) => take(tool),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) if is_closed() => return,
                // Too many open files, for a moment (accept(2)).
                Err(_) => {
                    thread::sleep(PAUSE);
                    return;
                }
            }
        }
    }

    fn add_joined(&mut self) {
        let mut bytes = [0; 64];
        // Read before the channel: what is sent later wakes the loop again.
        while matches!((&self.woken).read(&mut bytes), Ok(1..)) {}
        while let Ok(joined) = self.joined.try_recv() {
            let number = self.next;
            self.next += 1;
            // If the system is short of memory, both are closed, and the tool sees that.
            if let Ok(pair) = Pair::new(joined).and_then(|mut pair| {
                pair.watch(&self.events, number)?;
                Ok(pair)
            }) {
                self.pairs.insert(number, pair);
            }
        }
    }

    /// Copies what one side of a pair has or takes now.
    fn advance(&mut self, side: u64, flags: EventFlags) {
        let number = side / 2;
        let Some(pair) = self.pairs.get_mut(&number) else {
            return;
        };
        // An end or a fault is found by reading or writing.
        let has_ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let (has_bytes, has_room) = (
            has_ended || flags.contains(EventFlags::IN),
            has_ended || flags.contains(EventFlags::OUT),
        );
        match side == tool_side(number) {
            true => pair.copy((has_bytes, has_room), &mut self.buffer),
            false => pair.copy((has_room, has_bytes), &mut self.buffer),
        }
        if pair.is_over() || pair.watch(&self.events, number).is_err() {
            self.pairs.remove(&number);
        }
    }
}

/// Returns the event of a pair's connection to the tool.
fn tool_side(number: u64) -> u64 {
    number * 2
}

/// Returns the event of a pair's connection to the server.
fn server_side(number: u64) -> u64 {
    number * 2 + 1
}

/// Two joined connections.
struct Pair {
    tool: TcpStream,
    server: TcpStream,
    used: UsedConnection,
    /// From the tool to the server.
    up: Direction,
    /// From the server to the tool.
    down: Direction,
    tool_watch: EventFlags,
    server_watch: EventFlags,
}

impl Pair {
    fn new(joined: JoinedConnections) -> io::Result<Self> {
        let JoinedConnections { tool, server, used } = joined;
        for side in [&tool, &server] {
            side.set_nonblocking(true)?;
            // What comes in small pieces must not wait until the last one is acknowledged (RFC 896).
            side.set_nodelay(true)?;
        }
        Ok(Self {
            tool,
            server,
            used,
            up: Direction::default(),
            down: Direction::default(),
            tool_watch: EventFlags::empty(),
            server_watch: EventFlags::empty(),
        })
    }

    /// Copies in the directions that may go on, from the tool and to the tool.
    fn copy(&mut self, (up, down): (bool, bool), buffer: &mut [u8]) {
        if up && self.up.copy(&self.tool, &self.server, buffer) {
            self.used.end();
            // The client is ours, and closes both directions at once. A server that computes an answer notices only then that nobody
            // waits for it.
            let _ = shutdown(self.server.as_raw_fd(), Shutdown::Both);
        }
        if down && self.down.copy(&self.server, &self.tool, buffer) {
            self.used.end();
            let _ = shutdown(self.tool.as_raw_fd(), Shutdown::Write);
        }
    }

    fn is_over(&self) -> bool {
        self.up.is_over && self.down.is_over
    }

    /// Watches each side for what its directions wait for.
    fn watch(&mut self, events: &OwnedFd, number: u64) -> rustix::io::Result<()> {
        let tool = flags(self.up.awaits_bytes(), self.down.awaits_room());
        let server = flags(self.down.awaits_bytes(), self.up.awaits_room());
        change_watch(events, &self.tool, &mut self.tool_watch, tool, tool_side(number))?;
        change_watch(
            events,
            &self.server,
            &mut self.server_watch,
            server,
            server_side(number),
        )
    }
}

fn flags(awaits_bytes: bool, awaits_room: bool) -> EventFlags {
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN, awaits_bytes);
    flags.set(EventFlags::OUT, awaits_room);
    flags
}

/// Changes what a side is watched for. One that is watched for nothing is left out: its end would be reported again and again
/// (epoll_ctl(2), `EPOLLHUP`).
fn change_watch(
    events: &OwnedFd,
    side: impl AsFd,
    watched: &mut EventFlags,
    wanted: EventFlags,
    event: u64,
) -> rustix::io::Result<()> {
    if *watched == wanted {
        return Ok(());
    }
    let data = EventData::new_u64(event);
    match (watched.is_empty(), wanted.is_empty()) {
        (true, _) => epoll::add(events, side, data, wanted),
        (false, true) => epoll::delete(events, side),
        (false, false) => epoll::modify(events, side, data, wanted),
    }?;
    *watched = wanted;
    Ok(())
}

/// One direction of a pair.
#[derive(Default)]
struct Direction {
    /// Bytes that the target did not take yet.
    kept: Vec<u8>,
    is_over: bool,
}

impl Direction {
    fn awaits_bytes(&self) -> bool {
        !self.is_over && self.kept.is_empty()
    }

    fn awaits_room(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Reads once and writes what it can. Returns true if the direction has just ended.
    fn copy(&mut self, mut from: &TcpStream, to: &TcpStream, buffer: &mut [u8]) -> bool {
        if self.is_over {
            return false;
        }
        if self.kept.is_empty() {
            match from.read(buffer) {
                Ok(0) => self.is_over = true,
                Ok(count) => self.write(to, buffer.get(..count).unwrap_or_default()),
                Err(error) => self.is_over = !is_temporary(&error),
            }
        } else {
            let kept = std::mem::take(&mut self.kept);
            self.write(to, &kept);
        }
        self.is_over
    }

    /// Writes bytes, and keeps what the target does not take.
    fn write(&mut self, mut to: &TcpStream, bytes: &[u8]) {
        match to.write(bytes) {
            Ok(count) => self.kept = bytes.get(count..).unwrap_or_default().to_vec(),
            Err(error) if is_temporary(&error) => self.kept = bytes.to_vec(),
            Err(_) => self.is_over = true,
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::handover::{connect_port, give_new_port};
    use crate::{NetworkOutlet, ReadyConnections};

    /// More than the buffers of the system hold, so that a direction is full while nobody reads.
    const LARGE: usize = 24 << 20;

    struct Scene {
        server: TcpListener,
        port: SocketAddr,
        _outlet: NetworkOutlet,
        _folder: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let socket = folder.path().join("x.sock");
            let way = ("127.0.0.1", server.local_addr().unwrap().port());
            let outlet =
                NetworkOutlet::open_with_ready(&socket, None, way, &ReadyConnections::default()).unwrap();
            Self {
                server,
                port: give_new_port(&socket),
                _outlet: outlet,
                _folder: folder,
            }
        }

        fn connect(&self) -> (TcpStream, TcpStream) {
            let tool = connect_port(self.port);
            (tool, self.server.accept().unwrap().0)
        }
    }

    /// Bytes that show a lost, doubled or moved piece.
    fn large_body() -> Vec<u8> {
        (0..LARGE / 8).flat_map(|at| at.to_le_bytes()).collect()
    }

    #[test]
    fn large_bodies_cross_in_both_directions_at_once() {
        let scene = Scene::new();
        let (tool, server) = scene.connect();
        let body = large_body();
        thread::scope(|scope| {
            for side in [&tool, &server] {
                let body = &body;
                scope.spawn(move || {
                    let mut side = side;
                    side.write_all(body).unwrap();
                });
            }
            for mut side in [&tool, &server] {
                let mut read = vec![0; LARGE];
                side.read_exact(&mut read).unwrap();
                assert!(read == body, "all bytes in their order");
            }
        });
    }

    #[test]
    fn a_tool_that_reads_nothing_holds_its_own_server_back_and_nobody_else() {
        let scene = Scene::new();
        let ((_tool, mut server), (mut other, mut other_server)) = (scene.connect(), scene.connect());
        server.set_nonblocking(true).unwrap();
        let (mut written, mut refused) = (0, 0);
        // Refused ten times in a row, with the loop at work in between: its server is held back.
        while refused < 10 {
            match server.write(&[0; 1 << 16]) {
                Ok(count) => (written, refused) = (written + count, 0),
                Err(_) => refused += 1,
            }
            assert!(written < LARGE, "the loop keeps what nobody reads");
            other.write_all(b"x").unwrap();
            other_server.read_exact(&mut [0]).unwrap();
        }
        other_server.write_all(b"y").unwrap();
        other.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn an_answer_arrives_whole_though_the_server_has_closed_before_it_is_read() {
        let scene = Scene::new();
        let (mut tool, mut server) = scene.connect();
        let body = large_body();
        let sent = body.clone();
        let sending = thread::spawn(move || server.write_all(&sent).unwrap());
        let mut read = Vec::new();
        tool.read_to_end(&mut read).unwrap();
        sending.join().unwrap();
        assert!(read == body, "all bytes in their order");
    }

    #[test]
    fn a_server_that_nobody_reaches_closes_the_connection_of_the_tool() {
        let Scene {
            server,
            port,
            _outlet,
            _folder,
        } = Scene::new();
        drop(server);
        assert_eq!(connect_port(port).read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn the_end_of_the_outlet_closes_its_connections() {
        let scene = Scene::new();
        let (mut tool, mut server) = scene.connect();
        let Scene { _outlet: outlet, .. } = scene;
        drop(outlet);
        assert_eq!(tool.read(&mut [0]).unwrap_or(0), 0);
        assert_eq!(server.read(&mut [0]).unwrap_or(0), 0);
    }
}
