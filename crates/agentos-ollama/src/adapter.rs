//! The adapter for Ollama.
//!
//! Owns: the order of probes, and the length of the context that is asked for. Never: asks for a longer context than
//! the model has.

use std::sync::Arc;

use agentos_generic_http::{Ask, Call, Fault, Found, Hints, HttpAdapter, Reason, ServerSettings, Service};
use agentos_net::HttpClient;
use agentos_tool::{Ability, BoxFuture, ToolCapabilities, ToolTask, prompt};
use serde_json::{Value, json};

use crate::OllamaWire;
use crate::chat::DEFAULT_LIMIT;
use crate::models::{listed, loaded_context, longest_context, names};

/// Bytes of a prompt that make one token at the least; code and English have three to four.
const BYTES_PER_TOKEN: usize = 3;
/// A changed context loads the model again, so only these lengths are asked for.
const SHORTEST_CONTEXT: u64 = 4096;

/// Ollama.
#[derive(Debug, Clone, Copy)]
pub struct Ollama;

/// A model that is there.
struct Model {
    name: String,
    all: Vec<String>,
    longest: Option<u64>,
}

impl Ollama {
    /// An adapter from settings; nothing is sent yet.
    #[must_use]
    pub fn adapter(settings: ServerSettings, http: HttpClient) -> HttpAdapter<Self> {
        HttpAdapter::new(settings, Self, http)
    }

    /// The version is the document that no other service has.
    async fn find(call: Call<'_>) -> Result<Found, Fault> {
        let version = call.get(call.base.join("api/version")).await?;
        version
            .get("version")
            .and_then(Value::as_str)
            .ok_or(Reason::Fields)?;
        let model = Self::model(call).await?;
        let loaded = call.get(call.base.join("api/ps")).await?;
        let running = names(&loaded)?;
        let context = loaded_context(&loaded, &model.name);
        Ok(Found {
            remark: (!running.contains(&model.name)).then_some(Reason::NotLoaded),
            context_window: context.or(model.longest),
            model: Some(model.name),
            models: model.all,
        })
    }

    /// The wanted model, or the only one.
    async fn model(call: Call<'_>) -> Result<Model, Fault> {
        let all = names(&call.get(call.base.join("api/tags")).await?)?;
        let name = match (call.wanted(), all.as_slice()) {
            (_, []) => return Err(Reason::NoModels.into()),
            (Some(wanted), _) => listed(&all, wanted)
                .ok_or_else(|| Fault::from(Reason::UnknownModel).listing(all.clone()))?
                .clone(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(Fault::from(Reason::MissingModel).listing(all)),
        };
        let show = call
            .post(call.base.join("api/show"), json!({"model": name}))
            .await?;
        Ok(Model {
            longest: longest_context(&show)?,
            name,
            all,
        })
    }

    async fn ask(call: Call<'_>, task: &ToolTask) -> Result<Ask, Fault> {
        let settings = call.server.settings();
        let name = match call.wanted() {
            Some(name) => name.to_owned(),
            None => Self::model(call).await?.name,
        };
        let limit = task.limits.max_output_tokens.or(settings.max_tokens);
        let context = context_for(
            prompt::system(task).len() + prompt::user(task).len(),
            limit.unwrap_or(DEFAULT_LIMIT),
            settings.context_window,
        );
        Ok(Ask {
            url: call.base.join("api/chat"),
            wire: Arc::new(OllamaWire::new(context)),
            model: Some(name),
            notes: Vec::new(),
        })
    }
}

/// Tokens of context for a prompt of so many bytes and an answer, doubled up from the shortest so that tasks of
/// about the same size keep the model loaded. `longest` is what the profile says that fits.
fn context_for(prompt_bytes: usize, answer: u64, longest: Option<u64>) -> u64 {
    let prompt = u64::try_from(prompt_bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
    let need = prompt.saturating_add(answer);
    let wanted = need
        .checked_next_power_of_two()
        .unwrap_or(need)
        .max(SHORTEST_CONTEXT);
    longest.map_or(wanted, |longest| wanted.min(longest))
}

impl Service for Ollama {
    fn hints(&self) -> Hints {
        Hints {
            start: "start Ollama (`ollama serve`)",
            load: "get a model with `ollama pull MODEL`",
            address: "http://localhost:11434",
        }
    }

    fn probe<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Found, Fault>> {
        Box::pin(Self::find(call))
    }

    fn prepare<'a>(&'a self, call: Call<'a>, task: &'a ToolTask) -> BoxFuture<'a, Result<Ask, Fault>> {
        Box::pin(Self::ask(call, task))
    }

    fn supports(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can.json_mode = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
