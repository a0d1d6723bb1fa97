//! The adapter for a llama.cpp server.
//!
//! Owns: the order of probes, and which of the two wires a task takes. Never: needs a model's name; a server
//! with one model ignores it.

use agentos_generic_http::{Fault, Found, Hints, Reason, Server, ServerSettings};
use agentos_net::{Deadline, HttpClient, HttpUrl};
use agentos_openai::{ChatWire, LimitField, ModelList};
use agentos_tool::{
    Ability, Adapter, BoxFuture, ProgressSink, Timestamp, ToolCapabilities, ToolError, ToolHealth,
    ToolOutput, ToolTask, prompt,
};
use serde_json::{Value, json};

use crate::CompletionWire;
use crate::props::Props;

const HINTS: Hints = Hints {
    start: "start `llama-server -m MODEL.gguf --port 8080`",
    load: "start llama-server with a model (`-m MODEL.gguf`)",
    address: "http://localhost:8080",
};

/// The wire a task takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LlamaCppMode {
    /// `POST /completion` (`llamacpp_completion` in profiles).
    #[default]
    Completion,
    /// `POST /v1/chat/completions` (`openai_compatible` in profiles).
    OpenAi,
}

/// A llama.cpp server.
#[derive(Debug, Clone)]
pub struct LlamaCpp {
    server: Server,
    mode: LlamaCppMode,
}

impl LlamaCpp {
    /// An adapter from settings; nothing is sent yet.
    #[must_use]
    pub fn new(settings: ServerSettings, mode: LlamaCppMode, http: HttpClient) -> Self {
        Self {
            server: Server::new(settings, HINTS, http),
            mode,
        }
    }

    /// `/health` tells only if it is still loading: it asks for no key and says nothing of the model. `/props`
    /// always asks for the key and no other service has it; the list tells the model.
    async fn probe(&self, root: &HttpUrl, deadline: &Deadline) -> Result<Found, Fault> {
        match self.server.get(root.join("health"), deadline).await {
            Ok(_) => {}
            // Without the path an older version, or another service, which `/props` tells apart.
            Err(fault) if fault.reason == Reason::WrongPath => {}
            Err(fault) => return Err(fault),
        }
        let props = Props::read(&self.server.get(root.join("props"), deadline).await?)?;
        let list = ModelList::read(&self.server.get(root.join("v1/models"), deadline).await?)?;
        let found = list.choose(self.server.settings().named_model())?;
        if found.remark == Some(Reason::NotLoaded) && !props.loads_on_demand {
            return Err(Fault::from(Reason::LoadingOff).listing(found.models));
        }
        Ok(Found {
            context_window: props.context_window.or(found.context_window),
            ..found
        })
    }

    async fn answer(
        &self,
        task: &ToolTask,
        progress: &dyn ProgressSink,
        deadline: &Deadline,
    ) -> Result<ToolOutput, ToolError> {
        let base = self
            .server
            .base()
            .map_err(|fault| self.server.error(&fault, deadline))?;
        let root = base.without_last("v1");
        let asked = (task, self.server.settings().named_model());
        match self.mode {
            LlamaCppMode::OpenAi => {
                let wire = ChatWire::new(LimitField::MaxTokens);
                self.server
                    .ask(&wire, &root.join("v1"), asked, deadline, progress)
                    .await
            }
            LlamaCppMode::Completion => {
                let wire = self
                    .completion_wire(task, &root, deadline)
                    .await
                    .map_err(|fault| self.server.error(&fault, deadline))?;
                self.server.ask(&wire, &root, asked, deadline, progress).await
            }
        }
    }

    /// The server knows its model's chat template; a plain prompt makes most models ramble. Servers without
    /// the path, and models without a template, get the plain prompt.
    async fn completion_wire(
        &self,
        task: &ToolTask,
        root: &HttpUrl,
        deadline: &Deadline,
    ) -> Result<CompletionWire, Fault> {
        let mut body = json!({"messages": [
            {"role": "system", "content": prompt::system(task)},
            {"role": "user", "content": prompt::user(task)},
        ]});
        if let (Some(model), Some(body)) = (self.server.settings().named_model(), body.as_object_mut()) {
            body.insert("model".to_owned(), model.into());
        }
        match self
            .server
            .post(root.join("apply-template"), body, deadline)
            .await
        {
            Ok(answer) => Ok(answer
                .get("prompt")
                .and_then(Value::as_str)
                .filter(|text| text.contains(task.instruction.trim()))
                .map_or_else(CompletionWire::default, |text| {
                    CompletionWire::with_prompt(text.to_owned())
                })),
            Err(fault) if is_without_template(fault.reason) => Ok(CompletionWire::default()),
            Err(fault) => Err(fault),
        }
    }
}

fn is_without_template(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::WrongPath
            | Reason::ErrorIn200
            | Reason::Rejected
            | Reason::ServerError
            | Reason::Html
            | Reason::NotJson
    )
}

impl Adapter for LlamaCpp {
    fn provider(&self) -> &str {
        &self.server.settings().provider
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(async move {
            let deadline = self.server.probe_deadline();
            let found = match self.server.base() {
                Ok(base) => self.probe(&base.without_last("v1"), &deadline).await,
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
        can.chat = Ability::from(self.mode == LlamaCppMode::OpenAi);
        can.grammar = Ability::Yes;
        can.json_mode = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
