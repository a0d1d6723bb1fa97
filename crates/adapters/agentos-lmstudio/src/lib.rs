//! LM Studio: the OpenAI wire plus its own model-state API.
//!
//! Owns: the probe of its three model lists and what they say of the loaded model. Never: loads a model that nobody named, or
//! repeats the chat wire. Start at [`LmStudioService`].

mod adapter;
mod memory;
mod state;

pub use adapter::LmStudioService;
pub use state::{LocalModel, ModelState};
