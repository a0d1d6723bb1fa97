//! The wires of clients: a request in the form of OpenAI or Anthropic becomes a conversation, and an answer takes their form.
//!
//! Owns: these forms as a server reads and writes them. Never: sends anything, chooses a model, or changes what a client wrote.
//!
//! The adapters have the other half: they write requests to vendors and read their answers. A conversation that comes in on one
//! wire leaves on any other.
//!
//! | field of a request | treatment |
//! |---|---|
//! | it has a place in [`ChatRequest`](agentos_model::ChatRequest) | carried over |
//! | it names the caller or the vendor's own storage (`user`, `metadata`, `store`) | ignored |
//! | it asks for something that no answer could contain (`n` above 1, `logprobs`, audio) | refused, and nothing is sent |
//! | any other | ignored, and named in [`ClientRequest::ignored`], so that the answer can say so |
//!
//! The forms differ in what they return to the client and expect back in its next request: signatures of thinking, and marks of
//! tool calls, belong to one provider. [`seal`] says how they travel through a client that knows nothing of other providers.

mod anthropic;
mod fault;
mod field;
mod openai;
mod request;
mod responses;
mod seal;
mod wire;

pub use fault::{ClientFault, FaultKind, RequestFault};
pub use openai::PlainRequest;
pub use request::{ClientRequest, RequestEcho};
pub use wire::{ClientWire, ReplyFacts, StreamWriter, write_comment};

#[cfg(test)]
mod tests;
