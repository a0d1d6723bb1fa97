//! The service: its socket, its connections and its end.
//!
//! Owns: the limits on connections. Never: listens where another machine can connect, except with TLS at the addresses that the user names for
//! their other devices.
//!
//! | limit | against |
//! |---|---|
//! | 10 s for a request's head, also between two requests | clients that send a byte at a time, and idle sockets |
//! | 60 s for a request's body, 5 s if its author is not known | bodies that never end |
//! | 512 connections of the network, 64 of the Unix socket, 64 over TLS and 8 of them from one address; another one takes the place of the one that is idle for longest | floods, and thousands of idle sockets |

use std::convert::Infallible;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_host::{EffectError, Host, JoinOrder, ServiceAddress, ServiceLink, ServiceToken};
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};

use crate::args::ServerArgs;
use crate::connections::{ConnectionSeat, OpenConnections};
use crate::door::{Listener, ServiceDoor};

mod devices;

use self::devices::listen_for_devices;

/// Longest time for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Most threads for work that may block: one for each connection, and for each place of the lanes. The system makes them as they are
/// needed.
const MOST_THREADS: usize = MOST_CONNECTIONS + MOST_LOCAL + MOST_TLS + 64;
/// Most threads for the tools of agents.
const MOST_AGENT_THREADS: usize = 12;
/// Most connections of the network at once.
const MOST_CONNECTIONS: usize = 512;
/// Most connections of the Unix socket at once.
const MOST_LOCAL: usize = 64;
/// Most connections over TLS at once. They are counted apart, so that other machines take no place of this machine's programs.
const MOST_TLS: usize = 64;
/// Largest head of a request.
const LARGEST_HEAD: usize = 64 << 10;
/// Pause after a connection could not be accepted.
const RETRY_TIME: Duration = Duration::from_millis(50);
/// Longest wait for open work at the end.
const END_TIME: Duration = Duration::from_secs(5);

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
            Self::NotLoopback(_) | Self::Listen(..) | Self::Socket { .. } | Self::Runtime(_) => 2,
            Self::Host(error) => agentos_api::ExitStatus::from(error.cause) as u8,
        }
    }
}

/// Serves until a signal ends the service. If a service of the user runs already, joins it with the repository and returns.
///
/// # Errors
/// If the service cannot begin, or the running one refuses the repository.
pub fn run_service(host: &Host, args: &ServerArgs) -> Result<(), ServiceError> {
    if !args.listen.ip().is_loopback() {
        return Err(ServiceError::NotLoopback(args.listen));
    }
    let order = find_order(host, args)?;
    // The lock ends with the process, whatever ends it.
    let Some(_place) = host.take_service_place()? else {
        let joined = host.join_service(&order)?;
        let ServiceLink {
            service,
            repository,
            link,
        } = joined;
        say(&format!(
            "the service at {} serves {repository} too{}",
            service.url,
            describe_link(link.expose())
        ));
        return Ok(());
    };
    let runtime = start_runtime(MOST_THREADS)?;
    // Work of agents that goes on after its call was given up takes threads of agents alone.
    let agents = start_runtime(MOST_AGENT_THREADS)?;
    let served = runtime.block_on(serve(host, args, &order, agents.handle()));
    host.retract_service();
    agents.shutdown_background();
    // Streams of events never end by themselves.
    runtime.shutdown_timeout(END_TIME);
    served
}

fn start_runtime(threads: usize) -> Result<Runtime, ServiceError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Handlers only wait; the host's work is on the threads that may block.
    let builder = builder.worker_threads(1).max_blocking_threads(threads);
    builder.enable_all().build().map_err(ServiceError::Runtime)
}

/// Returns the repository with which the service begins. Without a named one, a current folder in no repository is no mistake.
fn find_order(host: &Host, args: &ServerArgs) -> Result<JoinOrder, ServiceError> {
    let is_named = host.named_repository().is_some();
    let cwd = &host.environment().cwd;
    if let Err(error) = host.runs().open_requests()
        && (is_named || error.code != "not-a-repository")
    {
        return Err(error.into());
    }
    let folder = host.known_repository().map(|known| known.folder);
    Ok(JoinOrder {
        folder,
        policies: args.policies.iter().map(|policy| cwd.join(policy)).collect(),
        all: false,
    })
}

