//! The server: messages in, calls of tools, answers out.
//!
//! Owns: the translation between the protocol's shapes and those of the host. Never: prints anything but messages of the protocol.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentos_host::{
    AgentAnswer, AgentTool, AgentToolEffect, AgentTools, AgentToolsSpec, Host, SessionOptions,
};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, JsonObject, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::io::stdio_pipes;
use rmcp::{ServerHandler, service::ServerInitializeError};
use serde_json::Value;

/// Advice for the agent's model, which clients put into its system prompt.
const INSTRUCTIONS: &str = "This server reads a git repository's last commit and proposes changes of it. Nothing that you call writes a \
                            file: call `propose_change` with a diff, and the user decides. Its answer comes at once and says whether the \
                            proposal waits for the user (`waiting`); do not propose it again, and go on with other work. Ask with \
                            `proposal_status` later.";

/// Methods of the protocol that a client calls.
const METHODS: [&str; 2] = ["tools/call", "tools/list"];
/// Longest name of a client that is read, in characters.
const LONGEST_NAME: usize = 64;
/// Most names of clients whose tools are kept.
const MOST_NAMES: usize = 64;
/// Member of `_meta` with the code of a failed call.
const CODE_KEY: &str = "agentos/code";
/// Time between two messages of progress. Clients end a call after 60 s without any (TypeScript SDK, `DEFAULT_REQUEST_TIMEOUT_MSEC`).
const PROGRESS_TIME: Duration = Duration::from_secs(5);

/// Failure of the service.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The runtime could not be started.
    #[error("the service cannot be started")]
    Runtime(#[source] io::Error),
    /// The first message was none that begins a session.
    #[error("the client did not begin as the protocol says")]
    Handshake(#[source] Box<ServerInitializeError>),
}

/// Serves the tools of a repository on standard input and output, until the input ends.
///
/// # Errors
/// If the service cannot be started, or the client does not begin as the protocol says.
pub fn serve_stdio(host: Host, session: SessionOptions) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(McpError::Runtime)?;
    let served = runtime.block_on(async {
        let server = McpServer::new(host, session);
        match serve_server(server, stdio_pipes()).await {
            // The only failure is a panic of a task, after which there is nobody to answer.
            Ok(running) => running.waiting().await.map(|_| ()).or(Ok(())),
            // A client that only looks whether the program starts is no failure.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(McpError::Handshake(Box::new(error))),
        }
    });
    // A thread may still read standard input, which nothing interrupts.
    runtime.shutdown_background();
    served
}

/// Name of the token with which a request reached the service. A service adds it to the extensions of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToken(pub String);

/// Tools by the token of the client, or else by the name of the client that called one first. Made with a client's first call, because
/// its name is not known before. The limits on calls belong to the token: a client that has one chooses only its name.
pub(crate) type OpenedTools = Arc<Mutex<HashMap<(bool, String), Arc<AgentTools>>>>;

/// Server of a client.
pub struct McpServer {
    host: Host,
    session: SessionOptions,
    tools: Vec<Tool>,
    opened: OpenedTools,
}

impl McpServer {
    /// Makes the server of one client.
    #[must_use]
    pub fn new(host: Host, session: SessionOptions) -> Self {
        Self::with_opened(host, session, OpenedTools::default())
    }

    /// Makes a server that shares the tools, and with them the limits on calls, with others.
    pub(crate) fn with_opened(host: Host, session: SessionOptions, opened: OpenedTools) -> Self {
        Self {
            host,
            session,
            tools: AgentTools::list().into_iter().map(describe_tool).collect(),
            opened,
        }
    }

