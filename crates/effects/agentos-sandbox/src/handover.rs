//! Hands the listening socket of a port inside the sandbox to the parent outside.
//!
//! A socket stays in the network that it was made in (network_namespaces(7)), so the parent accepts the tool's connections itself, and no
//! process inside carries their bytes.
//!
//! | step | who | what |
//! | --- | --- | --- |
//! | 1 | parent | listens on a socket in a folder that no tool sees |
//! | 2 | keeper, before the tool starts | opens the port, connects to that socket, sends the port's socket (unix(7), `SCM_RIGHTS`), and waits |
//! | 3 | parent | receives it, and answers when it is able to accept the tool's connections |
//! | 4 | keeper | goes on; without an answer nothing is started |
//! | 5 | parent | closes it when the outlet is dropped |
//!
//! Owns: the two messages between them. Never: accepts a connection.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Content of both messages. At least one byte must be sent with a descriptor (unix(7)).
const CONTENT: [u8; 1] = [0];
/// Time that a keeper has for its message, which it sends at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends the socket of a port to the parent that listens at `socket`, and waits until it accepts connections.
///
/// # Errors
/// If nobody listens there, or the parent cannot take it.
pub(crate) fn give_listener(socket: &Path, port: &TcpListener) -> io::Result<()> {
    let mut parent = UnixStream::connect(socket)?;
    let descriptors = [port.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(
        &parent,
        &[IoSlice::new(&CONTENT)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    parent.read_exact(&mut [0])
}

/// Answers the keeper: connections are accepted from now on.
///
/// # Errors
/// If the keeper has gone.
pub(crate) fn confirm_listener(mut keeper: &UnixStream) -> io::Result<()> {
    keeper.write_all(&CONTENT)
}

/// Receives the socket of a port from the keeper.
///
/// # Errors
/// If the keeper has gone, or sent none.
pub(crate) fn take_listener(keeper: &UnixStream) -> io::Result<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut content = CONTENT;
    keeper.set_read_timeout(Some(PATIENCE))?;
    recvmsg(
        keeper,
        &mut [IoSliceMut::new(&mut content)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptor
        .map(TcpListener::from)
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Opens a port and hands it over, as the keeper does. Returns its address.
#[cfg(test)]
pub(crate) fn give_new_port(socket: &Path) -> std::net::SocketAddr {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    give_listener(socket, &port).unwrap();
    port.local_addr().unwrap()
}

/// Connects to a port, as the tool does.
#[cfg(test)]
pub(crate) fn connect_port(port: std::net::SocketAddr) -> std::net::TcpStream {
    let within = std::time::Duration::from_secs(10);
    crate::connect_host(&port.ip().to_string(), port.port(), within).unwrap()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn the_parent_accepts_on_the_port_after_the_keeper_has_closed_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let parent = UnixListener::bind(&socket).unwrap();
        let taking = thread::spawn(move || {
            let keeper = parent.accept().unwrap().0;
            let taken = take_listener(&keeper).unwrap();
            confirm_listener(&keeper).unwrap();
            taken
        });
        let address = give_new_port(&socket);
        let taken = taking.join().unwrap();
        assert_eq!(taken.local_addr().unwrap(), address);
        let tool = connect_port(address);
        assert_eq!(taken.accept().unwrap().1, tool.local_addr().unwrap());
    }

    #[test]
    fn a_parent_that_cannot_take_the_port_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let parent = UnixListener::bind(&socket).unwrap();
        let taking = thread::spawn(move || drop(take_listener(&parent.accept().unwrap().0)));
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(give_listener(&socket, &port).is_err());
        taking.join().unwrap();
    }

    #[test]
    fn a_keeper_that_sends_no_port_is_an_error() {
        let (keeper, parent) = UnixStream::pair().unwrap();
        (&keeper).write_all(b"x").unwrap();
        assert!(take_listener(&parent).is_err());
        drop(keeper);
        assert!(take_listener(&parent).is_err());
    }
}
