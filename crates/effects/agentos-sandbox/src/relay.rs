//! Copies the bytes of all connections of one outlet on one thread.
//!
//! A confined adapter keeps a connection for each request that runs. With two threads for each of them, each request woke as many as four
//! threads, and every thread had a buffer.
//!
//! | state of a direction | waits for | next |
//! | --- | --- | --- |
//! | empty | bytes of its source | they are written at once; what does not fit is kept: full |
//! | full | room at its target | empty, when all is written; nothing is read meanwhile, so the source waits too |
//! | over | nothing: its source has ended, or its target is broken | both connections are closed when both directions are over |
//!
//! When the tool has opened as many connections as it may, and when the system is short of descriptors, the tool waits: nothing is accepted for
//! [`PAUSE`] then, and the open connections are served.
//!
//! Owns: copying, and what the end of one side means for the other. Never: connects, or knows where a connection leads.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use nix::sys::socket::{Shutdown, shutdown};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::carry::PAUSE;
use crate::ready::{CountedConnection, OpenConnections};

/// Bytes that are read at once.
const BUFFER: usize = 32 << 10;
/// Events that are taken at once.
const MOST_EVENTS: usize = 64;
/// Connections that are accepted at once, so that a tool that opens many does not keep the others waiting.
const MOST_ACCEPTED: usize = 16;
/// Event of the listener.
const LISTENER_EVENT: u64 = u64::MAX;
/// Event of the channel with joined connections.
const JOINED_EVENT: u64 = u64::MAX - 1;

/// Connection of a tool, joined to that of its server.
pub(crate) struct JoinedConnections {
    pub(crate) tool: TcpStream,
    pub(crate) server: TcpStream,
    /// Dropped when either side has ended.
    pub(crate) used: CountedConnection,
    /// Dropped when both are closed.
    pub(crate) counted: CountedConnection,
}

/// Hands joined connections to the loop. Clones lead to the same loop.
#[derive(Clone)]
pub(crate) struct JoinedSender {
    sender: Sender<JoinedConnections>,
    waker: Arc<UnixStream>,
}

impl JoinedSender {
    /// Hands over two connections. They are closed if the loop has ended.
    pub(crate) fn send_joined(&self, joined: JoinedConnections) {
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
    open: OpenConnections,
    most_open: usize,
    /// Time until which nothing is accepted. `None` if the listener is watched.
    paused_until: Option<Instant>,
    joined: Receiver<JoinedConnections>,
    wake_receiver: UnixStream,
    pairs: BTreeMap<u64, ConnectionPair>,
    next: u64,
    buffer: Vec<u8>,
}

impl RelayLoop {
    /// Makes the loop of a listener, with at most so many open connections.
    ///
    /// # Errors
    /// If the system refuses a descriptor.
    pub(crate) fn new(listener: TcpListener, most_open: usize) -> io::Result<(Self, JoinedSender)> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let (wake_receiver, waker) = UnixStream::pair()?;
        let (sender, joined) = channel();
        listener.set_nonblocking(true)?;
        wake_receiver.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        epoll::add(
            &events,
            &listener,
            EventData::new_u64(LISTENER_EVENT),
            EventFlags::IN,
        )?;
        epoll::add(
            &events,
            &wake_receiver,
            EventData::new_u64(JOINED_EVENT),
            EventFlags::IN,
        )?;
        let relay = Self {
            events,
            listener,
            open: OpenConnections::default(),
            most_open,
            paused_until: None,
            joined,
            wake_receiver,
            pairs: BTreeMap::new(),
            next: 0,
            buffer: vec![0; BUFFER],
        };
        let waker = Arc::new(waker);
        Ok((relay, JoinedSender { sender, waker }))
    }

