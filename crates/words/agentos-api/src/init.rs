//! Parts of the report about setting up a repository.
//!
//! Owns: the parts of the report of `agentos init` that need no type of another crate. Never: looks for a server or a key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Local model server that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundServer {
    /// Provider whose profile has this server's address.
    pub provider: String,
    /// Address as `host:port`. `None` if it is not known.
    pub endpoint: Option<String>,
    /// Models that the server lists.
    pub models: Vec<String>,
}

/// Key found in the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundKey {
    /// Provider that would use the key.
    pub provider: String,
    /// Name of the environment variable.
    pub variable: String,
}

/// File that would be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedFile {
    /// Path in the repository.
    pub path: String,
    /// Content of the file.
    pub content: String,
}
