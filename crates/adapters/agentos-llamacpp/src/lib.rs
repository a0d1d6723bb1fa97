//! llama.cpp server: native completion and health, on the generic local HTTP base.
//!
//! Owns: the native wire, its plain prompt, and the three probes. Never: takes `/health` alone for health, or
//! starts a server. Start at [`LlamaCppService`].

mod adapter;
mod completion;
mod grammar;
mod memory;
mod props;

pub use adapter::{LlamaCppMode, LlamaCppService};
pub use completion::CompletionWire;
