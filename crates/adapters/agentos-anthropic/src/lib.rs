//! Anthropic's messages API.
//!
//! Owns: the messages wire and the probe of one model. Never: sends a sampling parameter that nobody set, which newer
//! models refuse. Start at [`AnthropicService`].
//!
//! The cache hints of a request become marks (module `cache`); tokens that were read from and written to the cache are counted apart.

mod adapter;
mod blocks;
mod cache;
mod messages;
mod thinking;

pub use adapter::AnthropicService;
pub use messages::MessagesWire;
