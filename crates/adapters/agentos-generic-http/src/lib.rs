//! The base for model servers over HTTP. A [`Wire`] builds the request and reads the answer; what an answer means for the
//! health of the server is decided here once.
//!
//! Owns: the health table, its messages, the call with its retries, the three verbs of every HTTP adapter, and the adapter
//! for a server that only a profile describes. Never: knows a provider's field names; a [`Wire`] does. Start
//! at [`Service`].

mod assembly;
mod call;
mod context;
mod failure;
mod functions;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod marks;
mod memory;
mod offer;
mod omitting;
mod pieces;
mod plain;
mod reading;
mod reason;
mod repetition;
mod retry;
mod sending;
mod server;
mod service;
mod settings;
mod side;
mod spoken;
mod surrogates;
mod template;
mod verdict;
mod wire;
mod wording;

pub use functions::{read_functions, write_function};
pub use memory::{ChangedMemory, MemoryChange, MemoryState, ModelLoader, ModelMemory, ServerModel};
pub use offer::{OfferOutcome, OfferSeen, OfferedTool, ToolCaller};
pub use plain::PlainServer;
pub use reason::Reason;
pub use sending::MOST_IMAGE_TOKENS;
pub use server::{ProbeFindings, Server};
pub use service::{HttpAdapter, PreparedTask, ServerCall, Service};
pub use settings::{ANY_MODEL, ServerSettings};
pub use side::SideOffer;
pub use template::TemplateWire;
pub use verdict::{Fault, StatedFact, judge_failed_answer, judge_response};
pub use wire::{AnswerClose, AnswerPiece, ModelRequest, ModelWork, OptionalField, Wire};
pub use wording::ServerHints;
