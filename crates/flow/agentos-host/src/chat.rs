//! One message to a model, and its streamed answer. No repository is needed.
//!
//! Owns: the request made of a text and images, the answer's events, its report, and its turn in the ledger. Never: reads or lands anything in a repository,
//! or has a conversation of more than one turn.

use std::path::PathBuf;

use agentos_api::{NextStep, Notice, RunLimit};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_ledger::{CallRecord, TurnEnd, TurnRecord, TurnSource};
use agentos_model::{
    ChatEvent, ChatMessage, ChatReply, ChatRequest, ChatStream, ImageData, MessagePart, Model, ReplyBuilder,
};
use agentos_profile::Profile;
use agentos_tool::{
    Endpoint, ExactCost, ExecutionMode, FinishReason, RunId, TokenPrices, ToolError, ToolFailure, Usage,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::budgets::guard::{BudgetGuard, GuardedModel};
use crate::conversation::model::{measure_window, reserve_answer};
use crate::error::usage_error;
use crate::files;
use crate::health::read_tools;
use crate::host::Host;
use crate::hosted::{ModelProcesses, confine_model};
use crate::ledger::Ledger;
use crate::options::ProviderChoice;
use crate::pools::{self, PoolQuery};
use crate::provider_kind::ProviderKind;
use crate::tools::{Tools, make_server_tool};

/// Largest image, in bytes. The vendors' limits are between 5 and 20 MB.
const LARGEST_IMAGE: u64 = 20 << 20;

/// The order for one message to a model.
#[derive(Debug, Clone, Default)]
pub struct ChatSpec {
    /// The provider and its settings.
    pub provider: ProviderChoice,
    /// System prompt. `None` if there is none.
    pub system: Option<String>,
    /// Text of the message.
    pub text: String,
    /// Files of the images that are sent before the text.
    pub images: Vec<PathBuf>,
}

/// A message that is ready to be sent.
pub struct ChatCall {
    host: Host,
    ledger: Ledger,
    turn: RunId,
    model: Box<dyn Model>,
    model_name: Option<String>,
    request: ChatRequest,
    price: TokenPrices,
    /// Record of a pool's choice. `None` if the caller named a provider.
    choice: Option<Value>,
    /// Guard of the budgets. `None` if none is about the model.
    guard: Option<BudgetGuard>,
    /// Most tokens of the answer, if a budget is about the model.
    output_tokens: u64,
}

/// A model that messages can be sent to.
struct OpenedModel {
    model: Box<dyn Model>,
    /// Model that is requested. `None` if the profile names none.
    model_name: Option<String>,
    price: TokenPrices,
    execution_mode: ExecutionMode,
    /// Most tokens of an answer that is reserved for.
    output_tokens: u64,
}

/// The answer to a message, as it arrives. Dropping it closes the connection, which ends the generation.
///
/// Its end is recorded in the ledger, whatever it is: the whole answer, a failure, or that it was dropped before.
pub struct ChatAnswer<'a> {
    stream: Box<dyn ChatStream + 'a>,
    reply: ReplyBuilder,
    call: &'a ChatCall,
    /// False until an event was requested: before that, nothing was sent.
    is_sent: bool,
    is_recorded: bool,
    /// Reservation of the call. `None` if nothing is reserved.
    reservation: Option<String>,
    /// True after the first piece of the answer.
    has_begun: bool,
}

/// The output of `agentos chat send --json`: a complete answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChatReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The provider.
    pub provider: String,
    /// Model that answered, as the answer names it. `None` if it names none.
    pub model_id: Option<String>,
    /// Reason why the model stopped. Only with `stop` is the answer certainly complete.
    pub finish: FinishReason,
    /// The text of the answer. Untrusted.
    pub text: String,
    /// The message of the model with all its parts, thinking included. Untrusted.
    pub message: ChatMessage,
    /// Tokens. `None` if the server did not report them.
    pub usage: Option<Usage>,
    /// Cost of the tokens by the profile's price, in millionths of a US dollar. `None` if it is unknown.
    pub cost_micro_usd: Option<u64>,
    /// Address of the server that answered. `None` if it is unknown.
    pub endpoint: Option<Endpoint>,
    /// Milliseconds from the request to the last byte.
    pub latency_ms: u64,
    /// Warnings for a person.
    pub warnings: Vec<String>,
}

