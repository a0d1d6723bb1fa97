//! OpenAI's chat completions, embeddings and older completions, as a server reads and writes them.
//!
//! Owns: the two halves under one name. Never: shares state between requests.
//!
//! Source of the shapes: OpenAI's API reference, "Create chat completion" and "Chat completion chunk object".

mod messages;
mod plain;
mod reply;
mod request;

pub use messages::read_data_url;
pub use plain::PlainRequest;
pub use reply::{ChunkWriter, write_reply};
pub use request::read_request;
