//! Readers of what a confined process can send to the parent, opened for fuzzing.
//!
//! Owns: access to those readers without a process. Never: starts one. Nothing here is part of the crate's interface.

use crate::RefusedCall;

/// Reads the report of refused calls of a helper that was killed. `None` if it is not a report.
#[must_use]
pub fn read_refused_calls(text: &str) -> Option<Vec<RefusedCall>> {
    crate::refusals::parse_report(text, true)
}

/// Reads the head of a proxy request and returns its `host:port`. `None` if it is not a `CONNECT`.
#[must_use]
pub fn read_connect_target(head: &[u8]) -> Option<String> {
    crate::outlet::connect_target(head)
}
