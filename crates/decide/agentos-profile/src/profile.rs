//! A resolved profile, and the origin of each value.
//!
//! Owns: the resolved types. Never: decides which layer wins; `resolve` does.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use agentos_tool::{
    BaseUrl, Constrain, EditFormat, ExecutionMode, KeyObstacle, Secret, ThinkingLevel, ToolCapabilities,
};

use crate::{AdapterKind, HttpFile, LeftOutFields, LimitField, Mode, PoolFile, PriceFile, ProgramFile};

/// Origin of a value, weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Derived from other values.
    Derived,
    /// Built-in profile.
    BuiltIn,
    /// The user's own file.
    UserFile,
    /// The repository's file.
    ProjectFile,
    /// The user's own entry about the model, with the source that it states.
    UserModel(String),
    /// The environment variable of this name.
    Environment(String),
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Derived => f.write_str("derived"),
            Self::BuiltIn => f.write_str("built-in"),
            Self::UserFile => f.write_str("user file"),
            Self::ProjectFile => f.write_str("project file"),
            Self::UserModel(source) => write!(f, "models.json: {source}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// Sampling parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Temperature: 0 to 2.
    pub temperature: Option<f64>,
    /// Nucleus sampling: above 0, at most 1.
    pub top_p: Option<f64>,
    /// Maximum tokens of the answer.
    pub max_tokens: Option<u64>,
    /// Seed for repeatable answers.
    pub seed: Option<u64>,
    /// Texts at which the answer ends.
    pub stop: Vec<String>,
    /// Thinking that is requested of the model. `None` if the server decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
}

/// Time limits of a call, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// Time for connecting to the server.
    pub connect_seconds: u64,
    /// Time from sending the task to the first byte of the answer.
    pub first_byte_seconds: u64,
    /// Time between two pieces of the answer.
    pub idle_seconds: u64,
    /// Time for the whole call.
    pub total_seconds: u64,
}

/// Complete profile of a provider. It contains no key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Name of the provider.
    pub provider: String,
    /// Display name.
    pub name: String,
    /// Adapter to use.
    pub adapter: AdapterKind,
    /// Base URL of the server. `None` if it is not known.
    pub base_url: Option<BaseUrl>,
    /// Name under which the key is stored.
    pub api_key_ref: String,
    /// True if the server refuses to answer without a key.
    pub requires_key: bool,
    /// Name of the model on the server. `None` if none is set.
    pub model: Option<String>,
    /// Protocol of the adapter.
    pub mode: Mode,
    /// Edit format that the model is asked to use; the one of `constrain` if that has one.
    pub edit_format: EditFormat,
    /// Format to which the server is asked to constrain the answer.
    pub constrain: Constrain,
    /// Name of the field that limits the answer. `None` for the adapter's usual name.
    pub limit_field: Option<LimitField>,
    /// Optional fields that requests leave out. Empty if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
    /// The organization that pays.
    pub organization: Option<String>,
    /// Id of a client for signing in at an MCP server. `None` to register one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The wire, for `generic-http`.
    pub http: Option<HttpFile>,
    /// The program, for `agent` and `tool`.
    pub program: Option<ProgramFile>,
    /// The models to choose from. `None` if the profile is no pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolFile>,
    /// Prices of tokens.
    pub price: PriceFile,
    /// Time limits of a call.
    pub timeouts: Timeouts,
    /// Number of times that a failed call is sent again. `None` for the adapter's usual number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Sampling parameters.
    pub params: Params,
    /// Declared abilities, and the location of the model.
    pub capabilities: ToolCapabilities,
}

impl Profile {
    /// Returns the location of the model: this machine or the cloud.
    #[must_use]
    pub fn execution_mode(&self) -> ExecutionMode {
        self.capabilities.execution_mode
    }
}

/// Decision if a key may be sent to the profile's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyUse {
    /// The key may be sent.
    Allowed,
    /// The key must not be sent, for this reason.
    Forbidden(KeyObstacle),
}

impl KeyUse {
    /// Returns true if the key may be sent.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        match self {
            Self::Allowed => true,
            Self::Forbidden(_) => false,
        }
    }
}

/// Key from a flag or the environment, which is used before any key store is read.
#[derive(Debug, Clone)]
pub struct ProvidedKey {
    /// The key.
    pub key: Secret,
    /// Origin of the key.
    pub origin: Origin,
    /// Decision if it may be sent to `base_url`.
    pub key_use: KeyUse,
}

/// Profile with the origin of each value, and the keys.
#[derive(Debug, Clone)]
pub struct ResolvedProfile {
    /// Complete profile.
    pub profile: Profile,
    /// Origin of each field that has a value, by the field's name in the file (`params.temperature`).
    pub origins: BTreeMap<&'static str, Origin>,
    /// Keys from flag and environment. The first that may be sent takes precedence over any key store.
    pub given_keys: Vec<ProvidedKey>,
    /// Decision if a stored key may be sent to `base_url`.
    pub stored_key: KeyUse,
    /// Fields of the repository's file that are not active. `None` if all are, or there is no file.
    pub left_out: Option<LeftOutFields>,
}

impl ResolvedProfile {
    /// Returns the origin of a field's value. `None` if it has no value.
    #[must_use]
    pub fn origin_of(&self, field: &str) -> Option<&Origin> {
        self.origins.get(field)
    }
}
