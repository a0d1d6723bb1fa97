//! The listeners for the user's other devices, with TLS of the service itself.
//!
//! Owns: their addresses, and the places of each peer. Never: answers a request.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agentos_host::EffectError;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{MOST_TLS, RETRY_TIME, seat_connection};
use crate::connections::OpenConnections;
use crate::door::{Listener, ServiceDoor};
use crate::keyed_places::KeyedPlaces;

/// Most connections of one address at once. A browser opens six to one host.
const MOST_OF_PEER: usize = 8;
/// Longest time for the handshake of TLS.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Listens at the addresses of devices for which the service itself speaks TLS. Returns the lines about them for the user.
pub(super) async fn listen_for_devices(door: &Arc<ServiceDoor>) -> Result<Vec<String>, EffectError> {
    let places = door.devices();
    let Some(authority) = &places.authority else {
        return Ok(Vec::new());
    };
    let connections = OpenConnections::new(MOST_TLS);
    let peers = KeyedPlaces::new(MOST_OF_PEER);
    let mut lines = Vec::new();
    for (at, address) in places.addresses.iter().enumerate() {
        let Some(place) = &address.listens else {
            continue;
        };
        let config = authority.configure(address)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        match bind_own(place).await {
            Ok(listener) => {
                lines.push(format!("TLS   {}, for your other devices", address.origin));
                let door = Arc::clone(door);
                let places = (connections.clone(), peers.clone());
                tokio::spawn(accept_tls((listener, acceptor, at), door, places));
            }
            // The network of a device may come later, and everything else works without it.
            Err(error) => lines.push(format!(
                "TLS   no device reaches {}: cannot listen there: {error}",
                address.origin
            )),
        }
    }
    let new = if authority.is_new() { ", made now" } else { "" };
    lines.push(format!(
        "      SHA-256 of the authority of its certificates{new}: compare it on each device\n      {}",
        authority.fingerprint()
    ));
    Ok(lines)
}

/// Listens at one address of this machine.
///
/// # Errors
/// Fails if the address cannot be used, or means every address of the machine, however it is written.
async fn bind_own(place: &str) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(place).await?;
    // Looked at here and not as text: `0`, `[::0]` and a name of `/etc/hosts` mean every address too.
    if listener.local_addr()?.ip().to_canonical().is_unspecified() {
        let what = "it means every address of the machine; name the one that your devices reach";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(listener)
}

/// Accepts connections of other devices, for ever.
async fn accept_tls(
    (listener, acceptor, at): (TcpListener, TlsAcceptor, usize),
    door: Arc<ServiceDoor>,
    (connections, peers): (OpenConnections, KeyedPlaces<IpAddr>),
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Otherwise a stranger's handshakes could take the places of the devices.
                let Some(place) = peers.take(peer.ip().to_canonical()) else {
                    continue;
                };
                let _ = stream.set_nodelay(true);
                let acceptor = acceptor.clone();
                let handshake = async move {
                    let shaken = tokio::time::timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await;
                    // A device that does not trust the authority ends the handshake.
                    shaken.ok()?.ok()
                };
                seat_connection((handshake, place), Listener::Tls(at), &door, &connections).await;
            }
            Err(_) => tokio::time::sleep(RETRY_TIME).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_spelling_of_every_address_is_listened_at() {
        for (place, is_own) in [
            ("127.0.0.1:0", true),
            ("0.0.0.0:0", false),
            ("0:0", false),
            ("[::]:0", false),
            ("[::0]:0", false),
            ("[::ffff:0.0.0.0]:0", false),
        ] {
            assert_eq!(bind_own(place).await.is_ok(), is_own, "{place}");
        }
    }
}
