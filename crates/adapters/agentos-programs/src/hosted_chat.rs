//! Conversations with a built-in adapter in a child process.
//!
//! Owns: the stream of events that leads out of the child. Never: starts a process for a stream that nobody reads.

use std::sync::Arc;

use agentos_model::{ChatEvent, ChatRequest, ChatStream, Model, SideEndpoint, SideRequest};
use agentos_sandbox::{SandboxError, SandboxProbe};
use agentos_tool::{BoxFuture, Confinement, SendGate, ToolError};
use serde_json::Value;

use crate::AgentError;
use crate::adapter::describe_confinement;
use crate::answer_stream::AnswerReader;
use crate::hosted::usable_probe;
use crate::hosted_lines::{AdapterWork, HostedLine};
use crate::model_process::ModelProcess;

/// Model that answers in a confined process, which it may share with others.
pub struct HostedModel {
    here: Box<dyn Model>,
    process: Arc<ModelProcess>,
    held: SandboxProbe,
}

impl HostedModel {
    /// Hosts the model `here`. `held` is the result of probing the sandbox: if it cannot confine, the model is called in this
    /// process and only observed.
    #[must_use]
    pub fn new(here: Box<dyn Model>, process: Arc<ModelProcess>, held: SandboxProbe) -> Self {
        Self {
            here,
            process,
            held: usable_probe(held),
        }
    }

    /// Asks an endpoint in the process. A future that is dropped before its end cancels the request.
    async fn ask_process(
        &self,
        request: &SideRequest,
        gate: Arc<dyn SendGate>,
    ) -> Result<Option<Value>, ToolError> {
        let limit = self.process.limits().total;
        let reader = self
            .process
            .send_work(AdapterWork::Side(request.clone()), limit)?;
        match reader.next_line(gate.as_ref()).await? {
            Some(HostedLine::Document { document }) => Ok(document),
            // The table of requests lets no other line through.
            Some(_) | None => Err(AgentError::from(SandboxError::Stopped).into_tool_error(0)),
        }
    }

    fn start_stream<'a>(
        &'a self,
        request: &'a ChatRequest,
        gate: Arc<dyn SendGate>,
        to_work: WorkKindOf,
    ) -> Box<dyn ChatStream + 'a> {
        Box::new(HostedStream {
            process: Arc::clone(&self.process),
            gate,
            unsent: Some((request, to_work)),
            reader: None,
        })
    }
}

impl Model for HostedModel {
    fn provider_name(&self) -> &str {
        self.here.provider_name()
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest, gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a> {
        match self.held.get() {
            Ok(_) => self.start_stream(request, gate, AdapterWork::Chat),
            Err(_) => self.here.chat(request, gate),
        }
    }

    fn chat_whole<'a>(
        &'a self,
        request: &'a ChatRequest,
        gate: Arc<dyn SendGate>,
    ) -> Box<dyn ChatStream + 'a> {
        match self.held.get() {
            Ok(_) => self.start_stream(request, gate, AdapterWork::WholeChat),
            Err(_) => self.here.chat_whole(request, gate),
        }
    }

    fn has_endpoint(&self, endpoint: SideEndpoint) -> bool {
        self.here.has_endpoint(endpoint)
    }

    fn ask_endpoint<'a>(
        &'a self,
        request: &'a SideRequest,
        gate: Arc<dyn SendGate>,
    ) -> BoxFuture<'a, Result<Option<Value>, ToolError>> {
        match self.held.get() {
            Ok(_) => Box::pin(self.ask_process(request, gate)),
            Err(_) => self.here.ask_endpoint(request, gate),
        }
    }

    fn confinement(&self) -> Confinement {
        describe_confinement(self.held.get(), self.process.last_run())
    }
}

/// Kind of work that a request is: with pieces, or whole.
type WorkKindOf = fn(ChatRequest) -> AdapterWork;

/// Answer of a child process. Dropping it closes the connection of the request.
struct HostedStream<'a> {
    process: Arc<ModelProcess>,
    /// Gate that permits each sending.
    gate: Arc<dyn SendGate>,
    /// Request before its first event was requested. `None` afterwards.
    unsent: Option<(&'a ChatRequest, WorkKindOf)>,
    /// Reader of the answer. `None` before and after it.
    reader: Option<AnswerReader>,
}

impl ChatStream for HostedStream<'_> {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        Box::pin(async move {
            // Moved into the future and back: a future that is dropped before its end cancels the request.
            let reader = match self.unsent.take() {
                Some((request, to_work)) => {
                    let limit = self.process.limits().total;
                    Some(self.process.send_work(to_work(request.clone()), limit)?)
                }
                None => self.reader.take(),
            };
            let Some(reader) = reader else {
                return Ok(None);
            };
            match reader.next_line(self.gate.as_ref()).await? {
                Some(HostedLine::Event { event }) => {
                    self.reader = Some(reader);
                    Ok(Some(event))
                }
                None => Ok(None),
                // The table of requests and the reader let no other line through.
                Some(
                    HostedLine::Sending { .. }
                    | HostedLine::SendingFailed { .. }
                    | HostedLine::Text { .. }
                    | HostedLine::Note { .. }
                    | HostedLine::Output { .. }
                    | HostedLine::Document { .. }
                    | HostedLine::Error { .. }
                    | HostedLine::Cancelled,
                ) => Err(AgentError::from(SandboxError::Stopped).into_tool_error(0)),
            }
        })
    }
}
