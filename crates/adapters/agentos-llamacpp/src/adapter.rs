//! The adapter for a llama.cpp server.
//!
//! Owns: the order of probes, and the choice between the two wires. Never: requires a model's name, because a server with one
//! model ignores it.

use std::sync::Arc;

use agentos_generic_http::{
    Fault, ModelMemory, ModelWork, PreparedTask, ProbeFindings, Reason, ServerCall, ServerHints, Service,
    SideOffer,
};
use agentos_model::ChatRole;
use agentos_net::HttpUrl;
use agentos_openai::{ChatWire, LimitField, ModelList, write_messages};
use agentos_tool::{Ability, BoxFuture, EditFormat, ToolCapabilities};
use serde_json::{Value, json};

use crate::CompletionWire;
use crate::grammar::build_grammar;
use crate::props::ServerProps;

/// Wire for tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LlamaCppMode {
    /// `POST /completion` (`llamacpp_completion` in profiles).
    #[default]
    Completion,
    /// `POST /v1/chat/completions` (`openai_compatible` in profiles).
    OpenAi,
}

/// Service of a llama.cpp server.
#[derive(Debug, Clone, Copy)]
pub struct LlamaCppService {
    mode: LlamaCppMode,
}

impl LlamaCppService {
    /// Makes the service of a server whose tasks use this wire.
    #[must_use]
    pub fn new(mode: LlamaCppMode) -> Self {
        Self { mode }
    }
}

/// Probes the server with three documents, and the path of tasks with a request that generates nothing.
///
/// `/health` says if the model is still loading, but needs no key. `/props` requires the key, and no other service has it. The
/// model list contains the model's name.
async fn probe_documents(call: ServerCall<'_>, mode: LlamaCppMode) -> Result<ProbeFindings, Fault> {
    let root = call.base.without_last("v1");
    match call.get(root.join("health")).await {
        Ok(_) => {}
        // An older version has no `/health`, and neither has another service; `/props` then shows which it is.
        Err(fault) if fault.reason == Reason::WrongPath => {}
        Err(fault) => return Err(fault),
    }
    let props = ServerProps::read(&call.get(root.join("props")).await?)?;
    let list = ModelList::read(&call.get(root.join("v1/models")).await?)?;
    let found = list.choose_model(call.wanted_model())?;
    if found.remark == Some(Reason::NotLoaded) && !props.loads_on_demand {
        return Err(Fault::from(Reason::LoadingOff).with_models(found.models));
    }
    // Health must not load a model.
    if mode == LlamaCppMode::Completion && !props.is_sleeping {
        check_task_path(call, &root).await?;
    }
    let of_model = if props.is_router && found.remark.is_none() {
        routed_context(call, &root, found.model.as_deref()).await
    } else {
        None
    };
    Ok(ProbeFindings {
        context_window: of_model.or(props.context_window).or(found.context_window),
        ..found
    })
}

/// Checks that no other service answers at the path of tasks: a proxy can pass only some of the paths on.
///
/// llama.cpp refuses a request without a prompt in its own form, before the request takes a slot. An older version answers it,
/// so the request asks for no tokens. No model is named, so a router loads none.
///
/// # Errors
/// If the answer is certainly not from llama.cpp. A failure that it can have itself says nothing about the path.
async fn check_task_path(call: ServerCall<'_>, root: &HttpUrl) -> Result<(), Fault> {
    let nothing = json!({ "n_predict": 0, "stream": false });
    match call.post(root.join("completion"), nothing).await {
        Ok(answer) if answer.get("content").is_some_and(Value::is_string) => Ok(()),
        Ok(_) => Err(Reason::Fields.into()),
        Err(fault) => match fault.reason {
            Reason::WrongPath | Reason::Html | Reason::NotJson => Err(fault),
            _ => Ok(()),
        },
    }
}

/// Reads the context length of one of a router's models, without loading it. `None` if it is not loaded.
async fn routed_context(call: ServerCall<'_>, root: &HttpUrl, model: Option<&str>) -> Option<u64> {
    let url = root
        .join("props")
        .with_query("model", model?)
        // A question about a model must not load it.
        .with_query("autoload", "false");
    let props = call.get(url).await.ok()?;
    props
        .pointer("/default_generation_settings/n_ctx")?
        .as_u64()
        .filter(|window| *window > 0)
}

/// Reads the context length for a task. `None` if it is not known: the request for the task reports errors better.
async fn loaded_context(call: ServerCall<'_>, root: &HttpUrl) -> Option<u64> {
    let props = ServerProps::read(&call.get(root.join("props")).await.ok()?).ok()?;
    if props.is_router {
        return routed_context(call, root, call.wanted_model()).await;
    }
    props.context_window
}

/// Words a note if the server has another model than the named one. `None` if it has that model, or does not say.
///
/// A server with one model ignores the name in a request, so nothing else would show the mistake.
async fn other_model(call: ServerCall<'_>, root: &HttpUrl) -> Option<String> {
    let wanted = call.wanted_model()?;
    let list = call.get(root.join("v1/models")).await.ok()?;
    let list = ModelList::read(&list).ok()?;
    let fault = list.choose_model(Some(wanted)).err()?;
    // A router has several models, and refuses an unknown name itself.
    let [only] = fault.models.as_slice() else {
        return None;
    };
    (fault.reason == Reason::UnknownModel).then(|| {
        format!("the server has no model `{wanted}`: it answers with `{only}`, whatever name is requested")
    })
}

