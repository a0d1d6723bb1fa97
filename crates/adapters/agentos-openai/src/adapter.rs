//! The adapter for OpenAI and for any server that speaks its chat wire.
//!
//! Owns: the probe that proves key and model. Never: picks a model among several.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, MOST_IMAGE_TOKENS, ModelMemory, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall,
    ServerHints, Service, SideOffer, Wire,
};
use agentos_net::HttpUrl;
use agentos_tool::{Ability, BoxFuture, ExecutionMode, ToolCapabilities};
use serde_json::Value;

use crate::{ChatWire, LimitField, ModelList, ResponsesWire};

const VENDOR_HOST: &str = "api.openai.com";
const ROUTER_HOST: &str = "openrouter.ai";

/// Kind of server, which decides the probe and the name of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerKind {
    /// OpenAI's own server.
    Vendor,
    /// OpenRouter: its model list is public, so another document has to prove the key.
    PublicList,
    /// Any other server.
    Compatible,
}

/// API to which conversations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenAiApi {
    /// `/chat/completions`, which every compatible server has.
    Chat,
    /// `/responses`, OpenAI's newer one, which alone takes a model's thinking back.
    Responses,
}

/// Service of OpenAI, or of a compatible server.
#[derive(Debug, Clone)]
pub struct OpenAiService {
    kind: ServerKind,
    limit: LimitField,
    api: OpenAiApi,
    organization: Option<String>,
}

impl OpenAiService {
    /// Makes the service for an address.
    #[must_use]
    pub fn at_address(base_url: Option<&str>) -> Self {
        let url = base_url.and_then(|url| HttpUrl::parse(url).ok());
        let kind = match url.as_ref().map(HttpUrl::host) {
            Some(VENDOR_HOST) => ServerKind::Vendor,
            Some(ROUTER_HOST) => ServerKind::PublicList,
            Some(_) | None => ServerKind::Compatible,
        };
        Self {
            kind,
            limit: match kind {
                ServerKind::Vendor => LimitField::MaxCompletionTokens,
                ServerKind::PublicList | ServerKind::Compatible => LimitField::MaxTokens,
            },
            api: OpenAiApi::Chat,
            organization: None,
        }
    }

    /// Sets the name of the field that limits an answer.
    #[must_use]
    pub fn with_limit(mut self, limit: LimitField) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the API.
    #[must_use]
    pub fn with_api(mut self, api: OpenAiApi) -> Self {
        self.api = api;
        self
    }

    /// Sets the organization that pays, for a key that belongs to several.
    #[must_use]
    pub fn of_organization(mut self, organization: Option<String>) -> Self {
        self.organization = organization;
        self
    }

    /// Reads the document that proves most: OpenAI has one for each model, other servers have only the list in common.
    async fn probe_model(&self, call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        match self.kind {
            ServerKind::Vendor => {}
            ServerKind::PublicList => {
                let key = call.get(call.base.join("key")).await?;
                // The model list of OpenRouter is public. Only `GET {base}/key` refuses a wrong key.
                key.get("data")
                    .filter(|data| data.is_object())
                    .ok_or(Reason::Fields)?;
                return find_in_list(call).await;
            }
            ServerKind::Compatible => return find_in_list(call).await,
        }
        let model = call.wanted_model().ok_or(Reason::MissingModel)?;
        let answer = call.get(call.base.join(&format!("models/{model}"))).await?;
        let id = answer.get("id").and_then(Value::as_str).ok_or(Reason::Fields)?;
        Ok(ProbeFindings {
            model: Some(id.to_owned()),
            models: vec![id.to_owned()],
            ..ProbeFindings::default()
        })
    }
}

async fn find_in_list(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
    let list = call.get(call.base.join("models")).await.map_err(without_list)?;
    ModelList::read(&list)?.choose_model(call.wanted_model())
}

/// Says that a server may answer conversations although it has no list of models. A wrong base URL looks the same from here.
fn without_list(fault: Fault) -> Fault {
    match fault.reason {
        Reason::WrongPath => {
            fault.with_message("the list of models is missing; a conversation may work all the same")
        }
        _ => fault,
    }
}

impl Service for OpenAiService {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start the server",
            load: "load a model on the server",
            address: "https://api.openai.com/v1",
            longer: "use a model or a server setting with {tokens} tokens of context",
        }
    }

    fn most_image_tokens(&self, host: &str) -> Option<u64> {
        (host == VENDOR_HOST).then_some(MOST_IMAGE_TOKENS)
    }

    fn request_headers(&self) -> Vec<(&'static str, String)> {
        let organization = self.organization.iter();
        organization
            .map(|name| ("openai-organization", name.clone()))
            .collect()
    }

    fn probe_server<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(self.probe_model(call))
    }

    fn prepare_task<'a>(
        &'a self,
        call: ServerCall<'a>,
        _: ModelWork<'a>,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let model = match call.wanted_model() {
                Some(model) => model.to_owned(),
                // The wire requires a model, so without a name the list decides, as in the probe.
                None => self.probe_model(call).await?.model.unwrap_or_default(),
            };
            let is_own_server = call.server.settings().execution_mode == ExecutionMode::Local;
            let (url, wire): (HttpUrl, Arc<dyn Wire>) = match self.api {
                OpenAiApi::Chat => (
                    ChatWire::url_below(call.base),
                    Arc::new(ChatWire::new(self.limit).with_template(is_own_server)),
                ),
                OpenAiApi::Responses => (ResponsesWire::url_below(call.base), Arc::new(ResponsesWire)),
            };
            let settings = call.server.settings();
            let is_lost =
                self.api == OpenAiApi::Responses && (settings.seed.is_some() || !settings.stop.is_empty());
            let note = "`/responses` has neither a seed nor stop texts, so those of the profile are not sent";
            Ok(PreparedTask {
                notes: is_lost.then(|| note.to_owned()).into_iter().collect(),
                ..PreparedTask::new(url, wire, Some(model))
            })
        })
    }

    fn model_memory(&self) -> Option<&dyn ModelMemory> {
        match self.kind {
            // Services in the cloud have their models ready always.
            ServerKind::Vendor | ServerKind::PublicList => None,
            ServerKind::Compatible => Some(self),
        }
    }

    fn side_offer(&self) -> SideOffer {
        SideOffer::OpenAi
    }

    fn extend_capabilities(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
