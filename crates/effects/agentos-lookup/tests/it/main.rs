//! Programs that are found, and programs that are not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "tests: a panic is the failure"
)]

#[cfg(unix)]
mod rule;
