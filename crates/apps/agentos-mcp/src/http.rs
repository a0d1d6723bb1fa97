//! The protocol over HTTP ("Streamable HTTP"), as a part of a service that has decided already who may speak.
//!
//! Owns: the limits on sessions and messages. Never: listens, or knows a token.
//!
//! | era | a message | its answer |
//! |---|---|---|
//! | 2025-03-26 to 2025-11-25 | `initialize` begins a session, named by `Mcp-Session-Id` | a stream that can be resumed |
//! | 2026-07-28 | stands alone, and says in `_meta` and in headers who sends it | one document, or a stream |

use std::sync::Arc;

use agentos_host::{Host, SessionOptions};
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::server::{McpServer, OpenedTools};

/// Most sessions at once. One that has been silent for five minutes ends by itself (`SessionConfig::DEFAULT_KEEP_ALIVE`).
const MOST_SESSIONS: usize = 64;
/// Largest message: an answer of a model may be 10 MB.
const LARGEST_MESSAGE: usize = 12 << 20;

/// The protocol over HTTP, as a service of `tower`, for servers of the kind `S`.
pub type HttpEndpoint<S> = StreamableHttpService<S, HttpSessions>;

/// Makes the endpoint of a repository's tools. `names` are the service's own values of Host.
#[must_use]
pub fn make_endpoint(host: Host, session: SessionOptions, names: &[String]) -> HttpEndpoint<McpServer> {
    // Shared, because a message that stands alone has a server of its own: its limits would begin again with each.
    let opened = OpenedTools::default();
    serve_handlers(
        move || McpServer::with_opened(host.clone(), session.clone(), Arc::clone(&opened)),
        names,
    )
}

/// Makes an endpoint of servers, one for each session and for each message that stands alone.
pub fn serve_handlers<S: ServerHandler + Send + 'static>(
    make_server: impl Fn() -> S + Send + Sync + 'static,
    names: &[String],
) -> HttpEndpoint<S> {
    let origins = names.iter().map(|name| format!("http://{name}"));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names.iter().cloned())
        .with_allowed_origins(origins)
        // Without this, no name would mean every origin.
        .enforce_origin_validation()
        .with_max_request_body_bytes(LARGEST_MESSAGE);
    StreamableHttpService::new(
        move || Ok(make_server()),
        Arc::new(HttpSessions::default()),
        config,
    )
}

/// Sessions of clients, of which there are never too many.
#[derive(Debug, Default)]
pub struct HttpSessions {
    inner: LocalSessionManager,
    /// Closed while a session is made, so that two at once cannot pass the bound together.
    door: tokio::sync::Mutex<()>,
}

impl SessionManager for HttpSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let _door = self.door.lock().await;
        if self.inner.sessions.read().await.len() >= MOST_SESSIONS {
            // The library has no error of its own for this; its text is what the client is shown.
            let full =
                std::io::Error::other("too many sessions are open; end one, or try again in five minutes");
            return Err(SessionError::Io(full).into());
        }
        self.inner.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl futures_util::Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl futures_util::Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl futures_util::Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        // Nothing is stored outside this process, so a session that is not known has ended.
        drop(id);
        Ok(RestoreOutcome::NotSupported)
    }
}
