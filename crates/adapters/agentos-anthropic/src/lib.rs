//! Anthropic's messages API.
//!
//! Owns: the messages wire and the probe of one model. Never: sends a sampling parameter that nobody set, which newer
//! models refuse. Start at [`Anthropic`].

mod adapter;
mod messages;

pub use adapter::Anthropic;
pub use messages::MessagesWire;