impl ChatReport {
    /// Returns why the answer is not a whole one, with the exit status. `None` if it is whole, or the server gave no reason for its
    /// end.
    #[must_use]
    pub fn find_fault(&self) -> Option<EffectError> {
        let fault = |cause, message: &str| EffectError::new(cause, "unfinished-answer", message);
        match self.finish {
            FinishReason::Stop | FinishReason::Unknown => None,
            FinishReason::Length => Some(
                fault(Cause::Limit, "the answer was cut off by the token limit").suggest_steps([
                    NextStep::RaiseLimit {
                        limit: RunLimit::OutputTokens,
                    },
                ]),
            ),
            FinishReason::ContentFilter => {
                let refused = fault(Cause::Tool, "the provider filtered or refused the answer");
                Some(refused.hint("ask in other words, or ask another provider"))
            }
            FinishReason::ToolCalls => {
                let called = fault(Cause::Tool, "the model called a tool instead of answering");
                Some(called.hint("no tool was offered: ask for an answer in words, or ask another model"))
            }
        }
    }
}

impl Host {
    /// Prepares a message to a model. Sends nothing yet; notices are reported now.
    ///
    /// # Errors
    /// If the provider is not a server, its profile is invalid, or an image cannot be read.
    pub fn prepare_chat(&self, spec: &ChatSpec, run: &RunId) -> Result<ChatCall, EffectError> {
        let message = self.make_message(&spec.text, &spec.images)?;
        let query = PoolQuery {
            message: spec.text.clone(),
            images: spec.images.len(),
            context_chars: spec.system.as_ref().map_or(0, |text| text.chars().count() as u64),
            ..PoolQuery::default()
        };
        let pinned = pools::pin_member(self, &spec.provider, query)?;
        let provider = pinned.as_ref().map_or(&spec.provider, |pinned| &pinned.provider);
        let opened = self.open_provider(provider, &ModelProcesses::new())?;
        let guarded = GuardedModel {
            session: None,
            provider: opened.model.provider_name().to_owned(),
            model: opened.model_name.clone(),
            execution_mode: opened.execution_mode,
            price: opened.price.clone(),
        };
        let guard = BudgetGuard::open(self, guarded)?;
        let request = ChatRequest {
            system: spec.system.clone(),
            messages: vec![message],
            // An answer without a limit could cost more than what is reserved for it.
            max_output_tokens: match guard {
                Some(_) => Some(opened.output_tokens),
                None => spec.provider.max_output_tokens,
            },
            ..ChatRequest::default()
        };
        Ok(ChatCall {
            host: self.clone(),
            // Opened now: a message whose cost cannot be recorded is not sent.
            ledger: Ledger::open(self)?,
            turn: run.clone(),
            model: opened.model,
            model_name: opened.model_name,
            request,
            price: opened.price,
            choice: pinned.map(|pinned| pinned.record),
            guard,
            output_tokens: opened.output_tokens,
        })
    }

