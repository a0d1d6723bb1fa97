//! Ollama's own API.
//!
//! Owns: the chat wire as JSON lines, how long a context a task needs, and which models are there and loaded. Never:
//! lets the server cut a prompt in silence. Start at [`OllamaService`].

mod adapter;
mod chat;
mod memory;
mod models;

pub use adapter::OllamaService;
pub use chat::OllamaWire;
