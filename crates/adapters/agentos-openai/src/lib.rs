//! The OpenAI chat wire and every server compatible with it.
//!
//! Owns: the chat request, the tolerant reader of its answers, OpenAI's newer responses, and the model list. Never: has a fork for one
//! vendor's quirks; those are settings. Start at [`OpenAiService`].

mod adapter;
mod chat;
mod messages;
mod models;
mod responses;
mod swap;

pub use adapter::{OpenAiApi, OpenAiService};
pub use chat::{ChatWire, LimitField};
pub use messages::write_messages;
pub use models::{ListedModel, ModelList};
pub use responses::ResponsesWire;
