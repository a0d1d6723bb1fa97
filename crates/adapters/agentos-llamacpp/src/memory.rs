//! Loading and unloading by a router, which is `llama-server` without a model of its own.
//!
//! Owns: the router's requests. Never: loads a model by asking about it.

use agentos_generic_http::{Fault, MemoryState, ModelMemory, Reason, ServerCall, ServerModel};
use agentos_tool::BoxFuture;
use serde_json::{Value, json};

use crate::LlamaCppService;
use crate::props::ServerProps;

impl ModelMemory for LlamaCppService {
    fn list_models<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<Vec<ServerModel>, Fault>> {
        Box::pin(async move {
            let root = call.base.without_last("v1");
            let list = call.get(root.join("v1/models")).await?;
            let entries = list.get("data").and_then(Value::as_array).ok_or(Reason::Fields)?;
            Ok(entries.iter().filter_map(read_model).collect())
        })
    }

    fn request_load<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(request_change(call, "models/load", &model.name))
    }

    fn request_unload<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(request_change(call, "models/unload", &model.name))
    }
}

async fn request_change(call: ServerCall<'_>, path: &str, model: &str) -> Result<(), Fault> {
    let root = call.base.without_last("v1");
    // A server with one model has another set of paths, and its answer to an unknown one says nothing about models.
    let props = ServerProps::read(&call.get(root.join("props")).await?)?;
    if !props.is_router {
        return Err(Reason::NoLoading.into());
    }
    call.post(root.join(path), json!({ "model": model }))
        .await
        .map(drop)
}

/// Reads a model of the list. `None` if it has no name.
fn read_model(entry: &Value) -> Option<ServerModel> {
    let status = entry.get("status");
    let failed = status.and_then(|status| status.get("failed")?.as_bool()) == Some(true);
    let state = match status.and_then(|status| status.get("value")?.as_str()) {
        // A server with one model states nothing about it: it is loaded before the server answers.
        None | Some("loaded") => MemoryState::Loaded,
        Some("loading" | "downloading") => MemoryState::Loading,
        Some(_) if failed => MemoryState::Failed,
        // `sleeping`: its memory is free, and a request brings it back.
        Some(_) => MemoryState::Unloaded,
    };
    let aliases = entry.get("aliases").and_then(Value::as_array);
    let aliases = aliases.into_iter().flatten().filter_map(Value::as_str);
    Some(ServerModel {
        other_names: aliases.map(str::to_owned).collect(),
        context_window: entry.pointer("/meta/n_ctx").and_then(Value::as_u64),
        memory_bytes: entry.pointer("/meta/size").and_then(Value::as_u64),
        failure: status
            .and_then(|status| status.get("exit_code")?.as_i64())
            .filter(|_| failed)
            .map(|code| format!("its process ended with exit code {code}")),
        ..ServerModel::new(entry.get("id")?.as_str()?, state)
    })
}
