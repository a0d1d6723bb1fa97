//! Anthropic's messages, as a server reads and writes them.
//!
//! Owns: the two halves under one name. Never: shares state between requests.
//!
//! Source of the shapes: Anthropic's API reference, "Create a Message" and "Streaming Messages".

mod reply;
mod request;

pub use reply::{EventWriter, write_reply};
pub use request::{AnswerLimit, read_request};