/// Lets the server count the tokens of a prompt. `None` if the prompt certainly fits, or the server does not say.
async fn count_tokens(
    call: ServerCall<'_>,
    root: &HttpUrl,
    prompt: &str,
    window: Option<u64>,
) -> Option<u64> {
    // No tokenizer makes more tokens than there are bytes, so a prompt of fewer bytes than half of the window certainly fits
    // together with an answer, and the request can be saved.
    let surely_fits = u64::try_from(prompt.len()).is_ok_and(|bytes| bytes < window.unwrap_or(0) / 2);
    if surely_fits || window.is_none() {
        return None;
    }
    // With the special tokens, because the server adds them to the prompt of a task too.
    let mut body = json!({"content": prompt, "add_special": true});
    // A router finds the model, and so the tokenizer, by this field. A server with one model ignores it.
    if let (Some(model), Some(body)) = (call.wanted_model(), body.as_object_mut()) {
        body.insert("model".to_owned(), model.into());
    }
    let answer = call.post(root.join("tokenize"), body).await.ok()?;
    u64::try_from(answer.get("tokens")?.as_array()?.len()).ok()
}

/// Makes the wire for `/completion`, with the prompt in the model's own chat template.
///
/// The server applies the template; with a plain prompt, most models do not stop at the end of the answer. Servers without that
/// path, and models without a template, get the plain prompt.
async fn completion_wire(
    call: ServerCall<'_>,
    root: &HttpUrl,
    work: ModelWork<'_>,
) -> Result<CompletionWire, Fault> {
    let messages = write_messages(work.chat.system.as_deref(), &work.chat.messages);
    let mut body = json!({ "messages": messages });
    if let (Some(model), Some(body)) = (call.wanted_model(), body.as_object_mut()) {
        body.insert("model".to_owned(), model.into());
    }
    match call.post(root.join("apply-template"), body).await {
        Ok(answer) => Ok(answer
            .get("prompt")
            .and_then(Value::as_str)
            // A template that drops the user's message would lose the task without an error, so the plain prompt is used.
            .filter(|text| text.contains(last_words(work).trim()))
            .map_or_else(CompletionWire::default, |text| {
                CompletionWire::with_prompt(text.to_owned())
            })),
        Err(fault) if is_without_template(fault.reason) => Ok(CompletionWire::default()),
        Err(fault) => Err(fault),
    }
}

/// Returns the user's last words: the instruction of an edit task, or the last message of the user.
fn last_words(work: ModelWork<'_>) -> String {
    let last = || {
        work.chat
            .messages
            .iter()
            .rfind(|message| message.role == ChatRole::User)
    };
    match work.task {
        Some(task) => task.instruction.clone(),
        None => last().map(|message| message.text()).unwrap_or_default(),
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

impl Service for LlamaCppService {
    fn server_hints(&self) -> ServerHints {
        ServerHints {
            start: "start `llama-server -m MODEL.gguf --port {port}`",
            load: "start llama-server with a model (`-m MODEL.gguf`)",
            address: "http://localhost:8080",
            longer: "start llama-server with `--ctx-size {tokens}` for each parallel slot",
        }
    }

    fn probe_server<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<ProbeFindings, Fault>> {
        Box::pin(probe_documents(call, self.mode))
    }

    fn prepare_task<'a>(
        &'a self,
        call: ServerCall<'a>,
        work: ModelWork<'a>,
    ) -> BoxFuture<'a, Result<PreparedTask, Fault>> {
        Box::pin(async move {
            let root = call.base.without_last("v1");
            let grammar = work.task.map(|task| build_grammar(call.server.settings(), task));
            let (grammar, note) = match grammar.unwrap_or(Ok(None)) {
                Ok(grammar) => (grammar, None),
                Err(why) => (None, Some(why.to_owned())),
            };
            let model = call.wanted_model().map(str::to_owned);
            // The length was read from the server when the files were chosen.
            let context_window = match work.task.and_then(|task| task.limits.loaded_context) {
                Some(loaded) => Some(loaded),
                None => loaded_context(call, &root).await,
            };
            let mut prompt_tokens = None;
            // `/completion` has only a prompt.
            let mode = match work.chat.is_text() {
                true => self.mode,
                false => LlamaCppMode::OpenAi,
            };
            let ask = match mode {
                LlamaCppMode::OpenAi => {
                    let wire = ChatWire::new(LimitField::MaxTokens)
                        .with_grammar(grammar)
                        .with_template(true);
                    PreparedTask::new(ChatWire::url_below(&root.join("v1")), Arc::new(wire), model)
                }
                LlamaCppMode::Completion => {
                    let marked = work
                        .task
                        .is_some_and(|task| task.edit_format == EditFormat::UnifiedDiff);
                    let wire = completion_wire(call, &root, work).await?;
                    let wire = wire.with_grammar(grammar).with_marked_lines(marked);
                    let prompt = wire.prompt(work.chat.system.as_deref(), &work.chat.messages);
                    prompt_tokens = count_tokens(call, &root, &prompt, context_window).await;
                    PreparedTask::new(root.join("completion"), Arc::new(wire), model)
                }
            };
            let other = other_model(call, &root).await;
            Ok(PreparedTask {
                notes: note.into_iter().chain(other).collect(),
                context_window,
                prompt_tokens,
                ..ask
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
        can.chat = Ability::from(self.mode == LlamaCppMode::OpenAi);
        can.grammar = Ability::Yes;
        can.json_mode = Ability::Yes;
        can
    }
}

#[cfg(test)]
mod tests;
