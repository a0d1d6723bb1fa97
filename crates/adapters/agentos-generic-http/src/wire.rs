//! The interface of a wire format.
//!
//! Owns: the input and output types of a wire. Never: sends anything.

use agentos_model::{ChatMessage, ChatPiece, ChatRequest, WireAbilities};
use agentos_tool::{FinishReason, ThinkingLevel, ToolTask, Usage};
use serde_json::Value;

use crate::Fault;

/// A conversation to continue, and the edit task that it is for.
#[derive(Debug, Clone, Copy)]
pub struct ModelWork<'a> {
    /// Conversation.
    pub chat: &'a ChatRequest,
    /// Edit task from which the conversation was made. `None` if it is no edit task.
    pub task: Option<&'a ToolTask>,
}

/// Conversation with the parameters of the settings.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// Conversation, of which the wire takes everything but the messages.
    pub chat: &'a ChatRequest,
    /// Messages as they fit the wire.
    pub messages: &'a [ChatMessage],
    /// Number of these messages, from the first one, that later requests repeat.
    pub stable_messages: usize,
    /// Model to request. `None` if the server chooses.
    pub model: Option<&'a str>,
    /// Ask for a stream instead of one document.
    pub stream: bool,
    /// Maximum tokens of the answer. `None` for no limit.
    pub max_tokens: Option<u64>,
    /// Sent only when set.
    pub temperature: Option<f64>,
    /// Sent only when set.
    pub top_p: Option<f64>,
    /// Sent only when set.
    pub seed: Option<u64>,
    /// Texts at which the answer ends; sent only if there are any.
    pub stop: &'a [String],
    /// Sent only when set, by wires that have a field for it.
    pub thinking: Option<ThinkingLevel>,
}

/// Piece of an answer, from one event or a complete document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerPiece {
    /// Text, thinking and tool calls.
    pub content: ChatPiece,
    /// Text of a refusal, which replaces the answer.
    pub refusal: String,
    /// Reason why the model stopped. `None` if this is not the end.
    pub finish: Option<FinishReason>,
    /// Server's own reason for the end, if the wire does not know it, or if it says that the context window is full. `None` otherwise.
    pub ending: Option<String>,
    /// Tokens used so far. `None` if the piece does not say.
    pub usage: Option<Usage>,
    /// Model that answers. `None` if the piece does not say.
    pub model: Option<String>,
    /// Position in an end that consists of two events. `None` for wires whose end is one event.
    pub close: Option<AnswerClose>,
}

impl AnswerPiece {
    /// Returns true if the piece has a word of the answer, of its thinking, or its end. Counts and names are not words: servers send
    /// them to keep a connection open.
    pub(crate) fn has_word(&self) -> bool {
        !self.content.is_empty() || !self.refusal.is_empty() || self.finish.is_some() || self.close.is_some()
    }
}

/// The two events of an end that consists of two, as `message_delta` and `message_stop` in Anthropic's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerClose {
    /// Event with the reason; the last event must still follow.
    Awaited,
    /// Last event.
    Seen,
}

/// Field of a request that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionalField {
    /// Name of the field.
    pub name: &'static str,
    /// Field of the request that contains it. `None` if it is at the top.
    pub inside: Option<&'static str>,
    /// Other name under which servers take the same value. `None` if there is none.
    pub other_name: Option<&'static str>,
    /// True if it limits the tokens of an answer.
    pub is_limit: bool,
    /// True if the field asks for thinking. Servers refuse it in words that do not name the field.
    pub asks_thinking: bool,
    /// True if a server that does not take its level may take the switch `true`.
    pub has_switch: bool,
}

impl OptionalField {
    /// Makes a field at the top of a request.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            inside: None,
            other_name: None,
            is_limit: false,
            asks_thinking: false,
            has_switch: false,
        }
    }

    /// Makes a field inside another one.
    #[must_use]
    pub const fn inside(parent: &'static str, name: &'static str) -> Self {
        Self {
            inside: Some(parent),
            ..Self::new(name)
        }
    }

    /// Makes the field that asks for thinking.
    #[must_use]
    pub const fn asks_thinking(self) -> Self {
        Self {
            asks_thinking: true,
            ..self
        }
    }

    /// Makes the field one of which a server may take the switch `true` in the place of a level.
    #[must_use]
    pub const fn with_switch(self) -> Self {
        Self {
            has_switch: true,
            ..self
        }
    }

    /// Makes the field that limits an answer, with its other name.
    #[must_use]
    pub const fn limit(self, other_name: Option<&'static str>) -> Self {
        Self {
            other_name,
            is_limit: true,
            ..self
        }
    }
}

/// Wire format: builds requests and reads answers.
pub trait Wire: Send + Sync {
    /// Builds the JSON of the request.
    fn build_request(&self, job: &ModelRequest<'_>) -> Value;

    /// Returns the limit on the answer's tokens that [`Wire::build_request`] writes. `None` if it writes no limit.
    fn limit_sent(&self, job: &ModelRequest<'_>) -> Option<u64> {
        job.max_tokens
    }

    /// Returns the most tokens that the vendor adds to such a request and bills, although no byte of the body has them.
    fn added_tokens(&self, _job: &ModelRequest<'_>) -> u64 {
        0
    }

    /// Returns true if a request of this wire can ask for thinking.
    fn asks_thinking(&self) -> bool {
        self.optional_fields().iter().any(|field| field.asks_thinking)
    }

    /// Returns the fields of a request that a server may refuse without a loss of the conversation.
    fn optional_fields(&self) -> &'static [OptionalField] {
        &[]
    }

    /// Reads a complete answer.
    ///
    /// # Errors
    /// If the answer does not have the structure of this wire.
    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault>;

    /// Reads one event of a streamed answer.
    ///
    /// # Errors
    /// If the event does not have the structure of this wire.
    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault>;

    /// Returns what the wire takes in messages. By default text alone, for every provider.
    fn abilities<'a>(&self, provider: &'a str) -> WireAbilities<'a> {
        WireAbilities {
            provider,
            tools: false,
            thinking: false,
            images: false,
            result_images: false,
            max_id_bytes: usize::MAX,
        }
    }
}
