//! HTTP for adapters: one checked request, one bounded answer.
//!
//! Owns: the address check, timeouts, size limits, streaming, the wording of transport errors, redaction. Never:
//! follows a redirect, uses a proxy, keeps cookies, reads the environment, or knows what a model is. Start at
//! [`HttpClient`].

mod address;
mod client;
mod date;
mod deadline;
mod error;
mod lines;
mod redact;
mod resolve;
mod sse;

pub use address::HttpUrl;
pub use client::{Answer, Auth, Events, HttpClient, Method, Names, NetConfig, Request, Response};
pub use deadline::{Deadline, ExceededLimit, TimeLimits};
pub use error::{NetError, NetErrorKind};
pub use lines::LineParser;
pub use redact::redact_keys;
pub use sse::{SseError, SseParser};
