//! Models in memory, which call a tool, quote everything that they are sent, or break down.
//!
//! Owns: the streams of these models. Never: reads a repository.

use std::sync::{Arc, Mutex};

use agentos_model::{CallPiece, ChatEvent, ChatFinish, ChatRequest, ChatStream, Model};
use agentos_tool::{BoxFuture, ErrorCategory, ExecutionMode, FinishReason, SendGate, ToolError, ToolFailure};
use serde_json::Value;

use super::CANARY;
use agentos_ground::proposals::ModelFacts;

/// A turn of a model: the model, its call, and what else happens.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) facts: ModelFacts,
    /// The call. `None` to have the session summarized.
    pub(super) call: Option<(&'static str, Value)>,
    /// Programs to which the model sends everything.
    pub(super) receivers: Vec<ModelFacts>,
    /// True if the model breaks down after its call.
    pub(super) breaks: bool,
}

/// Model that makes one call, and then quotes all that it was sent.
pub(super) struct QuotingModel<'w> {
    pub(super) asked: Asked,
    pub(super) call: Mutex<Option<(&'static str, Value)>>,
    /// Texts that models of a cloud received.
    pub(super) cloud: &'w Mutex<Vec<String>>,
}

impl Model for QuotingModel<'_> {
    fn provider_name(&self) -> &str {
        &self.asked.facts.provider
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest, _gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a> {
        let sent = format!("{request:?}");
        let last: Vec<&str> = sent
            .split(CANARY)
            .skip(1)
            .filter_map(|text| text.get(..8))
            .collect();
        let answer = last
            .iter()
            .map(|text| format!("{CANARY}{text} "))
            .collect::<String>();
        if self.asked.facts.execution_mode == ExecutionMode::Cloud || !self.asked.receivers.is_empty() {
            self.cloud.lock().unwrap().push(sent);
        }
        let is_over = self.asked.breaks && self.call.lock().unwrap().is_none();
        if is_over {
            return Box::new(BrokenStream);
        }
        let (event, finish) = match self.call.lock().unwrap().take() {
            Some((name, arguments)) => {
                let piece = CallPiece {
                    id: Some("c".to_owned()),
                    name: Some(name.to_owned()),
                    arguments: arguments.to_string(),
                    ..CallPiece::default()
                };
                (ChatEvent::ToolCall(piece), FinishReason::ToolCalls)
            }
            None => {
                let text = format!("I saw: {answer}.");
                (ChatEvent::Text { text }, FinishReason::Stop)
            }
        };
        let end = ChatFinish {
            finish,
            model_id: None,
            endpoint: None,
            latency_ms: 1,
            warnings: Vec::new(),
        };
        Box::new(EventList(vec![ChatEvent::Finish(end), event]))
    }
}

struct EventList(Vec<ChatEvent>);

impl ChatStream for EventList {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.0.pop())))
    }
}

/// Stream of a server that is gone.
struct BrokenStream;

impl ChatStream for BrokenStream {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        let error = ToolError {
            failure: ToolFailure::Failed,
            category: ErrorCategory::Network,
            detail: "refused".to_owned(),
            health: None,
            message: "the server is gone".to_owned(),
            causes: Vec::new(),
            advice: Box::default(),
            endpoint: None,
            latency_ms: 0,
        };
        Box::pin(std::future::ready(Err(error)))
    }
}
