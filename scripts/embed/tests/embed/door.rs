//! A door in front of a server: shut until a test opens it.
//!
//! Owns: the order of what runs on several threads, without a clock. Never: looks at what passes.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A listener on loopback that accepts whoever comes, and is silent until it is opened. Its guests are sent away when it is dropped.
pub struct Door {
    address: SocketAddr,
    arrived: watch::Receiver<bool>,
    open: watch::Sender<bool>,
}

impl Door {
    /// Puts up a door. `None` leads nowhere.
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
                tokio::spawn(lead(guest, server, opened.clone()));
            }
        });
        Self {
            address,
            arrived,
            open,
        }
    }

    /// Returns the address to knock at.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until somebody has come.
    pub async fn wait_for_guest(&self) {
        let mut arrived = self.arrived.clone();
        arrived
            .wait_for(|is_there| *is_there)
            .await
            .expect("the door stands");
    }

    /// Lets everybody through, from now on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

async fn lead(mut guest: TcpStream, server: Option<SocketAddr>, mut opened: watch::Receiver<bool>) {
    // The door is gone, and the guest with it.
    if opened.wait_for(|is_open| *is_open).await.is_err() {
        return;
    }
    let Some(server) = server else { return };
    if let Ok(mut server) = TcpStream::connect(server).await {
        // Either side may hang up when it has what it wants.
        let _ = copy_bidirectional(&mut guest, &mut server).await;
    }
}
