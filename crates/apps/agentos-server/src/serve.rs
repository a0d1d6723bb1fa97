//! The service: its socket, its connections and its end.
//!
//! Owns: the limits on connections. Never: listens where another machine can connect.
//!
//! | limit | against |
//! |---|---|
//! | 10 s for a request's head, also between two requests | clients that send a byte at a time, and idle sockets |
//! | 60 s for a request's body | bodies that never end |
//! | 512 connections; another one takes the place of the one that is idle for longest | floods, and thousands of idle sockets |

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_host::{EffectError, Host, ServiceAddress};
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::access::{ServiceAccess, SessionKind};
use crate::args::ServerArgs;
use crate::connections::{ConnectionSeat, OpenConnections};
use crate::desk::ServiceDesk;
use crate::routes::make_routes;
use crate::timed_body::TimedBody;

/// Longest time for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Longest time for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(60);
/// Most connections at once.
const MOST_CONNECTIONS: usize = 512;
/// Largest head of a request.
const LARGEST_HEAD: usize = 64 << 10;
/// Pause after a connection could not be accepted.
const RETRY_TIME: Duration = Duration::from_millis(50);
/// Longest wait for open work at the end.
const END_TIME: Duration = Duration::from_secs(5);

/// Name for the link of a page. Cookies of `127.0.0.1` are sent to every service of this machine, whatever its port; browsers know
/// that names below `localhost` are this machine (RFC 6761), and send the cookies of this one nowhere else. Safari asks the system.
const PAGE_NAME: &str = if cfg!(target_os = "macos") {
    "127.0.0.1"
} else {
    "agentos.localhost"
};

/// Listener on a Unix socket.
#[cfg(unix)]
type LocalListener = tokio::net::UnixListener;
/// Listener that a system without Unix sockets never has.
#[cfg(not(unix))]
type LocalListener = Infallible;

/// Failure of the service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The address can be reached from other machines.
    #[error("`{0}` can be reached from other machines; listen on 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The address is in use, or not allowed.
    #[error("cannot listen on {0}: {1}; name another address with `--listen`, as in `--listen 127.0.0.1:0`")]
    Listen(SocketAddr, #[source] io::Error),
    /// A service of this user listens there already.
    #[error("a service runs on {address} already, for `{}`: `agentos open` opens its page", .repository.display())]
    Running {
        /// Address.
        address: SocketAddr,
        /// Repository of that service.
        repository: PathBuf,
    },
    /// The Unix socket cannot be made.
    #[error("cannot listen on `{}`: {source}", .path.display())]
    Socket {
        /// Place of the socket.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The runtime cannot be started.
    #[error("cannot start the service: {0}")]
    Runtime(#[source] io::Error),
    /// The host refused.
    #[error("{}", .0.message)]
    Host(#[from] EffectError),
}

impl ServiceError {
    /// Returns the exit status.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotLoopback(_)
            | Self::Running { .. }
            | Self::Listen(..)
            | Self::Socket { .. }
            | Self::Runtime(_) => 2,
            Self::Host(error) => agentos_api::ExitStatus::from(error.cause) as u8,
        }
    }
}

/// Serves until a signal ends the service.
///
/// # Errors
/// If the service cannot begin.
pub fn run_service(host: &Host, args: &ServerArgs) -> Result<(), ServiceError> {
    if !args.listen.ip().is_loopback() {
        return Err(ServiceError::NotLoopback(args.listen));
    }
    // Before anything listens: a folder that is no repository is a slip of the caller.
    host.open_requests()?;
    let token = host.service_token(args.new_token)?;
    let agent_token = host.agent_token(args.new_token)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Handlers only wait; the host's work is on the threads that may block.
        .worker_threads(1)
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .map_err(ServiceError::Runtime)?;
    let served = runtime.block_on(serve(host, args, ServiceAccess::new(&token, &agent_token)));
    host.retract_service();
    // Streams of events never end by themselves.
    runtime.shutdown_timeout(END_TIME);
    served
}

async fn serve(host: &Host, args: &ServerArgs, access: ServiceAccess) -> Result<(), ServiceError> {
    let failed = |error| explain_listen(host, args.listen, error);
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let code = access.make_code(SessionKind::Usual)?;
    let folder = host.repository_dir();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let page_host = if address.is_ipv4() { PAGE_NAME } else { "[::1]" };
    let desk = Arc::new(ServiceDesk::new(
        host.clone(),
        access,
        format!("http://{page_host}:{}/signin#", address.port()),
        name.unwrap_or_else(|| folder.display().to_string()),
        args.policies.clone(),
    ));
    let socket = bind_socket(host)?;
    host.announce_service(&ServiceAddress {
        version: 1,
        url: format!("http://{address}"),
        socket: socket.as_ref().map(|(_, path)| path.clone()),
        process: std::process::id(),
        repository: folder,
    })?;
    let folder = host.service_folder()?;
    let shorten = |name: &str| host.environment().shorten_below_home(&folder.join(name));
    let greeting = format!(
        "page  {}{}\nAPI   http://{address}/api, with the token of {}\nMCP   http://{address}/mcp, with the token of {}; it can propose and not approve\n\
         The link signs one browser in, once. Ctrl-C ends the service.",
        desk.sign_in_link,
        code.expose(),
        shorten("token"),
        shorten("agent-token"),
    );
    // A closed standard output must not stop a service that others use.
    let _ = writeln!(io::stdout(), "{greeting}");
    let _ = io::stdout().flush();
    drop(greeting);
    let connections = OpenConnections::new(MOST_CONNECTIONS);
    if let Some((socket, _)) = socket {
        // Programs name any host there; browsers cannot reach it.
        let routes = make_routes(Arc::clone(&desk), vec!["localhost".to_owned()]);
        tokio::spawn(accept_local(socket, routes, connections.clone()));
    }
    let routes = make_routes(desk, own_names(address));
    tokio::select! {
        () = accept_all(listener, routes, connections) => {}
        () = await_signal() => {}
    }
    Ok(())
}

/// Makes the error of an address on which nothing can listen.
fn explain_listen(host: &Host, address: SocketAddr, error: io::Error) -> ServiceError {
    let running = host.find_service().ok().flatten();
    match running.filter(|running| running.url == format!("http://{address}")) {
        Some(running) if error.kind() == io::ErrorKind::AddrInUse => ServiceError::Running {
            address,
            repository: running.repository,
        },
        Some(_) | None => ServiceError::Listen(address, error),
    }
}

/// Binds the Unix socket, to which only files of this user lead. `None` where there are none, or its path would be too long.
#[cfg(unix)]
fn bind_socket(host: &Host) -> Result<Option<(LocalListener, PathBuf)>, ServiceError> {
    let Some(path) = host.prepare_service_socket()? else {
        tracing::warn!("the folder of the service's files has too long a path for a Unix socket");
        return Ok(None);
    };
    match LocalListener::bind(&path) {
        Ok(listener) => Ok(Some((listener, path))),
        Err(source) => Err(ServiceError::Socket { path, source }),
    }
}

/// Binds no Unix socket: this system has none that tokio knows.
#[cfg(not(unix))]
fn bind_socket(_host: &Host) -> Result<Option<(LocalListener, PathBuf)>, ServiceError> {
    Ok(None)
}

/// Returns the values of Host that mean this service.
fn own_names(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let names = ["127.0.0.1", "localhost", "agentos.localhost", "[::1]"];
    let mut own: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    // Browsers leave out the usual port of HTTP.
    if port == 80 {
        own.extend(names.map(str::to_owned));
    }
    // Another address of loopback, as `127.0.0.2`, is an own name as well.
    let itself = address.to_string();
    if !own.contains(&itself) {
        own.push(itself);
    }
    own
}

/// Accepts connections of the network, for ever.
async fn accept_all(listener: TcpListener, routes: axum::Router, connections: OpenConnections) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Otherwise a stream of small pieces waits 40 ms for each acknowledgement (Nagle and delayed ACK).
                let _ = stream.set_nodelay(true);
                seat_connection(stream, &routes, &connections).await;
            }
            // No descriptor is free, as a rule. The next one that closes makes room.
            Err(_) => tokio::time::sleep(RETRY_TIME).await,
        }
    }
}

