//! The base for model servers over HTTP: request, response and endpoint are hooks; what an answer means for
//! health is decided here once.
//!
//! Owns: the health table, its wording, the call with its retries, and the adapter for a plain local server.
//! Never: knows a provider's field names; a [`Wire`] does. Start at [`Server`].

mod adapter;
mod assembly;
mod call;
mod guard;
mod reason;
mod retry;
mod server;
mod settings;
mod verdict;
mod wire;
mod wording;

pub use adapter::GenericHttp;
pub use reason::Reason;
pub use server::{Found, Server};
pub use settings::{ANY_MODEL, ServerSettings};
pub use verdict::{Fault, judge};
pub use wire::{Job, Piece, Wire};
pub use wording::Hints;
