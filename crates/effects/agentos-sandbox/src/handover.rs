//! Hands the listening socket of a port inside the sandbox to the parent outside.
//!
//! A socket stays in the network that it was made in (network_namespaces(7)), so the parent accepts the tool's connections itself, and no
//! process inside carries their bytes.
//!
//! | step | who | what |
//! | --- | --- | --- |
//! | 1 | parent | listens on a socket in a folder that no tool sees |
//! | 2 | keeper, before the tool starts | opens the port, connects to that socket, sends the port's socket (unix(7), `SCM_RIGHTS`), and closes both |
//! | 3 | parent | receives it, accepts the tool's connections on it, and closes it when the outlet is dropped |
//!
//! Owns: the one message between them. Never: accepts a connection.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Content of the message. At least one byte must be sent with a descriptor (unix(7)).
const CONTENT: [u8; 1] = [0];

/// Sends the socket of a port to the parent that listens at `socket`.
///
/// # Errors
/// If nobody listens there, or the message cannot be sent.
pub(crate) fn give_listener(socket: &Path, port: &TcpListener) -> io::Result<()> {
    let parent = UnixStream::connect(socket)?;
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
    Ok(())
}

/// Receives the socket of a port from the keeper.
///
/// # Errors
/// If the keeper has gone, or sent none.
pub(crate) fn take_listener(keeper: &UnixStream) -> io::Result<TcpListener> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut content = CONTENT;
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
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_parent_accepts_on_the_port_after_the_keeper_has_closed_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.sock");
        let parent = UnixListener::bind(&socket).unwrap();
        let address = give_new_port(&socket);
        let taken = take_listener(&parent.accept().unwrap().0).unwrap();
        assert_eq!(taken.local_addr().unwrap(), address);
        let tool = connect_port(address);
        assert_eq!(taken.accept().unwrap().1, tool.local_addr().unwrap());
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
