//! What a program made of the tool protocol.
//!
//! Owns: the report of `agentos tool conform`. Never: gives a program a task.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `agentos tool conform --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolConform {
    /// Version of this shape: 1.
    pub version: u32,
    /// The version of the protocol that was spoken.
    pub protocol: u32,
    /// True when every check passed.
    pub conforms: bool,
    /// The checks, in order.
    pub checks: Vec<ConformCheck>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConformCheck {
    /// What was tried.
    pub name: String,
    /// Whether the tool did what the protocol says.
    pub passed: bool,
    /// What was seen.
    pub seen: String,
}
