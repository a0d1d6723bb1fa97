//! HTTP client: sends a request once, and reads the answer within limits.
//!
//! Owns: `reqwest`, no type of which is visible outside. Never: follows, retries, caches or decompresses.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::resolve::NameResolver;
use crate::{Deadline, ExceededLimit, NetError, NetErrorKind};

mod answer;
mod peek;
mod request;
#[cfg(test)]
mod tests;

pub use answer::{Answer, BodyEvents, BodyShape};
use request::write_form;
pub use request::{Auth, Method, Request};

/// Limits of a client, and the name that it sends.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// Time for name lookup, connection and TLS handshake.
    pub connect_timeout: Duration,
    /// User agent, sent with every request.
    pub user_agent: String,
    /// Bytes of one answer's body, streamed or not.
    pub max_body_bytes: usize,
    /// Bytes of one event of a stream.
    pub max_event_bytes: usize,
    /// Lines in an answer's head.
    pub max_headers: usize,
    /// Resolution of host names.
    pub names: Names,
    /// Unix socket to which every request goes, whatever its address names. `None` for the network.
    pub socket: Option<PathBuf>,
    /// Time for which a connection waits for another request. `None` closes each connection with its answer.
    ///
    /// A server that closes a waiting connection at the moment the next request goes out fails that request, which is not sent again
    /// here. So the time must be shorter than that of the servers: 5 seconds for Node, uvicorn and llama.cpp.
    pub keep_idle: Option<Duration>,
}

/// Resolution of host names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// As the system's resolver says.
    System,
    /// Every name is the loopback: for a confined process, in which a port of the loopback leads to its one server.
    Loopback,
    /// No name has an address. For tests.
    Unknown,
    /// No name lookup ever ends. For tests.
    Silent,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            user_agent: concat!("agentos/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_body_bytes: 16 << 20,
            max_event_bytes: 4 << 20,
            max_headers: 100,
            names: Names::System,
            socket: None,
            keep_idle: None,
        }
    }
}

/// Complete answer of any status.
#[derive(Debug, Clone)]
pub struct Response {
    /// Status code. A redirect is returned as it is.
    pub status: u16,
    /// Content type in lower case. `None` if the server sent none.
    pub content_type: Option<String>,
    /// Time that the server asks to wait. `None` if it does not say.
    pub retry_after: Option<Duration>,
    /// Bytes of the body.
    pub body: Vec<u8>,
}

/// Client for all providers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HttpClient {
    config: Arc<NetConfig>,
    plain: reqwest::Client,
    // Created when the first `https` address is called: loading the system's certificate authorities takes time and
    // can fail, and local servers need neither.
    tls: Arc<OnceLock<Option<reqwest::Client>>>,
}

impl HttpClient {
    /// Creates a client.
    ///
    /// # Errors
    /// [`NetErrorKind::Setup`] if it cannot be built from this configuration.
    pub fn new(config: NetConfig) -> Result<Self, NetError> {
        install_crypto_provider();
        // This client never uses TLS. Without certificates it can be built on a machine that has none.
        let plain = client_builder(&config)
            .tls_certs_only([])
            .build()
            .map_err(|_| NetError::new(NetErrorKind::Setup, None, "the HTTP client could not be set up"))?;
        Ok(Self {
            config: Arc::new(config),
            plain,
            tls: Arc::new(OnceLock::new()),
        })
    }

    /// Sends a request and reads the whole answer. Dropping the future closes the connection.
    ///
    /// # Errors
    /// If there is no complete answer within the deadline and the limits.
    pub async fn send(&self, request: &Request, deadline: &Deadline) -> Result<Response, NetError> {
        self.open(request, deadline).await?.read().await
    }

