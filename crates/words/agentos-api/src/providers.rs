//! Keys as far as they may be shown, and the values of profiles.
//!
//! Owns: the reports of `agentos tool auth status` and `agentos profile show`. Never: holds a key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;
use serde_json::Value;

/// `agentos tool auth status --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthStatus {
    /// Version of this shape: 1.
    pub version: u32,
    /// What may be shown of each provider's key.
    pub keys: BTreeMap<String, KeyStatus>,
}

/// What may be shown of a provider's key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyStatus {
    /// Where it comes from; none when there is none.
    pub source: Option<String>,
    /// Its last four characters, where it is long enough to show them.
    pub hint: Option<String>,
    /// Why it is not sent, although there is one.
    pub withheld: Option<String>,
    /// Steps that make the key usable, as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// What the last health check with it said; none when there was none since it was set.
    pub last_check: Option<KeyCheck>,
    /// Stores that could not be asked.
    pub problems: Vec<String>,
}

impl KeyStatus {
    /// Returns a few words for a table.
    #[must_use]
    pub fn words(&self) -> String {
        match (&self.source, &self.withheld) {
            (Some(source), None) => source.clone(),
            (Some(source), Some(_)) => format!("{source}, not sent"),
            (None, _) => "none".to_owned(),
        }
    }
}

/// The last health check that said something of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyCheck {
    /// The service took it.
    pub accepted: bool,
    /// When.
    pub at: String,
    /// Which service, `host:port`.
    pub endpoint: String,
    /// The last four characters of the key, where it is long enough to show them.
    pub ending: Option<String>,
}

/// `agentos profile show --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shown")]
pub struct ProfileReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The provider.
    pub provider: String,
    /// Every value there is, by its name in the file (`params.temperature`).
    pub values: BTreeMap<String, ShownValue>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownValue {
    /// As it stands in a file.
    pub value: Value,
    /// Where it comes from: `flag`, `environment NAME`, `project file`, `user file`, `built-in` or `derived`.
    pub origin: String,
}
