//! Conversations with a model, in one form for every wire.
//!
//! Owns: the request, the messages and their parts, the tools on offer, and how pieces of an answer become parts. Never: knows
//! a vendor's JSON, or sends anything.
//!
//! | type | meaning |
//! |---|---|
//! | [`ChatRequest`] | everything that a model is sent, besides its name |
//! | [`ChatMessage`] | one turn of the user or of the model, as a list of parts |
//! | [`MessagePart`] | text, image, tool call, tool result or thinking |
//! | [`ChatPiece`] | a piece of an answer, as a wire reads it from one event |
//! | [`PartBuilder`] | joins the pieces to parts |
//! | [`SideRequest`] | a request that is no conversation: a count of tokens, vectors of texts, the continuation of a text |
//! | [`Model`] | everything that answers a conversation, as a [`ChatStream`] of [`ChatEvent`]s |
//! | [`ChatReply`] | a complete answer, which [`ReplyBuilder`] joins from the events |
//!
//! [`prepare_messages`] makes the messages fit a wire, by the rules in its documentation. A tool's definition has Anthropic's
//! form (`name`, `description`, `input_schema`), which every other form can be made of.

mod builder;
mod flatten;
mod message;
mod model;
mod prepare;
mod request;
mod side;

pub use builder::{CallPiece, ChatPiece, PartBuilder, ThoughtPiece};
pub use flatten::flatten_messages;
pub use message::{
    CallSignature, ChatMessage, ChatRole, ImageData, MessagePart, ThinkingPart, ToolCall, ToolResult,
};
pub use model::{ChatEvent, ChatFinish, ChatReply, ChatStream, Model, ReplyBuilder};
pub use prepare::{PreparedChat, WireAbilities, count_stable, prepare_messages};
pub use request::{CacheHints, ChatRequest, ChatSampling, ToolChoice, ToolSpec, edit_request};
pub use side::{SideEndpoint, SideRequest};