    /// Accepts connections and copies bytes, until `is_closed`. Each accepted connection is given to `take`, which must not wait.
    pub(crate) fn run(
        mut self,
        is_closed: impl Fn() -> bool,
        mut take: impl FnMut(TcpStream, CountedConnection),
    ) {
        let mut ready_events = Vec::with_capacity(MOST_EVENTS);
        while !is_closed() {
            ready_events.clear();
            let wait = self.paused_until.map(remaining_time);
            let room = rustix::buffer::spare_capacity(&mut ready_events);
            match epoll::wait(&self.events, room, wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &ready_events {
                match event.data.u64() {
                    LISTENER_EVENT => self.accept_waiting(&mut take),
                    JOINED_EVENT => self.add_joined(),
                    side => self.advance_pair(side, event.flags),
                }
            }
            self.resume_accepting();
        }
    }

    fn accept_waiting(&mut self, take: &mut impl FnMut(TcpStream, CountedConnection)) {
        for _ in 0..MOST_ACCEPTED {
            if self.open.count_open() >= self.most_open {
                self.pause_accepting();
                return;
            }
            match self.listener.accept() {
                Ok((tool, _)) => take(tool, self.open.add_connection()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Too many open files (accept(2)), or the listener was shut down.
                Err(_) => {
                    self.pause_accepting();
                    return;
                }
            }
        }
    }

    fn pause_accepting(&mut self) {
        // Watched, it would be reported again and again.
        if epoll::delete(&self.events, &self.listener).is_ok() {
            self.paused_until = Some(Instant::now() + PAUSE);
        }
    }

    fn resume_accepting(&mut self) {
        let Some(until) = self.paused_until else { return };
        let now = Instant::now();
        if now < until {
            return;
        }
        let data = EventData::new_u64(LISTENER_EVENT);
        let is_full = self.open.count_open() >= self.most_open;
        if is_full || epoll::add(&self.events, &self.listener, data, EventFlags::IN).is_err() {
            self.paused_until = Some(now + PAUSE);
        } else {
            self.paused_until = None;
        }
    }

    fn add_joined(&mut self) {
        let mut bytes = [0; 64];
        // Read before the channel: what is sent later wakes the loop again.
        while matches!((&self.wake_receiver).read(&mut bytes), Ok(1..)) {}
        while let Ok(joined) = self.joined.try_recv() {
            let number = self.next;
            self.next += 1;
            // If the system is short of memory, both are closed, and the tool sees that.
            if let Ok(pair) = ConnectionPair::new(joined).and_then(|mut pair| {
                pair.update_watch(&self.events, number)?;
                Ok(pair)
            }) {
                self.pairs.insert(number, pair);
            }
        }
    }

    /// Copies what one side of a pair has or takes now.
    fn advance_pair(&mut self, side: u64, flags: EventFlags) {
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
            true => pair.copy_bytes((has_bytes, has_room), &mut self.buffer),
            false => pair.copy_bytes((has_room, has_bytes), &mut self.buffer),
        }
        if pair.is_over() || pair.update_watch(&self.events, number).is_err() {
            self.pairs.remove(&number);
        }
    }
}

/// Returns the time that is left, for a wait.
fn remaining_time(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
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
struct ConnectionPair {
    tool: TcpStream,
    server: TcpStream,
    /// `None` if either side has ended.
    used: Option<CountedConnection>,
    _counted: CountedConnection,
    /// From the tool to the server.
    up: CopyDirection,
    /// From the server to the tool.
    down: CopyDirection,
    tool_watch: EventFlags,
    server_watch: EventFlags,
}

impl ConnectionPair {
    fn new(joined: JoinedConnections) -> io::Result<Self> {
        let JoinedConnections {
            tool,
            server,
            used,
            counted,
        } = joined;
        for side in [&tool, &server] {
            side.set_nonblocking(true)?;
            // What comes in small pieces must not wait until the last one is acknowledged (RFC 896).
            side.set_nodelay(true)?;
        }
        Ok(Self {
            tool,
            server,
            used: Some(used),
            _counted: counted,
            up: CopyDirection::default(),
            down: CopyDirection::default(),
            tool_watch: EventFlags::empty(),
            server_watch: EventFlags::empty(),
        })
    }

    /// Copies in the directions that may go on, from the tool and to the tool.
    fn copy_bytes(&mut self, (up, down): (bool, bool), buffer: &mut [u8]) {
        if up && self.up.copy_bytes(&self.tool, &self.server, buffer) {
            self.used = None;
            // The client is ours, and closes both directions at once. A server that computes an answer notices only then that nobody
            // waits for it.
            let _ = shutdown(self.server.as_raw_fd(), Shutdown::Both);
        }
        if down && self.down.copy_bytes(&self.server, &self.tool, buffer) {
            self.used = None;
            let _ = shutdown(self.tool.as_raw_fd(), Shutdown::Write);
        }
    }

    fn is_over(&self) -> bool {
        self.up.is_over && self.down.is_over
    }

    /// Watches each side for what its directions wait for.
    fn update_watch(&mut self, events: &OwnedFd, number: u64) -> rustix::io::Result<()> {
        let tool = watch_flags(self.up.awaits_bytes(), self.down.awaits_room());
        let server = watch_flags(self.down.awaits_bytes(), self.up.awaits_room());
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

fn watch_flags(awaits_bytes: bool, awaits_room: bool) -> EventFlags {
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

/// Direction of a pair.
#[derive(Default)]
struct CopyDirection {
    /// Bytes that the target did not take yet.
    kept: Vec<u8>,
    is_over: bool,
}

impl CopyDirection {
    fn awaits_bytes(&self) -> bool {
        !self.is_over && self.kept.is_empty()
    }

    fn awaits_room(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Reads once and writes what it can. Returns true if the direction has just ended.
    fn copy_bytes(&mut self, mut from: &TcpStream, to: &TcpStream, buffer: &mut [u8]) -> bool {
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
mod tests;
