//! The base for model servers over HTTP: a wire's hooks are its request and its reader; what an answer means for
//! health is decided here once.
//!
//! Owns: the health table, its wording, the call with its retries, the three verbs of every HTTP adapter, and the
//! adapter for a server that only a profile describes. Never: knows a provider's field names; a [`Wire`] does. Start
//! at [`Service`].

mod assembly;
mod call;
mod context;
mod guard;
mod offer;
mod plain;
mod reason;
mod retry;
mod server;
mod service;
mod settings;
mod template;
mod verdict;
mod wire;
mod wording;

pub use offer::{OfferOutcome, OfferSeen, OfferedTool, ToolCall, ToolCaller};
pub use plain::PlainServer;
pub use reason::Reason;
pub use server::{Found, Server};
pub use service::{Ask, Call, HttpAdapter, Service};
pub use settings::{ANY_MODEL, ServerSettings};
pub use template::TemplateWire;
pub use verdict::{Fault, judge};
pub use wire::{Close, Job, Piece, Wire};
pub use wording::Hints;
