//! Servers of the Model Context Protocol (MCP) as toolboxes of a conversation.
//!
//! Owns: connections to such servers, and how their results become text. Never: gives a server anything but calls: it gets no file, no
//! completion of a model and no answer of a person. Never reads what a server says about itself as an instruction.
//!
//! | server | its connection |
//! |---|---|
//! | a program of the user | its lines, in the sandbox of every toolbox (`agentos-programs`): no network unless its profile names hosts |
//! | an address | `agentos-net`: no redirect, no proxy, no cookie; with a key, or with the tokens of a sign-in ([`sign_in`]) |
//!
//! A server lists its tools when a connection begins, and again after it said that they changed. Other tools than those of the first
//! list end the toolbox, because the user was shown those.

mod connection;
mod content;
mod http;
mod lines;
mod sign_in;
mod toolbox;

pub use connection::{ClientPart, McpConnection, McpError, RefusingClient, begin_newest};
pub use content::describe_result;
pub use http::{HttpServer, NetWire, ServerAuth, WireError};
pub use sign_in::{
    Grant, GrantStore, PendingSignIn, SignInChoices, SignInError, SignInOffer, SignInStep, StoreFault,
    TokenKeeper, make_sign_in_client,
};
pub use toolbox::{McpServer, McpTool, McpToolbox};