/// Accepts connections of the Unix socket, for ever.
#[cfg(unix)]
async fn accept_local(listener: LocalListener, routes: axum::Router, connections: OpenConnections) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => seat_connection(stream, &routes, &connections).await,
            Err(_) => tokio::time::sleep(RETRY_TIME).await,
        }
    }
}

/// Accepts nothing: there is no such listener here.
#[cfg(not(unix))]
async fn accept_local(listener: LocalListener, _routes: axum::Router, _connections: OpenConnections) {
    match listener {}
}

/// Serves a connection as soon as there is room for it. Further ones wait meanwhile in the system's queue.
async fn seat_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    routes: &axum::Router,
    connections: &OpenConnections,
) {
    let seat = loop {
        match connections.admit() {
            Some(seat) => break seat,
            None => tokio::time::sleep(RETRY_TIME).await,
        }
    };
    let routes = routes.clone();
    tokio::spawn(async move {
        tokio::select! {
            // First, so that no request begins on a connection that has lost its place.
            biased;
            () = seat.await_leave() => {}
            () = serve_connection(stream, routes, &seat) => {}
        }
    });
    // A new connection reads its request before others can take its place.
    tokio::task::yield_now().await;
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    routes: axum::Router,
    seat: &ConnectionSeat,
) {
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(|request: Request<Incoming>| {
        let held = seat.hold_request();
        let response = routes.call(request.map(|body| TimedBody::new(body, BODY_TIME)));
        async {
            let held = held.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionAborted))?;
            let Ok(response) = response.await;
            Ok::<_, io::Error>(response.map(|body| held.hold_body(body)))
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A client that goes away, or speaks no HTTP, is its own affair.
    if let Err(error) = served {
        tracing::debug!(%error, "connection ended");
    }
}

/// Waits for a signal to end.
async fn await_signal() {
    let interrupt = async {
        // A system without signals is ended in another way.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<Infallible>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = async {
            match signal(SignalKind::terminate()) {
                Ok(mut signal) => {
                    signal.recv().await;
                }
                Err(_) => {
                    std::future::pending::<Infallible>().await;
                }
            }
        };
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
    #[cfg(not(unix))]
    interrupt.await;
}
