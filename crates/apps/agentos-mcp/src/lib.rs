//! The tools of a repository over the Model Context Protocol (MCP), for agents that may read it and propose changes, and never write.
//!
//! Owns: the protocol on standard input and output and over HTTP, and the settings that other programs need to start it. Never: has a tool of its own;
//! `agentos-host` does what a call says. Never waits for a person: a proposal is answered at once with its state.
//!
//! `rmcp` speaks both eras of the protocol: sessions that begin with `initialize` (2024-11-05 to 2025-11-25), and requests that stand
//! alone (2026-07-28). Nothing here depends on which one a client speaks.
//!
//! | input | end |
//! |---|---|
//! | a call | an answer; a failure of the tool is an answer with `isError`, as the protocol asks |
//! | a cancellation | the call is abandoned; a landing cannot begin any more |
//! | a line that is no message | an error without an id, or nothing; the next line is read |
//! | end of input | the service ends; what was recorded stays |

mod clients;
mod http;
mod merge;
mod server;

pub use clients::{ClientKind, ClientSettings, describe_client};
pub use http::{HttpEndpoint, HttpSessions, make_endpoint, serve_handlers};
pub use merge::{MergeFault, MergedSettings, merge_settings};
pub use server::{AgentToken, McpError, McpServer, serve_stdio};
