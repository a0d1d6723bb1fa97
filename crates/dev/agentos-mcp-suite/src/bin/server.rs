//! The server of the suite on loopback. Its first line of output is its address.
//!
//! Owns: the socket. Never: ends by itself.

use std::io::{self, Write as _};
use std::net::TcpListener;

use agentos_mcp::serve_handlers;
use agentos_mcp_suite::SuiteServer;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let address = listener.local_addr()?;
    let names = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", address.port()));
    let server = SuiteServer::default();
    let endpoint = serve_handlers(move || server.clone(), &names);
    writeln!(io::stdout(), "http://{address}/mcp")?;
    io::stdout().flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(endpoint.clone());
        tokio::spawn(async move {
            // A client that goes away ends its connection, and nothing else.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
