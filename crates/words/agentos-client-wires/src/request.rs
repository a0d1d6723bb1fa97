//! A request of a client.
//!
//! Owns: the form that both wires are read into. Never: names a provider; `model` is the client's text.

use agentos_model::ChatRequest;

/// Request of a client, whatever its wire.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRequest {
    /// Model that the client names.
    pub model: String,
    /// Conversation to continue.
    pub chat: ChatRequest,
    /// True if the answer is a stream of events.
    pub is_stream: bool,
    /// True if the stream ends with the counts of tokens. Anthropic's streams always do.
    pub reports_usage: bool,
    /// Fields that have no effect, sorted.
    pub ignored: Vec<String>,
}
