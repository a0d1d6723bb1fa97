//! A fake server on loopback that speaks TLS with a certificate that nobody trusts.
//!
//! Owns: its sockets and threads. Never: gets as far as an answer: who checks the certificate hangs up, and who speaks
//! plain HTTP gets an alert of TLS.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Signed by itself, for `localhost` and 127.0.0.1, good until 2126; made with `openssl req -x509` from the key below.
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/tls/localhost.der");
/// The head of an Ed25519 key in PKCS #8 (RFC 8410). The key that follows is 32 bytes of 7: no secret.
const KEY_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// A running server. Stopped when dropped.
pub struct TlsServer {
    port: u16,
    stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl TlsServer {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When there is no free port on loopback, or the certificate cannot be used.
    pub fn start() -> io::Result<Self> {
        let config = Arc::new(config().map_err(io::Error::other)?);
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let config = Arc::clone(&config);
                std::thread::spawn(move || serve(stream, config));
            }
        });
        Ok(Self {
            port,
            stopping,
            accepting: Some(accepting),
        })
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which looks at the flag first.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn config() -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from([&KEY_HEAD[..], &[7; 32]].concat()));
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
}

/// Performs handshakes until the other side hangs up. Errors are sent as alerts of TLS.
fn serve(mut stream: TcpStream, config: Arc<ServerConfig>) {
    if let Ok(mut connection) = ServerConnection::new(config) {
        while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
    }
    let _ = stream.shutdown(Shutdown::Both);
}
