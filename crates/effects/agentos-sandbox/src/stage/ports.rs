//! The process's own network, and its ports that lead to the parent.
//!
//! Owns: switching the loopback on, giving it addresses, and opening ports there, which the parent gets. Never: connects to anything but
//! the parent's sockets, whose folder the tool can neither see nor write.

use std::fs::File;
use std::net::{IpAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use nix::unistd::{chdir, fchdir};

use crate::handover::give_listener;
use crate::launch_spec::{LaunchSpec, PortForward};

/// Index of the loopback, the first interface of every network namespace. It starts switched off.
const LOOPBACK: u32 = 1;

/// Switches the loopback on.
pub(super) fn loopback_up() -> Result<(), String> {
    match request_change(&switch_on()) {
        Ok(true) => Ok(()),
        Ok(false) => Err("the loopback cannot be switched on".to_owned()),
        Err(error) => Err(format!("the loopback inside cannot be configured: {error}")),
    }
}

/// Asks the kernel to change this namespace's network. Returns true if it did.
fn request_change(message: &[u8]) -> Result<bool, nix::Error> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    send(netlink.as_raw_fd(), message, MsgFlags::empty())?;
    let mut answer = [0; 64];
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // An acknowledgement is an error message (rtnetlink(7)) whose number, after the header, is 0.
    Ok(matches!(
        answer.get(..length).and_then(|answer| answer.get(16..20)),
        Some([0, 0, 0, 0])
    ))
}

/// Builds a request with this type and body after a `nlmsghdr` (netlink(7)).
fn netlink_message(kind: u16, more_flags: u16, body: &[u8]) -> Vec<u8> {
    const REQUEST_AND_ACK: u16 = 1 | 4;
    let length = u32::try_from(16 + body.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(16 + body.len());
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST_AND_ACK | more_flags).to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(body);
    message
}

/// Builds `RTM_NEWLINK` with an `ifinfomsg` that sets `IFF_UP` (rtnetlink(7)).
fn switch_on() -> Vec<u8> {
    const NEW_LINK: u16 = 16;
    const UP: u32 = 1;
    let mut body = Vec::with_capacity(16);
    // Family and padding, type, index, flags, mask of the flags that change.
    body.extend([0; 4]);
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(UP.to_ne_bytes());
    body.extend(UP.to_ne_bytes());
    netlink_message(NEW_LINK, 0, &body)
}

/// Builds `RTM_NEWADDR` with an `ifaddrmsg` and the address as its two attributes (rtnetlink(7)).
fn take_address(address: IpAddr) -> Vec<u8> {
    const NEW_ADDRESS: u16 = 20;
    const CREATE: u16 = 0x400;
    // IFA_ADDRESS and IFA_LOCAL.
    const ATTRIBUTES: [u16; 2] = [1, 2];
    // Duplicate address detection is pointless: nobody else is in this network.
    const NO_DUPLICATES_LOOKED_FOR: u8 = 2;
    let (family, bytes) = match address {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let bits = u8::try_from(bytes.len() * 8).unwrap_or(u8::MAX);
    let family = u8::try_from(family).unwrap_or_default();
    let mut body = vec![family, bits, NO_DUPLICATES_LOOKED_FOR, 0];
    body.extend(LOOPBACK.to_ne_bytes());
    for kind in ATTRIBUTES {
        let length = u16::try_from(4 + bytes.len()).unwrap_or_default();
        body.extend(length.to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(&bytes);
    }
    netlink_message(NEW_ADDRESS, CREATE, &body)
}

/// Opens the folder of the parent's sockets before the old root is left. Returns `None` if the spec names no socket.
///
/// # Errors
/// If the sockets of one spec lie in two folders, or the folder cannot be opened.
#[expect(
    clippy::disallowed_methods,
    reason = "a folder of ours, before the tool begins"
)]
pub(super) fn open_socket_folder(spec: &LaunchSpec) -> Result<Option<File>, String> {
    let forwards = spec.forwards.iter().map(|forward| forward.socket.as_path());
    let mut folders = forwards.chain(spec.refusals.as_deref()).filter_map(Path::parent);
    let Some(folder) = folders.next() else {
        return Ok(None);
    };
    if folders.any(|other| other != folder) {
        return Err("the sockets of one launch spec lie in two folders".to_owned());
    }
    let opened = File::open(folder);
    opened
        .map(Some)
        .map_err(|error| format!("cannot open `{}`: {error}", folder.display()))
}

/// Makes the folder of the sockets the current one, so that each socket is named by the last part of its path. The
/// tool cannot name that folder: it is mounted nowhere in its root, and this process is not dumpable. A socket's
/// whole path would often be longer than its address may be, 108 bytes (unix(7)).
pub(super) fn enter_socket_folder(folder: &File) -> Result<(), String> {
    fchdir(folder).map_err(|error| format!("cannot go to the folder of the sockets: {error}"))
}

/// Makes the root the current folder, when no socket is needed any more.
pub(super) fn leave_socket_folder() -> Result<(), String> {
    chdir("/").map_err(|error| format!("cannot leave the folder of the sockets: {error}"))
}

/// Opens the ports, and hands each to the parent, which accepts the tool's connections. The folder of the sockets is the current one.
///
/// # Errors
/// If a port cannot be opened, or the parent does not take it.
pub(super) fn give_ports(forwards: &[PortForward]) -> Result<(), String> {
    for forward in forwards {
        let (address, number) = (forward.address, forward.port);
        if !address.is_loopback() && !matches!(request_change(&take_address(address)), Ok(true)) {
            return Err(format!(
                "the address {address} cannot be added to the network inside"
            ));
        }
        let port = TcpListener::bind((address, number))
            .map_err(|error| format!("port {number} cannot be opened inside: {error}"))?;
        let socket = forward
            .socket
            .file_name()
            .map(Path::new)
            .unwrap_or(&forward.socket);
        give_listener(socket, &port)
            .map_err(|error| format!("port {number} cannot be handed to the parent: {error}"))?;
    }
    Ok(())
}
