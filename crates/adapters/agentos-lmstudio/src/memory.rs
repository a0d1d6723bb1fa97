//! Loading and unloading by `/api/v1/models`, which LM Studio has since version 0.4.
//!
//! Owns: these requests. Never: uses the program `lms`.

use agentos_generic_http::{Fault, MemoryState, ModelMemory, Reason, ServerCall, ServerModel};
use agentos_tool::BoxFuture;
use serde_json::{Value, json};

use crate::LmStudioService;

impl ModelMemory for LmStudioService {
    fn list_models<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<Vec<ServerModel>, Fault>> {
        Box::pin(async move {
            let url = call.base.without_last("v1").join("api/v1/models");
            let list = call.get(url).await.map_err(|fault| match fault.reason {
                // Versions before 0.4 answer an unknown path with status 200 and an error.
                Reason::ErrorIn200 | Reason::WrongPath => Reason::NoLoading.into(),
                _ => fault,
            })?;
            Ok(read_models(&list).ok_or(Reason::Fields)?)
        })
    }

    fn request_load<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let url = call.base.without_last("v1").join("api/v1/models/load");
            call.post(url, json!({ "model": model.name })).await.map(drop)
        })
    }

    fn request_unload<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let url = call.base.without_last("v1").join("api/v1/models/unload");
            // An instance is unloaded, not a model: requests at the same time may have loaded several.
            for instance in &model.other_names {
                call.post(url.clone(), json!({ "instance_id": instance })).await?;
            }
            Ok(())
        })
    }
}

/// Reads the models. `None` if the document has another shape.
fn read_models(list: &Value) -> Option<Vec<ServerModel>> {
    let entries = list.get("models")?.as_array()?;
    entries
        .iter()
        .map(|entry| {
            let instances = entry.get("loaded_instances")?.as_array()?;
            let names = instances
                .iter()
                .filter_map(|instance| instance.get("id")?.as_str());
            let context = |instance: &Value| instance.pointer("/config/context_length")?.as_u64();
            Some(ServerModel {
                failure: None,
                name: entry.get("key")?.as_str()?.to_owned(),
                other_names: names.map(str::to_owned).collect(),
                state: match instances.is_empty() {
                    true => MemoryState::Unloaded,
                    false => MemoryState::Loaded,
                },
                context_window: instances.first().and_then(context),
                memory_bytes: entry.get("size_bytes").and_then(Value::as_u64),
            })
        })
        .collect()
}
