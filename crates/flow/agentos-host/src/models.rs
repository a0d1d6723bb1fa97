//! The models that are known without asking a server.
//!
//! Owns: the list's published shape. Never: claims that a server has a model; a health check asks the server.

use agentos_profile::KnownModel;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `agentos models list --json`, and with one model of `models show --json`.
#[derive(Serialize, JsonSchema)]
pub struct ModelList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The models.
    pub models: Vec<&'static KnownModel>,
}
