//! The adapter for Ollama.
//!
//! Owns: the order of probes, and the length of the context that is asked for. Never: asks for a longer context than
//! the model has.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, Hints, HttpAdapter, PreparedTask, ProbeFindings, Reason, ServerCall, ServerSettings, Service,
};
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
    async fn find(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        let version = call.get(call.base.join("api/version")).await?;
        version
            .get("version")
            .and_then(Value::as_str)
            .ok_or(Reason::Fields)?;
        let model = Self::model(call).await?;
        let loaded = call.get(call.base.join("api/ps")).await?;
        let running = names(&loaded)?;
        let context = loaded_context(&loaded, &model.name);
        Ok(ProbeFindings {
            remark: (!running.contains(&model.name)).then_some(Reason::NotLoaded),
            context_window: context.or(model.longest),
            model: Some(model.name),
            models: model.all,
        })
    }

    /// The wanted model, or the only one.
    async fn model(call: ServerCall<'_>) -> Result<Model, Fault> {
        let all = names(&call.get(call.base.join("api/tags")).await?)?;
        let name = match (call.wanted(), all.as_slice()) {
            (_, []) => return Err(Reason::NoModels.into()),
            (Some(wanted), _) => listed(&all, wanted)
                .ok_or_else(|| Fault::from(Reason::UnknownModel).listing(all.clone()))?
                .clone(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(Fault::from(Reason::MissingModel).listing(all)),
        };
        Ok(Model {
            longest: Self::longest(call, &name).await?,
            name,
            all,
        })
    }

    /// Tokens that the model takes at the most.
    async fn longest(call: ServerCall<'_>, name: &str) -> Result<Option<u64>, Fault> {
        let show = call.post(call.base.join("api/show"), json!({"model": name}));
        longest_context(&show.await?)
    }

    /// What is said before a model that is loaded with another context is loaded again.
    async fn reload_note(call: ServerCall<'_>, name: &str, context: u64) -> Option<String> {
        let loaded = loaded_context(&call.get(call.base.join("api/ps")).await.ok()?, name)?;
        (loaded < context).then(|| {
            format!("the model is loaded with {loaded} tokens of context and is loaded again with {context}")
        })
    }

    async fn ask(call: ServerCall<'_>, task: &ToolTask) -> Result<PreparedTask, Fault> {
        let settings = call.server.settings();
        let (name, longest) = match call.wanted() {
            Some(name) => match Self::longest(call, name).await {
                Ok(longest) => (name.to_owned(), longest),
                Err(fault) if fault.reason == Reason::UnknownModel => return Err(fault),
                // Only the length is wanted here; what else is wrong the task itself will meet.
                Err(_) => (name.to_owned(), None),
            },
            None => {
                let model = Self::model(call).await?;
                (model.name, model.longest)
            }
        };
        let limit = task.limits.max_output_tokens.or(settings.max_tokens);
        let longest = match (longest, settings.context_window) {
            (Some(of_model), Some(said)) => Some(of_model.min(said)),
            (one, other) => one.or(other),
        };
        let context = context_for(
            prompt::system(task).len() + prompt::user(task).len(),
            limit.unwrap_or(DEFAULT_LIMIT),
            longest,
        );
        let notes = Self::reload_note(call, &name, context).await;
        let url = call.base.join("api/chat");
        Ok(PreparedTask {
            notes: notes.into_iter().collect(),
            context_window: longest,
            ..PreparedTask::new(url, Arc::new(OllamaWire::new(context)), Some(name))
        })
    }
}

/// Tokens of context for a prompt of so many bytes and an answer, doubled up from the shortest so that tasks of
/// about the same size keep the model loaded. `longest` is what fits at the most.
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
            longer: "use a model with {tokens} tokens of context, and no smaller `capabilities.context_window` in the profile",
        }
    }

    fn probe<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(Self::find(call))
    }

    fn prepare<'a>(
        &'a self,
        call: ServerCall<'a>,
        task: &'a ToolTask,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
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
