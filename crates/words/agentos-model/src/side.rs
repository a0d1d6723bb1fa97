//! Requests to a model's server that are no conversations.
//!
//! Owns: which of them there are. Never: interprets an answer, which is passed on as the server wrote it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ChatRequest;

/// Endpoint of a model's server besides the one for conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEndpoint {
    /// Counts the tokens of a conversation.
    CountTokens,
    /// Makes vectors of texts.
    Embeddings,
    /// Continues a text.
    Completions,
}

/// Request to such an endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideRequest {
    /// Conversation whose tokens are counted. The answer is Anthropic's: an object with `input_tokens`.
    CountTokens(Box<ChatRequest>),
    /// Documented fields of `POST /v1/embeddings` in OpenAI's form. The server's model is added.
    Embeddings(Map<String, Value>),
    /// Documented fields of `POST /v1/completions` in OpenAI's form, without `stream`. As above.
    Completions(Map<String, Value>),
}

impl SideRequest {
    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> SideEndpoint {
        match self {
            Self::CountTokens(_) => SideEndpoint::CountTokens,
            Self::Embeddings(_) => SideEndpoint::Embeddings,
            Self::Completions(_) => SideEndpoint::Completions,
        }
    }
}
