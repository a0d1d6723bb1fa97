//! What a repository begins with.
//!
//! Owns: the parts of the report of `agentos init` that hold nothing but words. Never: looks for a server or a key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// The provider whose profile leads there.
    pub provider: String,
    /// `host:port`.
    pub endpoint: Option<String>,
    /// The models it lists.
    pub models: Vec<String>,
}

/// A key that is in the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundKey {
    /// The provider that would use it.
    pub provider: String,
    /// The variable.
    pub variable: String,
}

/// A new file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedFile {
    /// Its path in the repository.
    pub path: String,
    /// What it holds.
    pub content: String,
}
