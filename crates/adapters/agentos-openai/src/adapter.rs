//! The adapter for OpenAI and for any server that speaks its chat wire.
//!
//! Owns: which probe proves key and model. Never: picks a model among several.

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

/// Whose server it is: they differ in the probe that proves most and in one parameter's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// OpenAI's own.
    Vendor,
    /// OpenRouter: its model list is public, so another document has to prove the key.
    PublicList,
    /// All others.
    Compatible,
}

/// OpenAI, or a compatible server.
#[derive(Debug, Clone)]
pub struct OpenAi {
    dialect: Dialect,
    limit: LimitField,
    organization: Option<String>,
}

impl OpenAi {
    /// An adapter from settings; nothing is sent yet.
    #[must_use]
    pub fn adapter(settings: ServerSettings, http: HttpClient) -> HttpAdapter<Self> {
        let service = Self::at(settings.base_url.as_deref());
        HttpAdapter::new(settings, service, http)
    }

    /// The service at an address.
    #[must_use]
    pub fn at(base_url: Option<&str>) -> Self {
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

    /// The same with another name for the limit of an answer.
    #[must_use]
    pub fn with_limit(mut self, limit: LimitField) -> Self {
        self.limit = limit;
        self
    }

    /// The same for one of several organizations that the key belongs to.
    #[must_use]
    pub fn of_organization(mut self, organization: Option<String>) -> Self {
        self.organization = organization;
        self
    }

    /// The vendor's own API knows each model by its path; elsewhere only the list is common to all.
    async fn find(&self, call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        match self.dialect {
            Dialect::Vendor => {}
            Dialect::PublicList => {
                let key = call.get(call.base.join("key")).await?;
                key.get("data")
                    .filter(|data| data.is_object())
                    .ok_or(Reason::Fields)?;
                return listed(call).await;
            }
            Dialect::Compatible => return listed(call).await,
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

async fn listed(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
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
        Box::pin(self.find(call))
    }

    fn prepare<'a>(
        &'a self,
        call: ServerCall<'a>,
        _: &'a ToolTask,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let model = match call.wanted() {
                Some(model) => model.to_owned(),
                None => self.find(call).await?.model.unwrap_or_default(),
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
