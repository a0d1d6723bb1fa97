//! The adapter for Gemini. Its facts are from <https://ai.google.dev/api/generate-content> and
//! <https://ai.google.dev/api/models>.
//!
//! Owns: the probe that proves key and model. Never: picks a model.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall, ServerHints, Service,
};
use agentos_tool::{Ability, BoxFuture, ToolCapabilities};
use serde_json::Value;

use crate::ContentWire;

/// Service of Gemini.
#[derive(Debug, Clone, Copy)]
pub struct GeminiService;

impl GeminiService {
    async fn probe_model(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        let wanted = model_name(call)?;
        let document = call.get(call.base.join(&format!("models/{wanted}"))).await?;
        let name = document
            .get("name")
            .and_then(Value::as_str)
            .and_then(|name| name.strip_prefix("models/"))
            .ok_or(Reason::Fields)?;
        let methods = document
            .get("supportedGenerationMethods")
            .and_then(Value::as_array);
        // Embedding models are listed with the others and would only fail when the task is sent.
        if methods.is_some_and(|all| !all.iter().any(|method| method == "generateContent")) {
            return Err(Fault::from(Reason::UnknownModel).with_message("the model does not generate text"));
        }
        Ok(ProbeFindings {
            model: Some(name.to_owned()),
            models: vec![name.to_owned()],
            context_window: document.get("inputTokenLimit").and_then(Value::as_u64),
            remark: None,
        })
    }
}

/// Returns the model's name without the prefix `models/`, with which Google's own lists write it.
///
/// # Errors
/// [`Reason::MissingModel`] if no model is set.
fn model_name<'a>(call: ServerCall<'a>) -> Result<&'a str, Fault> {
    let wanted = call.wanted_model().ok_or(Reason::MissingModel)?;
    Ok(wanted.strip_prefix("models/").unwrap_or(wanted))
}

impl Service for GeminiService {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start the server",
            load: "see which models the key may use",
            address: "https://generativelanguage.googleapis.com/v1beta",
            longer: "use a model with {tokens} tokens of context",
        }
    }

    fn key_header(&self) -> Option<&'static str> {
        Some("x-goog-api-key")
    }

    fn probe_server<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(Self::probe_model(call))
    }

    fn prepare_task<'a>(
        &'a self,
        call: ServerCall<'a>,
        _: ModelWork<'a>,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let model = model_name(call)?;
            let path = |method| format!("models/{model}:{method}");
            let url = call
                .base
                .join(&path("streamGenerateContent"))
                .with_query("alt", "sse");
            Ok(PreparedTask {
                whole_url: Some(call.base.join(&path("generateContent"))),
                ..PreparedTask::new(url, Arc::new(ContentWire), Some(model.to_owned()))
            })
        })
    }

    fn extend_capabilities(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can.json_mode = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