    /// Sends a request and returns when the answer's head has arrived. Dropping the answer closes the connection.
    ///
    /// # Errors
    /// If there is no head within the deadline and the limits.
    pub async fn open(&self, request: &Request, deadline: &Deadline) -> Result<Answer, NetError> {
        let endpoint = request.url.endpoint();
        let ready = self.prepare(request)?;
        let sent_at = Instant::now();
        let sent = deadline
            .await_first_byte(sent_at, ready.send())
            .await
            .map_err(|limit| NetError::out_of_time(&endpoint, limit))?;
        match sent {
            Ok(inner) => Answer::of_head(inner, endpoint, sent_at, *deadline, Arc::clone(&self.config)),
            Err(error) => Err(self
                .explain(NetError::from_http(&error, &endpoint), request, deadline)
                .await),
        }
    }

    /// Finds the true reason behind an error that has several. A second connection, without the key, is worth its time only
    /// then.
    async fn explain(&self, error: NetError, request: &Request, deadline: &Deadline) -> NetError {
        let endpoint = request.url.endpoint();
        match (error.kind(), request.url.is_tls()) {
            // A server that speaks TLS answers plain HTTP with bytes that look like a broken answer.
            (NetErrorKind::NotHttp, false) if peek::speaks_tls(&request.url, deadline).await => {
                NetError::from_kind(NetErrorKind::Tls, &endpoint)
            }
            // A server that speaks plain HTTP takes the connection and waits for the end of a head that never comes, so the
            // handshake runs into the limit on connecting.
            (NetErrorKind::ConnectTimeout, true) if peek::speaks_http(&request.url, deadline).await => {
                NetError::plain_http(&endpoint)
            }
            (NetErrorKind::ConnectTimeout, _) => {
                NetError::out_of_time(&endpoint, ExceededLimit::Connect(self.config.connect_timeout))
            }
            _ => error,
        }
    }

    fn prepare(&self, request: &Request) -> Result<reqwest::RequestBuilder, NetError> {
        let endpoint = request.url.endpoint();
        let client = if request.url.is_tls() {
            // rustls panics on such a time when it checks a certificate (`UnixTime::now`).
            if SystemTime::UNIX_EPOCH.elapsed().is_err() {
                return Err(NetError::clock_too_early(&endpoint));
            }
            self.tls_client()
                .ok_or_else(|| NetError::from_kind(NetErrorKind::Setup, &endpoint))?
        } else {
            &self.plain
        };
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        };
        let headers =
            headers_of(request).ok_or_else(|| NetError::from_kind(NetErrorKind::BadHeader, &endpoint))?;
        let mut ready = client
            .request(method, request.url.as_url().clone())
            .headers(headers);
        if let Some(body) = &request.body {
            ready = ready.json(body);
        }
        if !request.form.is_empty() {
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            ready = ready
                .header(reqwest::header::CONTENT_TYPE, kind)
                .body(write_form(&request.form));
        }
        Ok(ready)
    }

    fn tls_client(&self) -> Option<&reqwest::Client> {
        self.tls
            .get_or_init(|| client_builder(&self.config).build().ok())
            .as_ref()
    }
}

/// Chooses the cryptography of the process. A second call changes nothing.
fn install_crypto_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn client_builder(config: &NetConfig) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder();
    // Only files of the same user lead to it, which an address on loopback does not promise: any user may listen there.
    #[cfg(unix)]
    let builder = match &config.socket {
        Some(socket) => builder.unix_socket(socket.as_path()),
        None => builder,
    };
    builder
        .pool_max_idle_per_host(if config.keep_idle.is_some() { usize::MAX } else { 0 })
        .pool_idle_timeout(config.keep_idle)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .user_agent(&config.user_agent)
        .connect_timeout(config.connect_timeout)
        .http1_max_headers(config.max_headers)
        .dns_resolver(NameResolver(config.names))
}

fn headers_of(request: &Request) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
    }
    for (name, value) in &request.derived_headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        headers.insert(name, HeaderValue::from_str(value).ok()?);
    }
    let (name, value) = match &request.auth {
        Auth::None => return Some(headers),
        Auth::Bearer(key) => ("authorization", format!("Bearer {}", key.expose())),
        Auth::Header(name, key) => (*name, key.expose().to_owned()),
    };
    let mut value = HeaderValue::from_str(&value).ok()?;
    // Keeps the key out of the debug output of the header.
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Some(headers)
}
