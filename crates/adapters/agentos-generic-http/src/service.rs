//! The differences between model servers as a trait, and the adapter built on it.
//!
//! Owns: the three verbs of every HTTP adapter and its conversation, written once: a task is a conversation with one message.
//! Never: knows a provider; each implements [`Service`].

use std::sync::Arc;

use agentos_model::{
    ChatEvent, ChatRequest, ChatStream, Model, ReplyBuilder, SideEndpoint, SideRequest, edit_request,
};
use agentos_net::{Deadline, HttpClient, HttpUrl};
use agentos_tool::{
    Adapter, BoxFuture, Progress, ProgressSink, SendGate, Timestamp, ToolCapabilities, ToolError, ToolHealth,
    ToolOutput, ToolTask,
};
use serde_json::Value;

use crate::call::HttpChat;
use crate::{
    Fault, ModelMemory, ModelWork, ProbeFindings, Reason, Server, ServerHints, ServerSettings, SideOffer,
    Wire,
};

/// Server with the address and the deadline of one call.
#[derive(Debug, Clone, Copy)]
pub struct ServerCall<'a> {
    /// Configured server.
    pub server: &'a Server,
    /// Base URL of the server, checked.
    pub base: &'a HttpUrl,
    /// Deadline of the whole call.
    pub deadline: &'a Deadline,
}

impl<'a> ServerCall<'a> {
    /// Returns the model that is requested by name. `None` if the server may choose.
    #[must_use]
    pub fn wanted_model(&self) -> Option<&'a str> {
        self.server.settings().named_model()
    }

    /// Reads JSON from `url` with the key.
    ///
    /// # Errors
    /// With the first reason of the health table that fits.
    pub async fn get(&self, url: HttpUrl) -> Result<Value, Fault> {
        self.server.get(url, self.deadline).await
    }

    /// Sends JSON to `url` with the key and reads JSON back.
    ///
    /// # Errors
    /// With the first reason of the health table that fits.
    pub async fn post(&self, url: HttpUrl, body: Value) -> Result<Value, Fault> {
        self.server.post(url, body, self.deadline).await
    }
}

/// Address and wire of a task, with the server's facts about it.
pub struct PreparedTask {
    /// Address of the request.
    pub url: HttpUrl,
    /// Address for an answer in one document instead of a stream. `None` if it is the same.
    pub whole_url: Option<HttpUrl>,
    /// Wire format of the request.
    pub wire: Arc<dyn Wire>,
    /// Model to request. `None` if the server chooses.
    pub model: Option<String>,
    /// Warnings for the user about every answer to this task.
    pub notes: Vec<String>,
    /// Tokens of the loaded context. `None` if the server does not say.
    pub context_window: Option<u64>,
    /// Tokens of the prompt. `None` if the server has not counted them.
    pub prompt_tokens: Option<u64>,
}

impl PreparedTask {
    /// Prepares a task for a server of which nothing more is known.
    #[must_use]
    pub fn new(url: HttpUrl, wire: Arc<dyn Wire>, model: Option<String>) -> Self {
        Self {
            url,
            whole_url: None,
            wire,
            model,
            notes: Vec::new(),
            context_window: None,
            prompt_tokens: None,
        }
    }
}

/// Kind of server, such as Ollama.
pub trait Service: Send + Sync {
    /// Returns the hints for starting the server and loading a model.
    fn server_hints(&self) -> ServerHints;

    /// Returns the name of the header for the key. `None` for `Authorization: Bearer`.
    fn key_header(&self) -> Option<&'static str> {
        None
    }

    /// Returns the headers of every request, without the key.
    fn request_headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns the most tokens that the server of this host bills for one image, as its vendor documents them. `None` if the vendor is
    /// not known, or documents no maximum.
    fn most_image_tokens(&self, _host: &str) -> Option<u64> {
        None
    }

    /// Reads the documents that prove address, key and model, without a generation.
    fn probe_server<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>>;

    /// Decides the address, wire and model for a conversation.
    fn prepare_task<'a>(
        &'a self,
        call: ServerCall<'a>,
        work: ModelWork<'a>,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>>;

    /// Returns the endpoints besides the one for conversations.
    fn side_offer(&self) -> SideOffer {
        SideOffer::Nothing
    }

    /// Returns the requests about the server's memory. `None` if such a server has none.
    fn model_memory(&self) -> Option<&dyn ModelMemory> {
        None
    }

    /// Adds what such a server can do to the capabilities of the settings.
    fn extend_capabilities(&self, can: ToolCapabilities) -> ToolCapabilities {
        can
    }
}

