//! The adapter for Ollama: probes the server, selects the model, and requests a context that is long enough for the task.
//!
//! Owns: the order of probes, and the length of the context that is requested (`num_ctx`). Never: requests a longer
//! context than the model has.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, ModelMemory, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall, ServerHints, Service,
    SideOffer,
};
use agentos_tool::{Ability, BoxFuture, ToolCapabilities};
use serde_json::{Value, json};

use crate::OllamaWire;
use crate::chat::DEFAULT_LIMIT;
use crate::models::{find_listed, loaded_context, longest_context, read_names};

/// Bytes of a prompt per token, as a cautious estimate; code and English have three to four.
const BYTES_PER_TOKEN: usize = 3;
/// Shortest context length that is requested, in tokens. Longer ones are powers of two up to the model's
/// maximum: Ollama reloads the model whenever the length changes, so there should be few different ones.
const SHORTEST_CONTEXT: u64 = 4096;

/// [`Service`] for an Ollama server.
#[derive(Debug, Clone, Copy)]
pub struct OllamaService;

/// Model that a task will use.
struct InstalledModel {
    name: String,
    /// Names of all installed models.
    all: Vec<String>,
    /// Maximum context length in tokens. `None` if the server does not say.
    longest: Option<u64>,
}

impl OllamaService {
    /// Probes the server. `/api/version` comes first: only Ollama has that document, so it shows whether the
    /// address belongs to an Ollama server at all.
    async fn probe_documents(call: ServerCall<'_>) -> Result<ProbeFindings, Fault> {
        let version = call.get(call.base.join("api/version")).await?;
        version
            .get("version")
            .and_then(Value::as_str)
            .ok_or(Reason::Fields)?;
        let model = Self::choose_model(call).await?;
        let loaded = call.get(call.base.join("api/ps")).await?;
        let running = read_names(&loaded)?;
        let context = loaded_context(&loaded, &model.name);
        Ok(ProbeFindings {
            remark: (!running.contains(&model.name)).then_some(Reason::NotLoaded),
            context_window: context.or(model.longest),
            model: Some(model.name),
            models: model.all,
        })
    }

    /// Chooses the configured model. Without a configured one, chooses the only installed model.
    ///
    /// # Errors
    /// If no model is installed, the configured one is not installed, or several are installed and none is configured.
    async fn choose_model(call: ServerCall<'_>) -> Result<InstalledModel, Fault> {
        let all = read_names(&call.get(call.base.join("api/tags")).await?)?;
        let name = match (call.wanted_model(), all.as_slice()) {
            (_, []) => return Err(Reason::NoModels.into()),
            (Some(wanted), _) => find_listed(&all, wanted)
                .ok_or_else(|| Fault::from(Reason::UnknownModel).with_models(all.clone()))?
                .clone(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(Fault::from(Reason::MissingModel).with_models(all)),
        };
        Ok(InstalledModel {
            longest: Self::longest_context(call, &name).await?,
            name,
            all,
        })
    }

    /// Reads the model's maximum context length. `None` if the server does not say.
    ///
    /// # Errors
    /// If the model's document cannot be read.
    async fn longest_context(call: ServerCall<'_>, name: &str) -> Result<Option<u64>, Fault> {
        let show = call.post(call.base.join("api/show"), json!({"model": name}));
        longest_context(&show.await?)
    }

    /// Returns a note for the user if the model is loaded with a shorter context and must be reloaded. `None` if it need
    /// not be reloaded, is not loaded, or the server does not say.
    async fn reload_note(call: ServerCall<'_>, name: &str, context: u64) -> Option<String> {
        let loaded = loaded_context(&call.get(call.base.join("api/ps")).await.ok()?, name)?;
        (loaded < context).then(|| {
            format!("the model is loaded with {loaded} tokens of context; Ollama reloads it with {context}")
        })
    }

    /// Prepares the request for a task: the model, the context length and a note about a reload.
    ///
    /// # Errors
    /// If the model is not installed, or none can be chosen.
    async fn prepare_chat(call: ServerCall<'_>, work: ModelWork<'_>) -> Result<PreparedTask, Fault> {
        let settings = call.server.settings();
        let (name, longest) = match call.wanted_model() {
            Some(name) => match Self::longest_context(call, name).await {
                Ok(longest) => (name.to_owned(), longest),
                Err(fault) if fault.reason == Reason::UnknownModel => return Err(fault),
                // Only the length is needed here. The request for the task will report any other error better.
                Err(_) => (name.to_owned(), None),
            },
            None => {
                let model = Self::choose_model(call).await?;
                (model.name, model.longest)
            }
        };
        // Without a requested length, the server uses a default that depends on the machine's memory, and cuts longer
        // prompts without an error.
        let limit = work.chat.max_output_tokens.or(settings.max_tokens);
        let longest = match (longest, settings.context_window) {
            (Some(of_model), Some(configured)) => Some(of_model.min(configured)),
            (one, other) => one.or(other),
        };
        let context = context_for(work.chat.count_bytes(), limit.unwrap_or(DEFAULT_LIMIT), longest);
        let notes = Self::reload_note(call, &name, context).await;
        let url = call.base.join("api/chat");
        Ok(PreparedTask {
            notes: notes.into_iter().collect(),
            context_window: longest,
            ..PreparedTask::new(url, Arc::new(OllamaWire::new(context)), Some(name))
        })
    }
}

/// Computes the context length for a prompt of `prompt_bytes` bytes and an answer of `answer` tokens, at most `longest`.
/// The length is rounded up to a power of two, so that tasks of similar size do not make Ollama reload the model.
fn context_for(prompt_bytes: usize, answer: u64, longest: Option<u64>) -> u64 {
    let prompt = u64::try_from(prompt_bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
    let need = prompt.saturating_add(answer);
    let wanted = need
        .checked_next_power_of_two()
        .unwrap_or(need)
        .max(SHORTEST_CONTEXT);
    longest.map_or(wanted, |longest| wanted.min(longest))
}

impl Service for OllamaService {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start Ollama (`ollama serve`)",
            load: "get a model with `ollama pull MODEL`",
            address: "http://localhost:11434",
            longer: "use a model with {tokens} tokens of context, and at least that `capabilities.context_window` in the profile",
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
        Box::pin(Self::prepare_chat(call, work))
    }

    fn model_memory(&self) -> Option<&dyn ModelMemory> {
        Some(self)
    }

    fn side_offer(&self) -> SideOffer {
        SideOffer::OpenAiAtRoot
    }

    fn extend_capabilities(&self, mut can: ToolCapabilities) -> ToolCapabilities {
        can.chat = Ability::Yes;
        can.json_mode = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
