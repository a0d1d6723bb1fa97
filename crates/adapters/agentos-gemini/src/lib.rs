//! Google's Gemini API.
//!
//! Owns: the generateContent wire and the probe of one model. Never: puts a key into an address, as the vendor's own
//! examples of old do. Start at [`GeminiService`].
//!
//! **Caching.** Gemini keeps the beginning of a prompt by itself (implicit caching) and reports it as `cachedContentTokenCount`.
//! Explicit caches (`cachedContents`) are not used: each is an object at the vendor that costs rent by the hour until it is deleted,
//! and a run that is killed would leave it behind with the user's files in it. So the cache hints of a request change nothing here.

mod adapter;
mod content;
mod contents;

pub use adapter::GeminiService;
pub use content::ContentWire;
