//! Ranking and picking from outside: what a task leads to.
//!
//! Owns: examples of tasks and the laws of the ranking. Never: reads a real repository; the bench does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests: a panic is the failure"
)]

mod laws;
mod tasks;
