//! The adapter for a server of which only the wire is known.
//!
//! Owns: its health check: `/health` first, if the server has it, then a request for one token, since nothing else is known
//! of such a server. Never: takes status 200 of `/health` as proof that the wire is right.

use std::sync::Arc;

use agentos_model::ChatRequest;
use agentos_tool::BoxFuture;

use crate::{
    Fault, ModelRequest, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall, ServerHints, Service,
    Wire,
};

/// Server with any [`Wire`].
#[derive(Clone)]
pub struct PlainServer {
    path: String,
    wire: Arc<dyn Wire>,
}

impl PlainServer {
    /// Makes the service of a server that takes tasks at `path` below the base URL.
    #[must_use]
    pub fn new(path: &str, wire: Arc<dyn Wire>) -> Self {
        let path = path.to_owned();
        Self { path, wire }
    }

    async fn probe_with_token(&self, call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        match call.get(call.base.join("health")).await {
            Ok(_) => {}
            // Most servers of which only the wire is known have no `/health`.
            Err(fault) if is_no_health_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        let chat = ChatRequest::from_text("Say ok.");
        let job = ModelRequest {
            stable_messages: 0,
            chat: &chat,
            messages: &chat.messages,
            model: call.wanted_model(),
            stream: false,
            max_tokens: Some(1),
            temperature: None,
            thinking: None,
            top_p: None,
            seed: None,
            stop: &[],
        };
        let mut body = self.wire.build_request(&job);
        // One token as one document proves as much as a stream and is simpler to judge. A template may ask for a stream.
        if let Some(stream) = body.get_mut("stream") {
            *stream = false.into();
        }
        let answer = call.post(call.base.join(&self.path), body).await?;
        let piece = self.wire.read_answer(&answer)?;
        Ok(ProbeFindings {
            model: piece.model.or(call.wanted_model().map(str::to_owned)),
            ..ProbeFindings::default()
        })
    }
}

impl Service for PlainServer {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start the server",
            load: "load a model",
            address: "http://localhost:8080",
            longer: "use a model with {tokens} tokens of context",
        }
    }

    fn probe_server<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(self.probe_with_token(call))
    }

    fn prepare_task<'a>(
        &'a self,
        call: ServerCall<'a>,
        _: ModelWork<'a>,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let model = call.wanted_model().map(str::to_owned);
            Ok(PreparedTask::new(
                call.base.join(&self.path),
                Arc::clone(&self.wire),
                model,
            ))
        })
    }
}

/// Returns true for answers that only mean that there is no `/health` path. The request for one token decides then.
fn is_no_health_path(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::WrongPath | Reason::ErrorIn200 | Reason::NotJson | Reason::Html | Reason::Fields
    )
}

#[cfg(test)]
mod tests;