async fn serve(
    host: &Host,
    args: &ServerArgs,
    order: &JoinOrder,
    agents: &Handle,
) -> Result<(), ServiceError> {
    let failed = |error| ServiceError::Listen(args.listen, error);
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let names = (address.port(), own_names(address));
    let door = Arc::new(ServiceDoor::new(host, names, &order.policies, agents)?);
    let first = match order.folder {
        Some(_) => Some(door.join(order)?),
        None => None,
    };
    let adopted = host.adopt_old_tokens(host.known_repository().as_ref())?;
    let socket = bind_socket(host)?;
    host.announce_service(&ServiceAddress {
        version: 1,
        url: format!("http://{address}"),
        socket: socket.as_ref().map(|(_, path)| path.clone()),
        process: std::process::id(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
    })?;
    let link = first.as_ref().map(|open| open.make_link()).transpose()?;
    let lines = listen_for_devices(&door).await?;
    say(&greet((host, address), link.as_deref(), &adopted, &lines));
    let connections = OpenConnections::new(MOST_CONNECTIONS);
    if let Some((socket, _)) = socket {
        // Places of their own: whatever comes over the network, the user's own programs are answered.
        let places = OpenConnections::new(MOST_LOCAL);
        tokio::spawn(accept_local(socket, Arc::clone(&door), places));
    }
    tokio::select! {
        () = accept_all(listener, door, connections) => {}
        () = await_signal() => {}
    }
    Ok(())
}

/// Writes the first words of the service.
fn greet(
    (host, address): (&Host, SocketAddr),
    link: Option<&str>,
    adopted: &[ServiceToken],
    devices: &[String],
) -> String {
    let page = match link {
        Some(link) => format!(
            "page  `agentos open` opens it in your browser{}",
            describe_link(link)
        ),
        None => "page  `agentos open` in a repository opens it in your browser".to_owned(),
    };
    let socket = host.service_folder().map(|folder| folder.join("socket"));
    let socket = socket.map_or_else(
        |_| String::new(),
        |path| host.environment().shorten_below_home(&path),
    );
    let mut greeting = format!(
        "{page}\nAPI   http://{address}, with a token of `agentos serve token add NAME`; no token consents\n\
         user  {socket}, where programs of yours need no token"
    );
    for line in devices {
        greeting.push_str(&format!("\n{line}"));
    }
    for token in adopted {
        greeting.push_str(&format!(
            "\nThe old file of tokens gave the token `{}`: it reaches `{}` alone and ends on {}.",
            token.name,
            token.scope.as_str(),
            token.ends.as_str().get(..10).unwrap_or_default()
        ));
    }
    greeting.push_str("\nCtrl-C ends the service.");
    greeting
}

/// Describes a link that signs a browser in, for a person at a terminal. A pipe may lead to a log, which others read.
fn describe_link(link: &str) -> String {
    if io::stdout().is_terminal() {
        format!("\nlink  {link}\nThe link signs one browser in, once.")
    } else {
        String::new()
    }
}

fn say(text: &str) {
    // A closed standard output must not stop a service that others use.
    let _ = writeln!(io::stdout(), "{text}");
    let _ = io::stdout().flush();
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
async fn accept_all(listener: TcpListener, door: Arc<ServiceDoor>, connections: OpenConnections) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Otherwise a stream of small pieces waits 40 ms for each acknowledgement (Nagle and delayed ACK).
                let _ = stream.set_nodelay(true);
                let stream = std::future::ready(Some(stream));
                seat_connection((stream, ()), Listener::Network, &door, &connections).await;
            }
            // No descriptor is free, as a rule. The next one that closes makes room.
            Err(_) => tokio::time::sleep(RETRY_TIME).await,
        }
    }
}

/// Accepts connections of the Unix socket, for ever.
#[cfg(unix)]
async fn accept_local(listener: LocalListener, door: Arc<ServiceDoor>, connections: OpenConnections) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if is_own(&stream) => {
                let stream = std::future::ready(Some(stream));
                seat_connection((stream, ()), Listener::Socket, &door, &connections).await
            }
            // The folder of the socket lets no other user in. The superuser can open everything.
            Ok(_) => {}
            Err(_) => tokio::time::sleep(RETRY_TIME).await,
        }
    }
}

/// Returns true if the process at the other end belongs to the user of the service, which made the socket's file.
#[cfg(unix)]
fn is_own(stream: &tokio::net::UnixStream) -> bool {
    let place = stream.local_addr().ok();
    let file = place.and_then(|place| std::fs::symlink_metadata(place.as_pathname()?).ok());
    let own = file.map(|file| std::os::unix::fs::MetadataExt::uid(&file));
    let peer = stream.peer_cred().map(|peer| peer.uid());
    peer.is_ok_and(|peer| Some(peer) == own || peer == 0)
}

/// Accepts nothing: there is no such listener here.
#[cfg(not(unix))]
async fn accept_local(listener: LocalListener, _door: Arc<ServiceDoor>, _connections: OpenConnections) {
    match listener {}
}

/// Serves a connection as soon as there is room for it. Further ones wait meanwhile in the system's queue. `stream` is `None` if the
/// handshake of TLS failed. The place in `held` is given back when the connection ends.
async fn seat_connection<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    (stream, held): (
        impl Future<Output = Option<S>> + Send + 'static,
        impl Send + 'static,
    ),
    listener: Listener,
    door: &Arc<ServiceDoor>,
    connections: &OpenConnections,
) {
    let seat = loop {
        match connections.admit() {
            Some(seat) => break seat,
            None => tokio::time::sleep(RETRY_TIME).await,
        }
    };
    let door = Arc::clone(door);
    tokio::spawn(async move {
        let served = async {
            if let Some(stream) = stream.await {
                serve_connection(stream, (listener, door), &seat).await;
            }
        };
        tokio::select! {
            // First, so that no request begins on a connection that has lost its place.
            biased;
            () = seat.await_leave() => {}
            () = served => {}
        }
        drop(held);
    });
    // A new connection reads its request before others can take its place.
    tokio::task::yield_now().await;
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    (listener, door): (Listener, Arc<ServiceDoor>),
    seat: &ConnectionSeat,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let (door, seat) = (Arc::clone(&door), seat.name());
        async move {
            let answer = door.answer(listener, request.map(Body::new), &seat).await;
            answer.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionAborted))
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        // For the WebSocket of the events; the judge refuses every other upgrade.
        .with_upgrades()
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