/// Adapter for one kind of server.
#[derive(Debug, Clone)]
pub struct HttpAdapter<S> {
    server: Server,
    service: S,
}

impl<S: Service> HttpAdapter<S> {
    /// Makes an adapter of its parts. Nothing is checked or sent yet.
    #[must_use]
    pub fn new(settings: ServerSettings, service: S, http: HttpClient) -> Self {
        Self {
            server: Server::new(settings, &service, http),
            service,
        }
    }

    async fn run_probe(&self, deadline: &Deadline) -> Result<ProbeFindings, Fault> {
        let base = self.server.checked_base()?;
        self.service.probe_server(self.server_call(&base, deadline)).await
    }

    /// Decides the address, wire and model for a conversation.
    ///
    /// # Errors
    /// If the settings are incomplete, or the server cannot be used.
    pub(crate) async fn prepare_task(
        &self,
        work: ModelWork<'_>,
        deadline: &Deadline,
    ) -> Result<PreparedTask, ToolError> {
        let fail = |fault: Fault| self.server.run_error(&fault, deadline);
        let base = self.server.checked_base().map_err(fail)?;
        let call = self.server_call(&base, deadline);
        self.service.prepare_task(call, work).await.map_err(fail)
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    pub(crate) fn service(&self) -> &S {
        &self.service
    }

    pub(crate) fn server_call<'a>(&'a self, base: &'a HttpUrl, deadline: &'a Deadline) -> ServerCall<'a> {
        ServerCall {
            server: &self.server,
            base,
            deadline,
        }
    }
}

impl<S: Service> Model for HttpAdapter<S> {
    fn provider_name(&self) -> &str {
        &self.server.settings().provider
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest, gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a> {
        let deadline = self.server.chat_deadline();
        let work = ModelWork {
            chat: request,
            task: None,
        };
        Box::new(HttpChat::new(self, work, gate, deadline))
    }

    fn has_endpoint(&self, endpoint: SideEndpoint) -> bool {
        self.names_endpoint(endpoint)
    }

    fn ask_endpoint<'a>(
        &'a self,
        request: &'a SideRequest,
        gate: Arc<dyn SendGate>,
    ) -> BoxFuture<'a, Result<Option<Value>, ToolError>> {
        Box::pin(self.ask_side(request, gate))
    }
}

impl<S: Service> Adapter for HttpAdapter<S> {
    fn provider(&self) -> &str {
        &self.server.settings().provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(async move {
            let deadline = self.server.probe_deadline();
            let found = self.run_probe(&deadline).await;
            self.server.report_health(found, &deadline, now)
        })
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            // One deadline for preparation, request and retries together: the user's limit is for the whole answer.
            let deadline = self.server.run_deadline(task.limits.timeout_seconds);
            let chat = edit_request(task, self.server.settings().constrain);
            let work = ModelWork {
                chat: &chat,
                task: Some(task),
            };
            let mut stream = HttpChat::new(self, work, progress.send_gate(), deadline);
            collect_output(&mut stream, self.provider(), progress)
                .await?
                .ok_or_else(|| {
                    self.server
                        .run_error(&Fault::from(Reason::BrokenAnswer), &deadline)
                })
        })
    }

    fn supports(&self) -> ToolCapabilities {
        self.service
            .extend_capabilities(self.server.settings().capabilities())
    }
}

/// Reads a stream to its end, as the output of a tool. `None` if the answer has no end.
///
/// # Errors
/// If the answer fails.
async fn collect_output(
    stream: &mut dyn ChatStream,
    provider: &str,
    progress: &dyn ProgressSink,
) -> Result<Option<ToolOutput>, ToolError> {
    let mut reply = ReplyBuilder::default();
    while let Some(event) = stream.next_event().await? {
        match &event {
            ChatEvent::Text { text } => progress.progress(Progress::Text(text.clone())),
            ChatEvent::Note { note } => progress.progress(Progress::Note(note.clone())),
            // Landing reads text alone, and as it arrived.
            ChatEvent::Thinking(_)
            | ChatEvent::TextWasThinking
            | ChatEvent::ToolCall(_)
            | ChatEvent::Usage(_)
            | ChatEvent::Finish(_) => {}
        }
        reply.add_event(event);
    }
    Ok(reply.finish_reply(provider).map(|reply| ToolOutput {
        text: reply.text,
        finish: reply.end.finish,
        model_id: reply.end.model_id,
        endpoint: reply.end.endpoint,
        usage: reply.usage,
        latency_ms: reply.end.latency_ms,
        warnings: reply.end.warnings,
    }))
}
