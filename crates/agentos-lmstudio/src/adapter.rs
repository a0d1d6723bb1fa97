//! The adapter for LM Studio's local server.
//!
//! Owns: the order of probes. Never: sends a placeholder for a model name.

use agentos_generic_http::{Fault, Found, Hints, Reason, Server, ServerSettings};
use agentos_net::{Deadline, HttpClient, HttpUrl};
use agentos_openai::{ChatWire, LimitField, ModelList};
use agentos_tool::{
    Ability, Adapter, BoxFuture, ProgressSink, Timestamp, ToolCapabilities, ToolError, ToolHealth,
    ToolOutput, ToolTask,
};

use crate::ModelState;

const HINTS: Hints = Hints {
    start: "start the server in LM Studio (Developer page, or `lms server start`)",
    load: "load a model in LM Studio (Developer page, or `lms load`)",
    address: "http://localhost:1234/v1",
};

/// LM Studio.
#[derive(Debug, Clone)]
pub struct LmStudio {
    server: Server,
}

impl LmStudio {
    /// An adapter from settings; nothing is sent yet.
    #[must_use]
    pub fn new(settings: ServerSettings, http: HttpClient) -> Self {
        Self {
            server: Server::new(settings, HINTS, http),
        }
    }

    /// The native list tells loaded from downloaded, so it comes first; older versions know an older one, or
    /// none. An unknown path is answered with status 200 and an error.
    async fn probe(&self, base: &HttpUrl, deadline: &Deadline) -> Result<Found, Fault> {
        let wanted = self.server.settings().named_model();
        let root = base.without_last("v1");
        match self.server.get(root.join("api/v1/models"), deadline).await {
            Ok(list) => return ModelState::read_v1(&list)?.choose(wanted),
            Err(fault) if is_unknown_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        match self.server.get(root.join("api/v0/models"), deadline).await {
            Ok(list) => return ModelState::read_v0(&list)?.choose(wanted),
            Err(fault) if is_unknown_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        let list = self.server.get(root.join("v1/models"), deadline).await?;
        let list = ModelList::read(&list)?;
        // This list has no states; without a name the first chat model stands for "whatever is loaded".
        let ids = list.ids();
        let first = ids.iter().find(|id| !id.contains("embed")).map(String::as_str);
        list.choose(wanted.or(first))
    }

    async fn answer(
        &self,
        task: &ToolTask,
        progress: &dyn ProgressSink,
        deadline: &Deadline,
    ) -> Result<ToolOutput, ToolError> {
        let fail = |fault: Fault| self.server.error(&fault, deadline);
        let base = self.server.base().map_err(fail)?;
        // Its newer versions refuse a name they do not know, so the placeholder has to be resolved.
        let model = match self.server.settings().named_model() {
            Some(model) => Some(model.to_owned()),
            None => self.probe(&base, deadline).await.map_err(fail)?.model,
        };
        let root = base.without_last("v1").join("v1");
        let wire = ChatWire::new(LimitField::MaxTokens);
        self.server
            .ask(&wire, &root, (task, model.as_deref()), deadline, progress)
            .await
    }
}

fn is_unknown_path(reason: Reason) -> bool {
    matches!(reason, Reason::ErrorIn200 | Reason::WrongPath)
}

impl Adapter for LmStudio {
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
