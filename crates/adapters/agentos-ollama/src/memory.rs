//! Loading and unloading by requests without a prompt.
//!
//! Owns: these requests. Never: generates a token.

use agentos_generic_http::{Fault, MemoryState, ModelMemory, ServerCall, ServerModel};
use agentos_tool::BoxFuture;
use serde_json::{Value, json};

use crate::OllamaService;
use crate::models::{loaded_context, read_names};

/// Context length with which a model is loaded: that of the shortest tasks, since Ollama loads it again when the length changes.
const LOADED_CONTEXT: u64 = 4096;

impl ModelMemory for OllamaService {
    fn list_models<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<Vec<ServerModel>, Fault>> {
        Box::pin(async move {
            let installed = read_names(&call.get(call.base.join("api/tags")).await?)?;
            let loaded = call.get(call.base.join("api/ps")).await?;
            let running = read_names(&loaded)?;
            let models = installed.into_iter().map(|name| {
                let state = match running.contains(&name) {
                    true => MemoryState::Loaded,
                    false => MemoryState::Unloaded,
                };
                ServerModel {
                    // A name without a tag means `latest`.
                    other_names: name
                        .strip_suffix(":latest")
                        .map(str::to_owned)
                        .into_iter()
                        .collect(),
                    context_window: loaded_context(&loaded, &name),
                    memory_bytes: loaded_size(&loaded, &name),
                    ..ServerModel::new(name, state)
                }
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
            let options = json!({ "num_ctx": LOADED_CONTEXT });
            // Without `keep_alive`: how long an idle model stays is the server's setting.
            let body = json!({ "model": model.name, "stream": false, "options": options });
            call.post(call.base.join("api/generate"), body).await.map(drop)
        })
    }

    fn request_unload<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let body = json!({ "model": model.name, "stream": false, "keep_alive": 0 });
            call.post(call.base.join("api/generate"), body).await.map(drop)
        })
    }
}

/// Reads the bytes that a loaded model uses. `None` if it is not loaded.
fn loaded_size(loaded: &Value, model: &str) -> Option<u64> {
    let mut entries = loaded.get("models")?.as_array()?.iter();
    let entry = entries.find(|entry| entry.get("name").and_then(Value::as_str) == Some(model))?;
    entry.get("size")?.as_u64()
}
