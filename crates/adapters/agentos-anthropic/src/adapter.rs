//! The adapter for Anthropic, and for servers that speak its wire.
//!
//! Owns: the probe that proves key and model. Never: picks a model.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall, ServerHints, Service, SideOffer,
};
use agentos_tool::{Ability, BoxFuture, ToolCapabilities};
use serde_json::Value;

use crate::MessagesWire;

/// API version that this wire implements. The server refuses requests without the header `anthropic-version`.
const VERSION: &str = "2023-06-01";
const VENDOR_HOST: &str = "api.anthropic.com";
/// Most tokens of one image: the vendor scales an image down to 3.75 megapixels at most, and bills a token for 750 pixels.
const MOST_IMAGE_TOKENS: u64 = 5_000;

/// Service of Anthropic, and of compatible servers.
#[derive(Debug, Clone, Copy)]
pub struct AnthropicService;

impl AnthropicService {
    /// Reads the document of one model.
    ///
    /// It costs no tokens, resolves aliases, and requires a valid key, so it proves address, key and model in one request.
    async fn probe_model(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        let wanted = call.wanted_model().ok_or(Reason::MissingModel)?;
        // Users set the address with and without the version, as other wires have it.
        let root = call.base.without_last("v1");
        let model = call.get(root.join(&format!("v1/models/{wanted}"))).await?;
        if let Some(list) = model.get("data") {
            return in_list(list, wanted);
        }
        let id = model.get("id").and_then(Value::as_str).ok_or(Reason::Fields)?;
        Ok(ProbeFindings {
            model: Some(id.to_owned()),
            models: vec![id.to_owned()],
            context_window: model.get("max_input_tokens").and_then(Value::as_u64),
            remark: None,
        })
    }
}

/// Finds the model in a list, with which some compatible servers answer a request for one model.
fn in_list(list: &Value, wanted: &str) -> Result<ProbeFindings, Fault> {
    let entries = match list {
        Value::Array(entries) => entries.as_slice(),
        Value::Null => &[],
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(Reason::Fields.into());
        }
    };
    let ids: Option<Vec<String>> = entries
        .iter()
        .map(|entry| entry.get("id")?.as_str().map(str::to_owned))
        .collect();
    let models = ids.ok_or(Reason::Fields)?;
    if models.is_empty() {
        return Err(Reason::NoModels.into());
    }
    let entry = entries
        .iter()
        .find(|entry| entry.get("id").and_then(Value::as_str) == Some(wanted));
    match entry {
        Some(entry) => Ok(ProbeFindings {
            model: Some(wanted.to_owned()),
            models,
            context_window: entry.get("max_input_tokens").and_then(Value::as_u64),
            remark: None,
        }),
        None => Err(Fault::from(Reason::UnknownModel).with_models(models)),
    }
}

impl Service for AnthropicService {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start the server",
            load: "see which models the key may use",
            address: "https://api.anthropic.com",
            longer: "use a model with {tokens} tokens of context",
        }
    }

    fn key_header(&self) -> Option<&'static str> {
        Some("x-api-key")
    }

    fn most_image_tokens(&self, host: &str) -> Option<u64> {
        (host == VENDOR_HOST).then_some(MOST_IMAGE_TOKENS)
    }

    fn request_headers(&self) -> Vec<(&'static str, String)> {
        // Required: the server answers 400 without it.
        vec![("anthropic-version", VERSION.to_owned())]
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
            let model = call.wanted_model().ok_or(Reason::MissingModel)?.to_owned();
            let url = call.base.without_last("v1").join("v1/messages");
            Ok(PreparedTask::new(url, Arc::new(MessagesWire), Some(model)))
        })
    }

    fn side_offer(&self) -> SideOffer {
        SideOffer::AnthropicCount
    }

    fn extend_capabilities(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can.json_mode = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
