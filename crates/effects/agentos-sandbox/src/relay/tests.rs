//! Connections through the loop: all bytes in their order, slow sides, ends and limits.

use std::net::SocketAddr;
use std::thread;

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
        let outlet = NetworkOutlet::open_with_ready(&socket, way, &ReadyConnections::default()).unwrap();
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

#[test]
fn a_tool_that_opens_too_many_connections_waits_and_those_that_are_open_are_served() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap();
    let (relay, sender) = RelayLoop::new(listener, 2).unwrap();
    let (servers, connected) = channel();
    // Ends with the test's process: there is nothing that closes it.
    thread::spawn(move || {
        let ready = ReadyConnections::default();
        let join = |tool, counted| {
            let there = TcpListener::bind("127.0.0.1:0").unwrap();
            let server = connect_port(there.local_addr().unwrap());
            servers.send(there.accept().unwrap().0).unwrap();
            let used = ready.begin_use();
            sender.send_joined(JoinedConnections {
                tool,
                server,
                used,
                counted,
            });
        };
        relay.run(|| false, join);
    });
    let mut tools: Vec<TcpStream> = (0..3).map(|_| connect_port(port)).collect();
    let mut open: Vec<TcpStream> = connected.iter().take(2).collect();
    // Many times the pause.
    for _ in 0..2_000 {
        for (tool, server) in tools.iter_mut().zip(&mut open) {
            tool.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
        }
        assert!(connected.try_recv().is_err(), "a third one is open");
    }
    drop(tools.remove(0));
    let mut third = connected.recv().unwrap();
    tools[1].write_all(b"y").unwrap();
    third.read_exact(&mut [0]).unwrap();
}
