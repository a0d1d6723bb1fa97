//! Reports about keys, as far as they may be shown, and about the values of profiles.
//!
//! Owns: the reports of `agentos tool auth status` and `agentos profile show`. Never: contains a key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;
use serde_json::Value;

/// Report of `agentos tool auth status --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthStatus {
    /// Version of this shape: 1.
    pub version: u32,
    /// Status of each provider's key, by provider name.
    pub keys: BTreeMap<String, KeyStatus>,
}

/// Status of a provider's key, without the key itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyStatus {
    /// Source of the key. `None` if there is no key.
    pub source: Option<String>,
    /// Last four characters of the key. `None` if the key is too short to show them.
    pub hint: Option<String>,
    /// Reason why the key is not sent. `None` if it is sent or there is no key.
    pub withheld: Option<String>,
    /// Steps that make the key usable, as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Result of the last health check that used the key. `None` if none was made since the key was set.
    pub last_check: Option<KeyCheck>,
    /// Key stores that could not be read, with the reason.
    pub problems: Vec<String>,
    /// Sign-in, whose token is sent instead of a key. Absent if nobody is signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in: Option<SignInStatus>,
}

/// Sign-in at a server of tools, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignInStatus {
    /// Address of the server, to which alone the token is sent.
    pub server: String,
    /// Authorization server at which the user signed in.
    pub issuer: String,
    /// Time at which the token ends, in RFC 3339. `None` if the authorization server did not say.
    pub until: Option<String>,
    /// True if a new token is requested by itself when it ends.
    pub refreshes: bool,
}

impl KeyStatus {
    /// Returns the source and whether the key is sent, for a table.
    #[must_use]
    pub fn describe_source(&self) -> String {
        match (&self.source, &self.withheld) {
            (Some(source), None) => source.clone(),
            // The reason is a sentence and would break the table; it is in `withheld`.
            (Some(source), Some(_)) => format!("{source}, not sent"),
            (None, _) => "none".to_owned(),
        }
    }
}

/// Result of the last health check that used a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyCheck {
    /// True if the service accepted the key.
    pub accepted: bool,
    /// Time of the check, in RFC 3339.
    pub at: String,
    /// Address of the service, as `host:port`.
    // The address is kept because a key is bound to it: an accepted key says nothing about another address.
    pub endpoint: String,
    /// Last four characters of the key. `None` if the key is too short to show them.
    pub ending: Option<String>,
}

/// Report of `agentos profile show --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// The name in the committed schema is older than the type's name of two words; readers generate code from it.
#[schemars(rename = "Shown")]
pub struct ProfileReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the provider.
    pub provider: String,
    /// All values, by their names in the profile file (`params.temperature`).
    pub values: BTreeMap<String, ShownValue>,
}

/// Value of a profile, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShownValue {
    /// Value as a profile file writes it.
    pub value: Value,
    /// Origin: `flag`, `environment NAME`, `project file`, `user file`, `built-in` or `derived`.
    pub origin: String,
}
