//! What a confined process can make the parent read, opened for fuzzing.
//!
//! Owns: a thin way to those readers without a process. Never: starts one, and nothing here is part of the crate's
//! interface.

use crate::Refused;

/// Reads the report of refused calls of a helper that was killed. `None` where it is no report.
#[must_use]
pub fn read_refused_calls(text: &str) -> Option<Vec<Refused>> {
    crate::refusals::parsed(text, true)
}

/// Reads the head of a proxy request. `None` where it is no `CONNECT`, else its `host:port`.
#[must_use]
pub fn read_connect_target(head: &[u8]) -> Option<String> {
    crate::outlet::target(head)
}
