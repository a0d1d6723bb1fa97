//! Tests of the service: the real program on loopback, with requests as browsers, programs and attackers send them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    reason = "tests: a panic is the failure, and a skipped test says so on screen"
)]

mod api_talk;
mod attacks;
mod browser;
mod clients;
mod doors;
mod events;
mod flow;
mod load;
mod mcp;
mod own_tls;
mod plain_doors;
mod sockets;
mod support;
mod talk;
mod vendor_forms;
