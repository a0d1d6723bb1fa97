//! A door in front of a server: a listener that forwards nothing until a test opens it.
//!
//! Owns: making runs on several threads wait for each other, without a clock. Never: reads the forwarded bytes.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A listener on loopback that accepts every connection and stays silent until it is opened. Dropping it closes the connections.
pub struct Door {
    address: SocketAddr,
    arrived: watch::Receiver<bool>,
    open: watch::Sender<bool>,
}

impl Door {
    /// Opens the listener, shut. With `None`, an opened door closes its connections instead of forwarding them.
    pub async fn shut(server: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("loopback has a port");
        let address = listener.local_addr().expect("a listener has an address");
        let (arriving, arrived) = watch::channel(false);
        let (open, opened) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((guest, _)) = listener.accept().await {
                arriving.send_replace(true);
                tokio::spawn(forward(guest, server, opened.clone()));
            }
        });
        Self {
            address,
            arrived,
            open,
        }
    }

    /// Returns the URL of the listener.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until a connection was accepted.
    pub async fn wait_for_guest(&self) {
        let mut arrived = self.arrived.clone();
        arrived
            .wait_for(|is_there| *is_there)
            .await
            .expect("the door stands");
    }

    /// Forwards all connections from now on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

/// Forwards one connection to the server once the door is open.
async fn forward(mut guest: TcpStream, server: Option<SocketAddr>, mut opened: watch::Receiver<bool>) {
    // The door was dropped, which closes the connection.
    if opened.wait_for(|is_open| *is_open).await.is_err() {
        return;
    }
    let Some(server) = server else { return };
    if let Ok(mut server) = TcpStream::connect(server).await {
        // Either side may close the connection when it has what it needs; that is no failure.
        let _ = copy_bidirectional(&mut guest, &mut server).await;
    }
}
