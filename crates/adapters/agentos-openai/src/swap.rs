//! llama-swap, a server in front of others: which of them run, starting one, and stopping it.
//!
//! Owns: its requests. Never: takes another compatible server for it; only llama-swap has `/running`.

use agentos_generic_http::{Fault, MemoryState, ModelMemory, Reason, ServerCall, ServerModel};
use agentos_tool::BoxFuture;
use serde_json::{Value, json};

use crate::{ModelList, OpenAiService};

impl ModelMemory for OpenAiService {
    fn list_models<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<Vec<ServerModel>, Fault>> {
        Box::pin(async move {
            let root = call.base.without_last("v1");
            let running = call
                .get(root.join("running"))
                .await
                .map_err(|fault| match fault.reason {
                    Reason::WrongPath
                    | Reason::ErrorIn200
                    | Reason::Html
                    | Reason::NotJson
                    | Reason::Rejected => Reason::NoLoading.into(),
                    _ => fault,
                })?;
            let running = running
                .get("running")
                .and_then(Value::as_array)
                .ok_or(Reason::NoLoading)?;
            let listed = ModelList::read(&call.get(root.join("v1/models")).await?)?;
            let models = listed.model_ids().into_iter().map(|name| {
                let mut entries = running.iter();
                let entry = entries.find(|entry| entry.get("model").and_then(Value::as_str) == Some(&name));
                let state = match entry.and_then(|entry| entry.get("state")?.as_str()) {
                    Some("ready") => MemoryState::Loaded,
                    Some("starting") => MemoryState::Loading,
                    // `stopping`, `stopped`, `shutdown`: a request starts it again.
                    Some(_) | None => MemoryState::Unloaded,
                };
                ServerModel::new(name, state)
            });
            Ok(models.collect())
        })
    }

    fn request_load<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            // Any request to a model starts it, and this one generates nothing.
            let url = call
                .base
                .without_last("v1")
                .join(&format!("upstream/{}/health", model.name));
            accept_text(call.get(url).await)
        })
    }

    fn request_unload<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let url = call
                .base
                .without_last("v1")
                .join(&format!("api/models/unload/{}", model.name));
            accept_text(call.post(url, json!({})).await)
        })
    }
}

/// Accepts an answer that is no JSON, such as `OK`, and a model without `/health`: the next look decides if it was done.
fn accept_text(answer: Result<Value, Fault>) -> Result<(), Fault> {
    match answer {
        Ok(_) => Ok(()),
        Err(fault) if matches!(fault.reason, Reason::NotJson | Reason::WrongPath) => Ok(()),
        Err(fault) => Err(fault),
    }
}
