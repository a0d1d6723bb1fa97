//! Report about the examples in policy files.
//!
//! Owns: the shape of the report of `agentos policy test`. Never: reads a rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report of `agentos policy test --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyTest {
    /// Version of this shape: 1.
    pub version: u32,
    /// Policy files, one entry each.
    pub files: Vec<TestedFile>,
}

/// Policy file whose examples all gave the expected result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestedFile {
    /// Name of the file.
    pub source: String,
    /// Number of examples that matched, as expected.
    pub matched: usize,
    /// Number of examples that did not match, as expected.
    pub not_matched: usize,
}