    /// Opens the model of a provider, in a confined process that is one of `processes`. Nothing is sent; notices are reported now.
    ///
    /// # Errors
    /// If the provider is not a server, or its profile is invalid.
    pub fn open_model(
        &self,
        provider: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<Box<dyn Model>, EffectError> {
        Ok(self.open_provider(provider, processes)?.model)
    }

    fn open_provider(
        &self,
        provider: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<OpenedModel, EffectError> {
        let tools = read_tools(self)?;
        let name = server_name(&tools, &provider.provider)?;
        let resolved = tools.resolve_profile(self, name, &provider.overrides)?;
        require_server(name, &resolved.profile)?;
        let mut tool = make_server_tool(self, &resolved)?;
        let hosting = tool.hosting.take().ok_or_else(|| not_a_server(name))?;
        let folder = models_folder(self)?;
        let model = confine_model(self, hosting, folder, processes, &mut tool.notices)?;
        tool.notices.into_iter().for_each(|notice| self.notify(notice));
        Ok(OpenedModel {
            model,
            model_name: resolved.profile.model.clone(),
            output_tokens: reserve_answer(
                measure_window(tool.window),
                provider.max_output_tokens.or(tool.max_tokens),
            ),
            execution_mode: resolved.profile.execution_mode(),
            price: tool.price,
        })
    }

    /// Makes a message of the user with images before its text.
    ///
    /// # Errors
    /// If an image cannot be read, or there is neither a text nor an image.
    pub(crate) fn make_message(&self, text: &str, images: &[PathBuf]) -> Result<ChatMessage, EffectError> {
        if text.trim().is_empty() && images.is_empty() {
            return Err(
                usage_error("the message is empty").hint("write it in quotes, or pipe it in with `-`")
            );
        }
        let images = images.iter().map(|file| self.read_image(file));
        let mut parts: Vec<MessagePart> = images.collect::<Result<_, _>>()?;
        parts.push(MessagePart::Text(text.to_owned()));
        Ok(ChatMessage {
            parts,
            ..ChatMessage::from_user("")
        })
    }

    fn read_image(&self, file: &std::path::Path) -> Result<MessagePart, EffectError> {
        let bytes = files::read_file(self.environment(), file, LARGEST_IMAGE)?;
        let media_type = image_type(&bytes).ok_or_else(|| {
            usage_error(format!("`{}` is not an image that models read", file.display()))
                .hint("convert it to PNG, JPEG, GIF or WebP")
        })?;
        Ok(MessagePart::Image(ImageData {
            media_type: media_type.to_owned(),
            base64: STANDARD.encode(bytes),
        }))
    }
}

impl ChatCall {
    /// Starts the answer. Nothing is sent before its first event is requested.
    #[must_use]
    pub fn start(&self) -> ChatAnswer<'_> {
        ChatAnswer {
            stream: self.model.chat(&self.request),
            reply: ReplyBuilder::default(),
            call: self,
            is_sent: false,
            is_recorded: false,
            reservation: None,
            has_begun: false,
        }
    }
}

impl ChatAnswer<'_> {
    /// Waits for the next event. `None` after the last. Must be awaited on a thread with a runtime that has timers and sockets;
    /// see [`crate::block_on`].
    ///
    /// # Errors
    /// If there is no complete answer.
    pub async fn next_event(&mut self) -> Result<Option<ChatEvent>, EffectError> {
        if !self.is_sent
            && let Some(guard) = &self.call.guard
        {
            // If this fails nothing is sent, so nothing is recorded.
            self.reservation = guard.reserve_request(&self.call.request, self.call.output_tokens)?;
        }
        self.is_sent = true;
        let event = self.stream.next_event().await.map_err(word_failure);
        let event = event.inspect_err(|error| {
            let code = error.code.to_string();
            self.record_end(
                TurnEnd::Failed { code: code.clone() },
                self.describe_call(None, Some(code)),
            );
        })?;
        if let Some(event) = &event {
            self.has_begun |= !matches!(event, ChatEvent::Note { .. });
            self.reply.add_event(event.clone());
        }
        Ok(event)
    }

    /// Returns the report of the whole answer, after its last event.
    ///
    /// # Errors
    /// If the answer has no end.
    pub fn finish_report(mut self) -> Result<ChatReport, EffectError> {
        let provider = self.call.model.provider_name();
        // Without its end, the answer is recorded when it is dropped.
        let reply = std::mem::take(&mut self.reply)
            .finish_reply(provider)
            .ok_or_else(|| {
                EffectError::new(Cause::Tool, "broken-answer", "the answer ended without its end")
            })?;
        self.record_end(TurnEnd::Answered, self.describe_call(Some(&reply), None));
        let ChatReply {
            message,
            text,
            usage,
            end,
        } = reply;
        Ok(ChatReport {
            version: 1,
            provider: provider.to_owned(),
            model_id: end.model_id,
            finish: end.finish,
            text,
            message,
            usage,
            cost_micro_usd: usage
                .and_then(|usage| self.call.price.cost(&usage))
                .map(ExactCost::micro_dollars),
            endpoint: end.endpoint,
            latency_ms: end.latency_ms,
            warnings: end.warnings,
        })
    }
}

