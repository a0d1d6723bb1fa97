//! Addresses on loopback where no connection comes to anything.
//!
//! Owns: their sockets. Never: reads or answers a byte.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::runtime::{Builder, Runtime};

/// How long a connection may take while the queue is not full.
const SOON: Duration = Duration::from_millis(500);

/// A port whose queue of connections is full: whoever connects next waits, until it is dropped.
#[derive(Debug)]
pub struct FullPort {
    address: SocketAddr,
    _runtime: Runtime,
    _listener: tokio::net::TcpListener,
    _queue: Vec<TcpStream>,
}

impl FullPort {
    /// Listens on a free port with the shortest queue there is, fills it, and accepts nobody.
    ///
    /// # Errors
    /// When there is no free port on loopback.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let listener = runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
            // The standard library's queue takes thousands.
            socket.listen(1)
        })?;
        let address = listener.local_addr()?;
        let queue = std::iter::from_fn(|| TcpStream::connect_timeout(&address, SOON).ok());
        Ok(Self {
            address,
            _queue: queue.take(64).collect(),
            _listener: listener,
            _runtime: runtime,
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// An address where each connection ends with a reset, until this process ends: it is closed with a request that nobody
/// has read.
///
/// # Errors
/// When there is no free port on loopback.
pub fn resetting() -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.peek(&mut [0; 1]);
        }
    });
    Ok(format!("http://{address}"))
}
