//! Anthropic's messages API.
//!
//! Owns: the messages wire and the probe of one model. Never: sends a sampling parameter that nobody set, which newer
//! models refuse. Start at [`AnthropicService`].

mod adapter;
mod blocks;
mod messages;

pub use adapter::AnthropicService;
pub use messages::MessagesWire;
