//! What became of the examples in policy files.
//!
//! Owns: the report of `agentos policy test`. Never: reads a rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `policy test --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyTest {
    /// Version of this shape: 1.
    pub version: u32,
    /// Each file with rules.
    pub files: Vec<TestedFile>,
}

/// A file whose examples came out right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestedFile {
    /// The file.
    pub source: String,
    /// Examples that matched, as they must.
    pub matched: usize,
    /// Examples that did not, as they must not.
    pub not_matched: usize,
}
