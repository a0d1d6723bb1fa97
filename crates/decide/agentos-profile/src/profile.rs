//! A profile with everything decided, and where each value came from.
//!
//! Owns: the resolved types. Never: decides which layer wins; `resolve` does.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use agentos_tool::{BaseUrl, Constrain, EditFormat, ExecutionMode, KeyObstacle, Secret, ToolCapabilities};

use crate::{AdapterKind, HttpFile, LimitField, Mode, PriceFile, ProgramFile};

/// Where a value came from, weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Follows from other values.
    Derived,
    /// A profile that is compiled in.
    BuiltIn,
    /// The user's own file.
    UserFile,
    /// The repository's file.
    ProjectFile,
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
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// Sampling parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// Above 0, at most 1.
    pub top_p: Option<f64>,
    /// Tokens the answer may have.
    pub max_tokens: Option<u64>,
    /// For answers that can be repeated.
    pub seed: Option<u64>,
    /// Texts at which the answer ends.
    pub stop: Vec<String>,
}

/// A profile that can be used. It holds no key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The provider.
    pub provider: String,
    /// A name for people.
    pub name: String,
    /// The wire to speak.
    pub adapter: AdapterKind,
    /// Where the server is, where that is known.
    pub base_url: Option<BaseUrl>,
    /// The name under which the key is stored.
    pub api_key_ref: String,
    /// Whether the server refuses to answer without a key.
    pub requires_key: bool,
    /// The model's name on the server, where one is set.
    pub model: Option<String>,
    /// The adapter's protocol.
    pub mode: Mode,
    /// The form in which edits are asked for; that of `constrain` where it has one.
    pub edit_format: EditFormat,
    /// What the server is asked to hold an answer to.
    pub constrain: Constrain,
    /// The limit's name, where it is not the wire's usual one.
    pub limit_field: Option<LimitField>,
    /// The organization that pays.
    pub organization: Option<String>,
    /// The wire, for `generic-http`.
    pub http: Option<HttpFile>,
    /// The program, for `agent` and `tool`.
    pub program: Option<ProgramFile>,
    /// What tokens cost.
    pub price: PriceFile,
    /// Seconds for a whole answer.
    pub timeout_seconds: u64,
    /// Sampling.
    pub params: Params,
    /// Abilities as declared, and where the work is done.
    pub capabilities: ToolCapabilities,
}

impl Profile {
    /// Where the work is done.
    #[must_use]
    pub fn execution_mode(&self) -> ExecutionMode {
        self.capabilities.execution_mode
    }
}

/// Whether a key may be sent to the profile's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyUse {
    /// It may.
    Allowed,
    /// It may not, for this reason.
    Forbidden(KeyObstacle),
}

impl KeyUse {
    /// True when a key may be sent.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        match self {
            Self::Allowed => true,
            Self::Forbidden(_) => false,
        }
    }
}

/// A key that was given by flag or environment, before any store is asked.
#[derive(Debug, Clone)]
pub struct ProvidedKey {
    /// The key.
    pub key: Secret,
    /// Where it came from.
    pub origin: Origin,
    /// Whether it may be sent to `base_url`.
    pub key_use: KeyUse,
}

/// A profile and where it came from.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The profile.
    pub profile: Profile,
    /// For each field that has a value, by its name in the file (`params.temperature`), where it came from.
    pub origins: BTreeMap<&'static str, Origin>,
    /// Keys from flag and environment; the first that may be sent wins over any store.
    pub given_keys: Vec<ProvidedKey>,
    /// Whether a stored key may be sent to `base_url`.
    pub stored_key: KeyUse,
    /// The repository's file names a program, and it does not count.
    pub ignores_program: bool,
}

impl Resolved {
    /// Where a field's value came from; none when it has no value.
    #[must_use]
    pub fn origin(&self, field: &str) -> Option<&Origin> {
        self.origins.get(field)
    }
}
