//! Connects to a host within a time limit.
//!
//! Owns: which of its addresses is tried when. Never: decides which hosts are allowed.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Time that one address gets before the next one is tried.
const HEAD_START: Duration = Duration::from_millis(300);

/// Reason why a host cannot be reached.
#[derive(Debug)]
pub enum ConnectFailure {
    /// The name has no address. Holds the system's error.
    UnknownHost(io::Error),
    /// Nobody accepts connections there. Holds the system's error.
    Refused(io::Error),
    /// Nobody answered in time.
    TooLate,
}

/// Connects to a host within a time limit.
///
/// # Errors
/// If the name cannot be resolved, the connection is refused, or the time is over.
pub fn connect_host(host: &str, port: u16, within: Duration) -> Result<TcpStream, ConnectFailure> {
    use std::net::ToSocketAddrs;
    let (there, wanted) = mpsc::channel();
    let host = host.to_owned();
    let look = move || {
        let found = (host.as_str(), port).to_socket_addrs();
        let done = found.map_err(ConnectFailure::UnknownHost);
        // The caller has given up by then.
        let _ = there.send(done.and_then(|addresses| connect_first(addresses, within)));
    };
    // A name lookup cannot be cancelled: its thread is left alone when the time is over.
    let begun = thread::Builder::new().spawn(look);
    begun.map_err(ConnectFailure::Refused)?;
    wanted
        .recv_timeout(within)
        .unwrap_or(Err(ConnectFailure::TooLate))
}

/// Returns the first connection to any of these addresses. The next address is tried when one has failed, or has not
/// answered for a while (RFC 8305): a machine may have an address in a network that leads nowhere.
fn connect_first(
    mut addresses: impl Iterator<Item = SocketAddr>,
    within: Duration,
) -> Result<TcpStream, ConnectFailure> {
    let (there, done) = mpsc::channel();
    let nobody = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let (mut open, mut why) = (0_usize, ConnectFailure::Refused(nobody));
    loop {
        let next = addresses.next();
        let wait = if next.is_some() { HEAD_START } else { within };
        if let Some(address) = next {
            let there = there.clone();
            let begun = thread::Builder::new().spawn(move || {
                // Another address may have answered first.
                let _ = there.send(TcpStream::connect_timeout(&address, within));
            });
            open += usize::from(begun.is_ok());
        } else if open == 0 {
            return Err(why);
        }
        match done.recv_timeout(wait) {
            Ok(Ok(server)) => return Ok(server),
            Ok(Err(error)) => {
                open -= 1;
                why = match (error.kind(), why) {
                    (io::ErrorKind::TimedOut, _) | (_, ConnectFailure::TooLate) => ConnectFailure::TooLate,
                    (_, ConnectFailure::Refused(_) | ConnectFailure::UnknownHost(_)) => {
                        ConnectFailure::Refused(error)
                    }
                };
            }
            Err(_) if wait == HEAD_START => {}
            Err(_) => return Err(ConnectFailure::TooLate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_reached_at_the_first_of_its_addresses_that_takes_connections() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let within = Duration::from_secs(10);
        let reached = connect_first([closed, closed, there].into_iter(), within).unwrap();
        assert_eq!(reached.peer_addr().unwrap(), there);
        let refused = connect_first([closed, closed].into_iter(), within).unwrap_err();
        assert!(
            matches!(&refused, ConnectFailure::Refused(why) if why.kind() == io::ErrorKind::ConnectionRefused),
            "{refused:?}"
        );
        // Too long for a name (RFC 1035), so that nobody is asked.
        let unknown = connect_host(&format!("{}.invalid", "x".repeat(64)), 80, within).unwrap_err();
        assert!(matches!(unknown, ConnectFailure::UnknownHost(_)), "{unknown:?}");
    }
}
