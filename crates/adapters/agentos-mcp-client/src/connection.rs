//! One connection to a server: the handshake, the list of tools, and calls.
//!
//! Owns: what this program offers a server, which is nothing. Never: keeps a connection that is broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_net::Auth;
use agentos_programs::{AgentError, LineHandle, Toolbox, ToolboxResult};
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, JsonObject,
    PaginatedRequestParams, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RoleClient,
    RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};

use crate::content::describe_result;
use crate::http::{HttpServer, NetWire, ServerAuth};
use crate::lines::LineTransport;
use crate::sign_in::{SignInError, TokenKeeper};

/// Most pages of a list. A list that is longer has more tools than models can be offered.
const MOST_PAGES: usize = 16;

/// Failure of a connection. Texts of servers are untrusted.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The program could not be started or confined, or it ended.
    #[error(transparent)]
    Program(#[from] AgentError),
    /// The server did not begin as the protocol says.
    #[error("it does not begin as the protocol says")]
    Handshake(#[source] Box<ClientInitializeError>),
    /// A request failed.
    #[error("its answer is an error")]
    Request(#[source] Box<ServiceError>),
    /// There is no token to send, or the server accepts none of the sign-in.
    #[error(transparent)]
    SignIn(Arc<SignInError>),
    /// The server wants a key or a sign-in, and was sent neither.
    #[error("it wants a key or a sign-in")]
    Unauthorized(#[source] Box<ClientInitializeError>),
    /// The list of tools does not end.
    #[error("its list of tools has more than {MOST_PAGES} pages")]
    EndlessList,
    /// The tools are not those of the first list.
    #[error("its tools are not those that it listed before")]
    OtherTools,
}

/// Part of this program in a connection, and whether the server said that its tools changed.
#[derive(Debug, Clone, Default)]
pub struct RefusingClient {
    is_stale: Arc<AtomicBool>,
}

impl ClientHandler for RefusingClient {
    fn get_info(&self) -> ClientConfig {
        // No capability: a server gets no completion (sampling), no answer of a person (elicitation) and no folder (roots).
        let program = Implementation::new("agentos", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), program)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::SeqCst);
    }
}

/// Handler of what a server asks for. The product's own one refuses everything; the conformance suite has others.
pub trait ClientPart: ClientHandler + Send + 'static {}
impl<T: ClientHandler + Send + 'static> ClientPart for T {}

/// Open connection. Dropping it ends it.
pub struct McpConnection<H: ClientPart = RefusingClient> {
    running: RunningService<RoleClient, H>,
    link: Option<LineHandle>,
    /// Tokens of the sign-in. `None` without one.
    keeper: Option<Arc<TokenKeeper>>,
    is_stale: Arc<AtomicBool>,
}

/// Returns how a connection begins: the newest protocol is offered, and an older one spoken if the server knows no other.
#[must_use]
pub fn begin_newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        // The newest one that has this handshake: the library would offer the one that replaced it.
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

impl McpConnection {
    /// Starts the program of a toolbox and shakes hands.
    ///
    /// # Errors
    /// If it cannot be confined, ends, or speaks another protocol.
    pub async fn start_program(toolbox: &Toolbox) -> Result<Self, McpError> {
        let (transport, link) = LineTransport::start(toolbox)?;
        let client = RefusingClient::default();
        let is_stale = Arc::clone(&client.is_stale);
        match client.serve_with_lifecycle(transport, begin_newest()).await {
            Ok(running) => Ok(Self {
                running,
                link: Some(link),
                keeper: None,
                is_stale,
            }),
            // The reason why a program ended says more than that its lines did.
            Err(error) => Err(link
                .take_end()
                .map_or_else(|| McpError::Handshake(Box::new(error)), McpError::Program)),
        }
    }

    /// Connects to a server over HTTP.
    ///
    /// # Errors
    /// If nobody answers, or in another protocol.
    pub async fn open_http(server: &HttpServer) -> Result<Self, McpError> {
        let client = RefusingClient::default();
        let is_stale = Arc::clone(&client.is_stale);
        let keeper = match &server.auth {
            ServerAuth::SignIn(keeper) => Some(Arc::clone(keeper)),
            ServerAuth::Fixed(_) => None,
        };
        let wire = NetWire::with_auth(server.client.clone(), server.auth.clone());
        let opened = Self::open_wire(client, wire, &server.url.to_string(), begin_newest()).await;
        match opened {
            Ok(connection) => Ok(Self {
                keeper,
                is_stale,
                ..connection
            }),
            Err(error) => Err(explain_refusal(error, server, keeper.as_deref())),
        }
    }
}

/// Finds the reason for a handshake that failed. The transport passes on texts alone, and the reason is what a user can do something about.
fn explain_refusal(error: McpError, server: &HttpServer, keeper: Option<&TokenKeeper>) -> McpError {
    if let Some(failure) = keeper.and_then(TokenKeeper::last_failure) {
        return McpError::SignIn(failure);
    }
    match error {
        McpError::Handshake(source)
            if source.auth_challenge().is_some() && matches!(server.auth, ServerAuth::Fixed(Auth::None)) =>
        {
            McpError::Unauthorized(source)
        }
        other => other,
    }
}

impl<H: ClientPart> McpConnection<H> {
    /// Connects over a wire, with a handler of what the server asks for.
    ///
    /// # Errors
    /// If nobody answers, or in another protocol.
    pub async fn open_wire(
        handler: H,
        wire: impl rmcp::transport::streamable_http_client::StreamableHttpClient + Sync,
        url: &str,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, McpError> {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(wire, config);
        let running = handler.serve_with_lifecycle(transport, lifecycle).await;
        Ok(Self {
            running: running.map_err(|error| McpError::Handshake(Box::new(error)))?,
            link: None,
            keeper: None,
            is_stale: Arc::default(),
        })
    }

    /// Returns false if the connection has ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.running.is_closed()
    }

    /// Takes the notice that the tools changed. Returns true if there was one.
    pub(crate) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::SeqCst)
    }

    /// Kills the program of the connection. A server over HTTP is left alone.
    pub(crate) fn stop_program(&self) {
        if let Some(link) = &self.link {
            link.stop();
        }
    }

    /// Lists the tools, in the order of the server.
    ///
    /// # Errors
    /// If the server fails, or the list does not end.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, McpError> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.running.list_tools(Some(page)).await;
            let page = page.map_err(|error| self.explain(error))?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(McpError::EndlessList)
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// If the server fails. A tool that fails is a result.
    pub async fn call_tool(&self, name: &str, arguments: JsonObject) -> Result<ToolboxResult, McpError> {
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let result = self.running.call_tool(params).await;
        Ok(describe_result(&result.map_err(|error| self.explain(error))?))
    }

    /// Ends the connection, and reports that to the server.
    pub async fn close(self) {
        // A server that does not answer any more is gone already.
        let _ = self.running.cancel().await;
    }

    fn explain(&self, error: ServiceError) -> McpError {
        if let Some(failure) = self.keeper.as_deref().and_then(TokenKeeper::last_failure) {
            return McpError::SignIn(failure);
        }
        let ended = self.link.as_ref().and_then(LineHandle::take_end);
        ended.map_or_else(|| McpError::Request(Box::new(error)), McpError::Program)
    }
}