    fn open_tools(&self, client: Option<Implementation>, token: Option<&AgentToken>) -> Arc<AgentTools> {
        let name: String = client
            .map(|client| client.name.chars().take(LONGEST_NAME).collect())
            .unwrap_or_default();
        // A value is complete before it is inserted, so a panic elsewhere leaves no half of one.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that calls itself something else each time must not fill the memory.
        let key = match token {
            Some(AgentToken(token)) => (true, token.clone()),
            None => (false, name.clone()),
        };
        if opened.len() >= MOST_NAMES && !opened.contains_key(&key) {
            opened.clear();
        }
        let made = opened.entry(key).or_insert_with(|| {
            let spec = AgentToolsSpec {
                session: self.session.clone(),
                client: name,
                token: token.map(|AgentToken(token)| token.clone()),
            };
            Arc::new(AgentTools::new(&self.host, spec))
        });
        Arc::clone(made)
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let program = Implementation::new("agentos", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(program)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(LONGEST_NAME).collect();
        // The library gives a request of the protocol to this method too if its `params` cannot be read.
        Err(match METHODS.contains(&method.as_str()) {
            true => {
                let message = format!(
                    "the `params` of `{method}` have another form than the protocol's: `arguments` is an object, and not a text"
                );
                ErrorData::invalid_params(message, None)
            }
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The protocol has an error of its own for a name that is not on offer, which clients show differently from a failed call.
        if self.get_tool(&request.name).is_none() {
            let name: String = request.name.chars().take(64).collect();
            return Err(ErrorData::invalid_params(
                format!("there is no tool `{name}`"),
                None,
            ));
        }
        let parts = context.extensions.get::<::http::request::Parts>();
        let token = parts.and_then(|parts| parts.extensions.get::<AgentToken>());
        let tools = self.open_tools(context.client_info(), token);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut progress = CallProgress::of_call(&context, &request.name);
        // Before the call, which may be faster than a message.
        progress.report(&context).await;
        let answer = tokio::select! {
            answer = tools.call_tool(&request.name, arguments) => answer,
            never = progress.keep_reporting(&context) => match never {},
            // The client no longer waits for an answer, so any one will do.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
        };
        Ok(describe_answer(answer).into())
    }
}

/// Reports of a call that goes on, for a client that asks for them.
struct CallProgress {
    /// Token of the reports. `None` if the client asks for none.
    token: Option<ProgressToken>,
    message: String,
    reports: u32,
}

impl CallProgress {
    fn of_call(context: &RequestContext<RoleServer>, tool: &str) -> Self {
        Self {
            token: context.meta.get_progress_token(),
            message: format!("`{tool}` is working"),
            reports: 0,
        }
    }

    /// Sends a report. It fails if the client is gone, and then the call is cancelled.
    async fn report(&mut self, context: &RequestContext<RoleServer>) {
        if let Some(token) = self.token.clone() {
            let param =
                ProgressNotificationParam::new(token, self.reports.into()).with_message(self.message.clone());
            let _ = context.peer.notify_progress(param).await;
            self.reports += 1;
        }
    }

    /// Sends a report after each [`PROGRESS_TIME`]. Never ends.
    async fn keep_reporting(&mut self, context: &RequestContext<RoleServer>) -> Infallible {
        loop {
            tokio::time::sleep(PROGRESS_TIME).await;
            self.report(context).await;
        }
    }
}

fn describe_tool(tool: AgentTool) -> Tool {
    let (reads, destroys, repeats) = match tool.effect {
        AgentToolEffect::Reads => (true, false, true),
        // Evidence is added, and nothing is changed or removed.
        AgentToolEffect::Proposes => (false, false, false),
        AgentToolEffect::Withdraws => (false, true, true),
    };
    // No call reaches anything beyond the repository.
    let annotations =
        ToolAnnotations::from_raw(None, Some(reads), Some(destroys), Some(repeats), Some(false));
    let described = Tool::new(
        tool.name,
        tool.description,
        Arc::new(to_object(tool.input_schema)),
    )
    .with_annotations(annotations);
    match tool.output_schema {
        Some(schema) => described.with_raw_output_schema(Arc::new(to_object(schema))),
        None => described,
    }
}

fn to_object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(object) => object,
        // A schema of the host is always an object.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

fn describe_answer(answer: AgentAnswer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = match answer.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = answer.data;
    // Not in the structured content, which must have the shape that the tool promises also if the call failed.
    if let Some(code) = answer.code {
        let code = JsonObject::from_iter([(CODE_KEY.to_owned(), Value::String(code))]);
        result.meta = Some(MetaObject(code));
    }
    result
}
