//! Report about a program's conformance to the tool protocol.
//!
//! Owns: the shape of the report of `agentos tool conform`. Never: starts a program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report of `agentos tool conform --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolConform {
    /// Version of this shape: 1.
    pub version: u32,
    /// Version of the tool protocol that the checks used.
    pub protocol: u32,
    /// True when every check passed.
    pub conforms: bool,
    /// Checks, in the order in which they ran.
    pub checks: Vec<ConformCheck>,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConformCheck {
    /// Action that was tried.
    pub name: String,
    /// True if the tool did what the protocol requires.
    pub passed: bool,
    /// Observed behavior, in one sentence.
    pub seen: String,
}
