//! The two programs that the conformance suite of the Model Context Protocol (`@modelcontextprotocol/conformance`) talks to.
//!
//! Owns: the fixtures that its scenarios name. Never: a line of the protocol; `agentos-mcp` and `agentos-mcp-client` speak it, as in
//! the product. Never in a product.

mod client;
mod server;

pub use client::{SuiteOrder, run_scenario};
pub use server::SuiteServer;
