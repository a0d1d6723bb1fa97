//! Connections to a server that are made before a confined process asks for them.
//!
//! Owns: which of them is used, and that one which the server has closed is not. Never: makes one.

#[cfg(target_os = "linux")]
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections to one host: those that were made before anybody needs them, and the number of those in use. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ReadyConnections {
    waiting: Arc<Mutex<Vec<TcpStream>>>,
    used: OpenConnections,
}

/// Number of open connections. Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenConnections(Arc<AtomicUsize>);

impl OpenConnections {
    pub(crate) fn count_open(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Counts a connection as open.
    #[cfg(target_os = "linux")]
    pub(crate) fn add_connection(&self) -> CountedConnection {
        self.0.fetch_add(1, Ordering::AcqRel);
        CountedConnection(self.clone())
    }
}

/// Connection that counts as open until this value is dropped.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct CountedConnection(OpenConnections);

#[cfg(target_os = "linux")]
impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ReadyConnections {
    /// Adds a connection.
    pub fn add_connection(&self, connection: TcpStream) {
        self.lock().push(connection);
    }

    /// Closes the oldest connections, so that at most `most` are left.
    pub fn keep_newest(&self, most: usize) {
        let mut ready = self.lock();
        let surplus = ready.len().saturating_sub(most);
        ready.drain(..surplus);
    }

    /// Returns the number of connections in use that neither side has closed. A client that keeps its connections has an idle one if
    /// there are more of them than its requests.
    #[must_use]
    pub fn count_open(&self) -> usize {
        self.used.count_open()
    }

    /// Counts a connection as in use.
    #[cfg(target_os = "linux")]
    pub(crate) fn begin_use(&self) -> CountedConnection {
        self.used.add_connection()
    }

    /// Takes the newest connection that the server has not closed. `None` if there is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn take_open(&self) -> Option<TcpStream> {
        loop {
            let connection = self.lock().pop()?;
            if is_open(&connection) {
                return Some(connection);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if the other side has not closed the connection. A server may close one that waited too long.
#[cfg(target_os = "linux")]
fn is_open(connection: &TcpStream) -> bool {
    let is_open = match connection
        .set_nonblocking(true)
        .and_then(|()| connection.peek(&mut [0]))
    {
        Ok(count) => count > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    is_open && connection.set_nonblocking(false).is_ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::handover::{connect_port, give_new_port};
    use crate::{NetworkOutlet, connect_host};

    #[test]
    fn a_ready_connection_is_used_once_and_not_if_the_server_has_closed_it() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let connect = || {
            let within = std::time::Duration::from_secs(10);
            let ready = connect_host("127.0.0.1", address.port(), within).unwrap();
            (ready, server.accept().unwrap().0)
        };
        let (ready, (first, _open)) = (ReadyConnections::default(), connect());
        let (second, closed) = connect();
        let name = first.local_addr().unwrap();
        ready.add_connection(first);
        // Read to its end, so that the close has arrived.
        drop(closed);
        second.peek(&mut [0]).unwrap();
        ready.add_connection(second);
        let taken = ready.take_open().map(|open| open.local_addr().unwrap());
        assert_eq!(taken, Some(name));
        assert!(ready.take_open().is_none());
    }

    #[test]
    fn a_connection_counts_as_open_until_either_side_has_closed_it() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let way = ("127.0.0.1", server.local_addr().unwrap().port());
        let ready = ReadyConnections::default();
        let _outlet = NetworkOutlet::open_with_ready(&socket, way, &ready).unwrap();
        let port = give_new_port(&socket);
        let connect = || {
            let mut client = connect_port(port);
            let (mut there, _) = server.accept().unwrap();
            // When a byte has come through both ways, the connection is joined and counted.
            client.write_all(b"x").unwrap();
            there.read_exact(&mut [0]).unwrap();
            there.write_all(b"y").unwrap();
            client.read_exact(&mut [0]).unwrap();
            (client, there)
        };
        let (mut one, there_one) = connect();
        let (two, mut there_two) = connect();
        assert_eq!(ready.count_open(), 2);
        drop(there_one);
        assert_eq!(one.read(&mut [0]).unwrap(), 0, "the end has come through");
        assert_eq!(ready.count_open(), 1);
        drop(two);
        assert_eq!(there_two.read(&mut [0]).unwrap(), 0);
        assert_eq!(ready.count_open(), 0);
    }

    #[test]
    fn a_server_sees_that_the_client_hung_up_before_the_answer() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let way = ("127.0.0.1", server.local_addr().unwrap().port());
        let ready = ReadyConnections::default();
        let _outlet = NetworkOutlet::open_with_ready(&socket, way, &ready).unwrap();
        let client = connect_port(give_new_port(&socket));
        let (mut there, _) = server.accept().unwrap();
        drop(client);
        assert_eq!(there.read(&mut [0]).unwrap(), 0);
        // Both directions are closed: what is written is answered by a reset, and nothing waits for it.
        while there.write_all(b"x").is_ok() {}
    }
}
