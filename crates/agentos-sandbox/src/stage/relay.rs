//! The process's own loopback, and the ports of it that lead to the parent.
//!
//! Owns: bringing the loopback up and carrying bytes from a port to the parent's socket. Never: connects to anything
//! but that socket.

use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use super::pump;
use crate::order::Forward;

/// A port that is open and the socket it leads to.
pub(super) struct Door {
    port: TcpListener,
    socket: PathBuf,
}

/// Interface 1 of a network namespace is its loopback; it begins switched off.
pub(super) fn loopback_up() -> Result<(), String> {
    let failed = |error: nix::Error| format!("no loopback of its own: {error}");
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )
    .map_err(failed)?;
    send(netlink.as_raw_fd(), &switch_on(), MsgFlags::empty()).map_err(failed)?;
    let mut answer = [0; 64];
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty()).map_err(failed)?;
    // An acknowledgement is an error message (rtnetlink(7)) whose number, after the header, is 0.
    match answer.get(..length).and_then(|answer| answer.get(16..20)) {
        Some([0, 0, 0, 0]) => Ok(()),
        _ => Err("the loopback cannot be switched on".to_owned()),
    }
}

/// `RTM_NEWLINK` for interface 1 with `IFF_UP`: a `nlmsghdr` and an `ifinfomsg`, as rtnetlink(7) lays them out.
fn switch_on() -> Vec<u8> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    // Family and padding, type, index, flags, mask of the flags that change.
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message
}

/// Opens the ports.
pub(super) fn listen(forwards: &[Forward]) -> Result<Vec<Door>, String> {
    let open = |forward: &Forward| {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, forward.port))
            .map_err(|error| format!("port {} cannot be opened inside: {error}", forward.port))?;
        Ok(Door {
            port,
            socket: forward.socket.clone(),
        })
    };
    forwards.iter().map(open).collect()
}

/// Serves each port on a thread of its own.
pub(super) fn serve(doors: Vec<Door>) -> Result<(), String> {
    for door in doors {
        thread::Builder::new()
            .spawn(move || accept(&door))
            .map_err(|error| format!("a port cannot be served: {error}"))?;
    }
    Ok(())
}

fn accept(door: &Door) {
    for connection in door.port.incoming().map_while(Result::ok) {
        let Ok(parent) = UnixStream::connect(&door.socket) else {
            continue;
        };
        // Too many at once: this one is dropped, and the tool sees a closed connection.
        let _ = thread::Builder::new().spawn(move || carry(&connection, &parent));
    }
}

fn carry(connection: &TcpStream, parent: &UnixStream) {
    thread::scope(|scope| {
        scope.spawn(|| {
            pump(connection, parent);
            let _ = parent.shutdown(Shutdown::Write);
        });
        pump(parent, connection);
        let _ = connection.shutdown(Shutdown::Write);
    });
}
