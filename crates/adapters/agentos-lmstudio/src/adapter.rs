//! The adapter for LM Studio's local server.
//!
//! Owns: the order of probes. Never: sends a placeholder as a model's name.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, ModelMemory, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall, ServerHints, Service,
    SideOffer,
};
use agentos_openai::{ChatWire, LimitField, ModelList};
use agentos_tool::{Ability, BoxFuture, ToolCapabilities};

use crate::ModelState;

/// Service of LM Studio.
#[derive(Debug, Clone, Copy)]
pub struct LmStudioService;

impl LmStudioService {
    /// Reads the model lists, the most detailed first: `/api/v1` and `/api/v0` say which models are loaded, `/v1/models` does not.
    /// Older versions lack the first ones, and answer an unknown path with status 200 and an error.
    async fn probe_documents(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        let wanted = call.wanted_model();
        let root = call.base.without_last("v1");
        match call.get(root.join("api/v1/models")).await {
            Ok(list) => return ModelState::read_v1(&list)?.choose_model(wanted),
            Err(fault) if is_unknown_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        match call.get(root.join("api/v0/models")).await {
            Ok(list) => return ModelState::read_v0(&list)?.choose_model(wanted),
            Err(fault) if is_unknown_path(fault.reason) => {}
            Err(fault) => return Err(fault),
        }
        let list = call.get(root.join("v1/models")).await?;
        let list = ModelList::read(&list)?;
        // `/v1/models` does not say which model is loaded. Without a name, only one chat model leaves no choice.
        let ids = list.model_ids();
        let chat: Vec<&String> = ids.iter().filter(|id| !id.contains("embed")).collect();
        let only = match chat.as_slice() {
            [only] => Some(only.as_str()),
            _ => None,
        };
        list.choose_model(wanted.or(only))
    }
}

fn is_unknown_path(reason: Reason) -> bool {
    matches!(reason, Reason::ErrorIn200 | Reason::WrongPath)
}

impl Service for LmStudioService {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start the server in LM Studio (Developer page, or `lms server start`)",
            load: "load a model in LM Studio (Developer page, or `lms load`)",
            address: "http://localhost:1234/v1",
            longer: "load the model with `lms load MODEL --context-length {tokens}`",
        }
    }

    fn probe_server<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(Self::probe_documents(call))
    }

    fn prepare_task<'a>(
        &'a self,
        call: ServerCall<'a>,
        work: ModelWork<'a>,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let url = ChatWire::url_below(&call.base.without_last("v1").join("v1"));
            let prepared = |model| {
                PreparedTask::new(
                    url,
                    Arc::new(ChatWire::new(LimitField::MaxTokens).without_json_mode()),
                    model,
                )
            };
            // The length was read from the server when the files were chosen.
            let loaded = work.task.and_then(|task| task.limits.loaded_context);
            if let (Some(model), Some(loaded)) = (call.wanted_model(), loaded) {
                return Ok(PreparedTask {
                    context_window: Some(loaded),
                    ..prepared(Some(model.to_owned()))
                });
            }
            let found = Self::probe_documents(call).await;
            // Newer versions of LM Studio refuse unknown names, so the placeholder must be replaced by a name of the list. With a
            // name, the list only provides the length of the loaded context: the server cuts a longer prompt without an error.
            let (model, context_window) = match (call.wanted_model(), found) {
                (Some(model), Ok(found)) => (Some(model.to_owned()), found.context_window),
                (Some(model), Err(_)) => (Some(model.to_owned()), None),
                (None, found) => {
                    let found = found?;
                    (found.model, found.context_window)
                }
            };
            Ok(PreparedTask {
                context_window,
                ..prepared(model)
            })
        })
    }

    fn model_memory(&self) -> Option<&dyn ModelMemory> {
        Some(self)
    }

    fn side_offer(&self) -> SideOffer {
        SideOffer::OpenAiAtRoot
    }

    fn extend_capabilities(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
