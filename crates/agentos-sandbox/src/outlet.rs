//! The one way out of a confined process: a socket of ours that leads to one address.
//!
//! Owns: accepting, connecting and carrying bytes, outside. Never: connects to anything but the address it was made
//! for, whatever the tool sends.

use std::fs;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::SandboxError;
use crate::scratch::give;
use crate::stage::pump;

/// Connections from one socket to one address, as long as this value lives.
#[derive(Debug)]
pub struct Outlet {
    socket: PathBuf,
    closed: Arc<AtomicBool>,
}

impl Outlet {
    /// Opens the socket; every connection to it is carried to `host` and `port`.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn open(socket: &Path, host: &str, port: u16) -> Result<Self, SandboxError> {
        let failed = SandboxError::io;
        let listener = UnixListener::bind(socket).map_err(failed("open the tool's way to its server"))?;
        give(socket).map_err(failed("give the tool's way to its server to its user"))?;
        let outlet = Self {
            socket: socket.to_owned(),
            closed: Arc::default(),
        };
        let (closed, address) = (Arc::clone(&outlet.closed), (host.to_owned(), port));
        let serve = move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if closed.load(Ordering::Acquire) {
                    return;
                }
                let address = address.clone();
                // Too many at once: the connection is closed, and the tool sees that.
                let _ = thread::Builder::new().spawn(move || carry(&connection, &address));
            }
        };
        thread::Builder::new()
            .spawn(serve)
            .map_err(failed("serve the tool's way to its server"))?;
        Ok(outlet)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        // Wakes the thread, which then ends.
        let _ = UnixStream::connect(&self.socket);
        let _ = fs::remove_file(&self.socket);
    }
}

fn carry(tool: &UnixStream, address: &(String, u16)) {
    let connected: io::Result<TcpStream> = TcpStream::connect((address.0.as_str(), address.1));
    let Ok(server) = connected else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            pump(tool, &server);
            let _ = server.shutdown(Shutdown::Write);
        });
        pump(&server, tool);
        let _ = tool.shutdown(Shutdown::Write);
    });
}