impl ChatAnswer<'_> {
    /// Describes the call for the ledger. `reply` is the whole answer, if there is one.
    fn describe_call(&self, reply: Option<&ChatReply>, failure: Option<String>) -> CallRecord {
        // Counts before the end are too low, and a cost of them would look complete.
        let usage = reply.and_then(|reply| reply.usage);
        CallRecord {
            provider: self.call.model.provider_name().to_owned(),
            model: self.call.model_name.clone(),
            model_id: reply.and_then(|reply| reply.end.model_id.clone()),
            endpoint: reply.and_then(|reply| reply.end.endpoint.clone()),
            usage,
            price: (!self.call.price.is_unknown()).then(|| self.call.price.clone()),
            cost_usd: usage.and_then(|usage| self.call.price.cost(&usage)),
            latency_ms: reply.map_or(0, |reply| reply.end.latency_ms),
            finish: reply.map(|reply| reply.end.finish),
            failure,
            reservation: self.reservation.clone(),
        }
    }

    /// Writes the turn to the ledger. A failure is a notice: the answer was shown, and cannot be taken back.
    fn record_end(&mut self, end: TurnEnd, call: CallRecord) {
        if !self.is_sent || std::mem::replace(&mut self.is_recorded, true) {
            return;
        }
        if let Some(guard) = &self.call.guard {
            // Whoever failed before the first event sent nothing that is counted; a dropped answer was being written.
            let may_cost = self.has_begun || matches!(end, TurnEnd::Cancelled);
            guard.close_record(&call, may_cost);
        }
        let turn = TurnRecord {
            session: None,
            source: TurnSource::Message,
            repository: None,
            runs: Vec::new(),
            // Without a session, nobody could read them again.
            messages: Vec::new(),
            choice: self.call.choice.clone().map(Box::new),
            calls: vec![call],
            end,
        };
        if let Err(error) = self.call.ledger.record_turn(&self.call.turn, &turn) {
            let message = format!("the cost of this message is not in the ledger: {}", error.message);
            self.call.host.notify(Notice::new("ledger-unwritten", message));
        }
    }
}

impl Drop for ChatAnswer<'_> {
    fn drop(&mut self) {
        let code = "cancelled".to_owned();
        self.record_end(TurnEnd::Cancelled, self.describe_call(None, Some(code)));
    }
}

/// Returns the name of a provider with a profile.
///
/// # Errors
/// If the provider is a program or a recording, or unknown.
pub(crate) fn server_name<'a>(tools: &Tools, provider: &'a ProviderKind) -> Result<&'a str, EffectError> {
    match provider {
        ProviderKind::Profile(name) => {
            tools.require_known(name)?;
            Ok(name)
        }
        ProviderKind::Replay | ProviderKind::AnyProgram | ProviderKind::ToolProgram => {
            Err(not_a_server(provider.name()))
        }
    }
}

/// Checks that a provider is reached over the network.
///
/// # Errors
/// If it is a program.
pub(crate) fn require_server(name: &str, profile: &Profile) -> Result<(), EffectError> {
    match profile.adapter.is_program() {
        true => Err(not_a_server(name)),
        false => Ok(()),
    }
}

/// Returns the folder in which the processes of models may have folders of their own.
///
/// # Errors
/// If there is no home folder.
pub(crate) fn models_folder(host: &Host) -> Result<PathBuf, EffectError> {
    let folder = host.environment().cache_dir();
    let folder = folder
        .ok_or_else(|| usage_error("there is no home folder to run the adapter in").hint("set `HOME`"))?;
    Ok(folder.join("models"))
}

fn not_a_server(provider: &str) -> EffectError {
    usage_error(format!(
        "`{provider}` is not a model behind a server, so no message can be sent to it"
    ))
    .hint("name a provider with an address")
}

/// Returns the media type of an image by its first bytes. `None` for all others: a name may lie, and servers look at the bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        _ => is_webp.then_some("image/webp"),
    }
}

/// Converts the failure of an answer, with the cause that a run would have.
pub(crate) fn word_failure(error: ToolError) -> EffectError {
    let cause = match error.failure {
        ToolFailure::Timeout => Cause::Limit,
        ToolFailure::Failed => Cause::Tool,
    };
    let mut effect = EffectError::new(cause, &error.detail, error.message).caused_by(error.causes);
    effect.hint = error.advice.fix;
    effect.suggest_steps(error.advice.next)
}

#[cfg(test)]
mod tests {
    use super::image_type;

    #[test]
    fn an_image_is_known_by_its_bytes() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"\x89PNG\r\n\x1a\n", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg>", None),
            (b"", None),
        ];
        for (bytes, media_type) in cases {
            assert_eq!(image_type(bytes), media_type);
        }
    }
}
