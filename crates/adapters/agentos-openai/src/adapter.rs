//! The adapter for OpenAI and for any server that speaks its chat wire.
//!
//! Owns: the probe that proves key and model. Never: picks a model among several.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, Hints, HttpAdapter, PreparedTask, ProbeFindings, Reason, ServerCall, ServerSettings, Service,
};
use agentos_net::{HttpClient, HttpUrl};
use agentos_tool::{Ability, BoxFuture, ToolCapabilities, ToolTask};
use serde_json::Value;

use crate::{ChatWire, LimitField, ModelList};

const VENDOR_HOST: &str = "api.openai.com";
const ROUTER_HOST: &str = "openrouter.ai";

/// Kind of server, which decides the probe and the name of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// OpenAI's own server.
    Vendor,
    /// OpenRouter: its model list is public, so another document has to prove the key.
    PublicList,
    /// Any other server.
    Compatible,
}

/// Service of OpenAI, or of a compatible server.
#[derive(Debug, Clone)]
pub struct OpenAi {
    dialect: Dialect,
    limit: LimitField,
    organization: Option<String>,
}

impl OpenAi {
    /// Makes an adapter of settings. Nothing is sent yet.
    #[must_use]
    pub fn adapter(settings: ServerSettings, http: HttpClient) -> HttpAdapter<Self> {
        let service = Self::at_address(settings.base_url.as_deref());
        HttpAdapter::new(settings, service, http)
    }

    /// Makes the service for an address.
    #[must_use]
    pub fn at_address(base_url: Option<&str>) -> Self {
        let url = base_url.and_then(|url| HttpUrl::parse(url).ok());
        let dialect = match url.as_ref().map(HttpUrl::host) {
            Some(VENDOR_HOST) => Dialect::Vendor,
            Some(ROUTER_HOST) => Dialect::PublicList,
            Some(_) | None => Dialect::Compatible,
        };
        Self {
            dialect,
            limit: match dialect {
                Dialect::Vendor => LimitField::MaxCompletionTokens,
                Dialect::PublicList | Dialect::Compatible => LimitField::MaxTokens,
            },
            organization: None,
        }
    }

    /// Sets the name of the field that limits an answer.
    #[must_use]
    pub fn with_limit(mut self, limit: LimitField) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the organization that pays, for a key that belongs to several.
    #[must_use]
    pub fn of_organization(mut self, organization: Option<String>) -> Self {
        self.organization = organization;
        self
    }

    /// Reads the document that proves most: OpenAI has one for each model, other servers have only the list in common.
    async fn probe_server(&self, call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        match self.dialect {
            Dialect::Vendor => {}
            Dialect::PublicList => {
                let key = call.get(call.base.join("key")).await?;
                key.get("data")
                    .filter(|data| data.is_object())
                    .ok_or(Reason::Fields)?;
                return find_in_list(call).await;
            }
            Dialect::Compatible => return find_in_list(call).await,
        }
        let model = call.wanted().ok_or(Reason::MissingModel)?;
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
    let list = call.get(call.base.join("models")).await?;
    ModelList::read(&list)?.choose(call.wanted())
}

impl Service for OpenAi {
    fn hints(&self) -> Hints {
        Hints {
            start: "start the server",
            load: "load a model on the server",
            address: "https://api.openai.com/v1",
            longer: "use a model or a server setting with {tokens} tokens of context",
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let organization = self.organization.iter();
        organization
            .map(|name| ("openai-organization", name.clone()))
            .collect()
    }

    fn probe<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(self.probe_server(call))
    }

    fn prepare<'a>(
        &'a self,
        call: ServerCall<'a>,
        _: &'a ToolTask,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let model = match call.wanted() {
                Some(model) => model.to_owned(),
                None => self.probe_server(call).await?.model.unwrap_or_default(),
            };
            let wire = Arc::new(ChatWire::new(self.limit));
            Ok(PreparedTask::new(ChatWire::below(call.base), wire, Some(model)))
        })
    }

    fn supports(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
