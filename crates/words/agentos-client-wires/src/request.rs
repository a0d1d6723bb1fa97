//! A request of a client.
//!
//! Owns: the form that all wires are read into. Never: names a provider; `model` is the client's text.

use agentos_model::ChatRequest;
use serde_json::{Map, Value};

use crate::responses::ToolForms;

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
    /// Fields that have no effect, sorted; then tools and items that have none.
    pub ignored: Vec<String>,
    /// Parts of the request that its answer depends on.
    pub echo: RequestEcho,
}

/// Parts of a request that its answer depends on. Empty for wires whose answers repeat nothing of their requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestEcho {
    /// Tools by their names at the model.
    pub(crate) tools: ToolForms,
    /// Fields that the answer repeats.
    pub(crate) fields: Map<String, Value>,
}
