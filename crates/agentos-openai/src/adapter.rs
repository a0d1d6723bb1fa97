//! The adapter for OpenAI and for any server that speaks its chat wire.
//!
//! Owns: which probe proves key and model. Never: picks a model among several.

use agentos_generic_http::{Fault, Found, Hints, Reason, Server, ServerSettings};
use agentos_net::{Deadline, HttpClient, HttpUrl};
use agentos_tool::{
    Ability, Adapter, BoxFuture, ProgressSink, Timestamp, ToolCapabilities, ToolError, ToolHealth,
    ToolOutput, ToolTask,
};
use serde_json::Value;

use crate::{ChatWire, LimitField, ModelList};

const VENDOR_HOST: &str = "api.openai.com";

const HINTS: Hints = Hints {
    start: "start the server",
    load: "load a model on the server",
    address: "https://api.openai.com/v1",
};

/// Whose server it is: they differ in the probe that proves most and in one parameter's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Vendor,
    Compatible,
}

/// OpenAI, or a compatible server.
#[derive(Debug, Clone)]
pub struct OpenAi {
    server: Server,
    dialect: Dialect,
}

impl OpenAi {
    /// An adapter from settings; nothing is sent yet.
    #[must_use]
    pub fn new(settings: ServerSettings, http: HttpClient) -> Self {
        let url = settings
            .base_url
            .as_deref()
            .and_then(|url| HttpUrl::parse(url).ok());
        let dialect = match url {
            Some(url) if url.host() == VENDOR_HOST => Dialect::Vendor,
            Some(_) | None => Dialect::Compatible,
        };
        Self {
            server: Server::new(settings, HINTS, http),
            dialect,
        }
    }

    /// The vendor's own API knows each model by its path; elsewhere only the list is common to all.
    async fn probe(&self, base: &HttpUrl, deadline: &Deadline) -> Result<Found, Fault> {
        let wanted = self.server.settings().named_model();
        if self.dialect == Dialect::Compatible {
            let list = self.server.get(base.join("models"), deadline).await?;
            return ModelList::read(&list)?.choose(wanted);
        }
        let model = wanted.ok_or(Reason::MissingModel)?;
        let path = format!("models/{model}");
        let answer = self.server.get(base.join(&path), deadline).await?;
        let id = answer.get("id").and_then(Value::as_str).ok_or(Reason::Fields)?;
        Ok(Found {
            model: Some(id.to_owned()),
            models: vec![id.to_owned()],
            ..Found::default()
        })
    }

    async fn answer(
        &self,
        task: &ToolTask,
        progress: &dyn ProgressSink,
        deadline: &Deadline,
    ) -> Result<ToolOutput, ToolError> {
        let fail = |fault: Fault| self.server.error(&fault, deadline);
        let base = self.server.base().map_err(fail)?;
        let found = match self.server.settings().named_model() {
            Some(model) => model.to_owned(),
            None => self
                .probe(&base, deadline)
                .await
                .map_err(fail)?
                .model
                .unwrap_or_default(),
        };
        let wire = ChatWire::new(match self.dialect {
            Dialect::Vendor => LimitField::MaxCompletionTokens,
            Dialect::Compatible => LimitField::MaxTokens,
        });
        self.server
            .ask(&wire, &base, (task, Some(&found)), deadline, progress)
            .await
    }
}

impl Adapter for OpenAi {
    fn provider(&self) -> &str {
        &self.server.settings().provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(async move {
            let deadline = self.server.probe_deadline();
            let found = match self.server.base() {
                Ok(base) => self.probe(&base, &deadline).await,
                Err(fault) => Err(fault),
            };
            self.server.health(found, &deadline, now)
        })
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let deadline = Server::run_deadline(task.limits.timeout_seconds);
            self.answer(task, progress, &deadline).await
        })
    }

    fn supports(&self) -> ToolCapabilities {
        let mut can = self.server.settings().capabilities();
        can.chat = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
