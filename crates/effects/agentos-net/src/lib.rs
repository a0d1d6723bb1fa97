//! HTTP for adapters: one checked request, one bounded answer.
//!
//! Owns: the address check, timeouts, size limits, streaming, the wording of transport errors, redaction, and the one page to which a
//! browser returns from a sign-in. Never: follows a redirect, uses a proxy, keeps cookies, reads the environment, or knows what a
//! model is. Start at [`HttpClient`].

mod address;
mod callback;
mod client;
mod date;
mod deadline;
mod error;
mod lines;
mod random;
mod redact;
mod resolve;
mod sse;

pub use address::HttpUrl;
pub use callback::{CallbackAnswer, CallbackError, CallbackListener};
pub use client::{
    Answer, Auth, BodyEvents, BodyShape, HttpClient, Method, Names, NetConfig, Request, Response,
};
pub use deadline::{Deadline, ExceededLimit, TimeLimits};
pub use error::{NetError, NetErrorKind};
pub use lines::LineParser;
pub use random::make_random_text;
pub use redact::redact_keys;
pub use sse::{SseError, SseParser};
