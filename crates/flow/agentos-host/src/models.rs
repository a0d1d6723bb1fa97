//! The models that are known without asking a server.
//!
//! Owns: the list's published shape. Never: says that a server has a model; a health check asks it.

use agentos_profile::KnownModel;
use schemars::JsonSchema;
use serde::Serialize;

/// `agentos models list --json`, and with one model `models show --json`.
#[derive(Serialize, JsonSchema)]
pub struct ModelList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The models.
    pub models: Vec<&'static KnownModel>,
}
