//! The index, from outside.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests: a panic is the failure"
)]

mod damage;
mod laws;
mod lists;
mod support;
mod two_processes;
