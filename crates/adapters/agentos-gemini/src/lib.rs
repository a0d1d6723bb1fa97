//! Google's Gemini API.
//!
//! Owns: the generateContent wire and the probe of one model. Never: puts a key into an address, as the vendor's own
//! examples of old do. Start at [`GeminiService`].

mod adapter;
mod content;
mod contents;

pub use adapter::GeminiService;
pub use content::ContentWire;
