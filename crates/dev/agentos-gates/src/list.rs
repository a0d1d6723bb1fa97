//! Every gate, as `gates.toml` lists them.
//!
//! Owns: reading that file. Never: runs a gate.

use agentos_tool::ExecutionMode;
use serde::Deserialize;

use crate::error::GateError;

const LIST: &str = include_str!("../gates.toml");

/// What a gate says of itself.
#[derive(Debug, Clone, Deserialize)]
pub struct GateSpec {
    /// Its name, which is also its folder's.
    pub name: String,
    /// What it judges.
    pub about: String,
    /// The ids of its checks with their names; `<…>` stands for any text.
    #[serde(default)]
    pub checks: Vec<(String, String)>,
    /// The provider that a connectivity gate is about; `None` for every other gate.
    pub provider: Option<ProviderSpec>,
}

/// What makes one connectivity gate different from the other.
#[derive(Debug, Clone, Deserialize)]
pub struct ProviderSpec {
    /// The provider's id.
    pub id: String,
    /// What the ids of its checks begin with.
    pub prefix: String,
    /// Where the provider works. One at a vendor's is never given a key that nobody set.
    pub place: ExecutionMode,
}

impl ProviderSpec {
    /// Returns the name of a variable that the product reads for this provider.
    #[must_use]
    pub fn variable(&self, name: &str) -> String {
        format!("AGENTOS_{}_{name}", self.id.to_uppercase())
    }
}

/// Returns every gate, in the order they are run.
///
/// # Errors
/// When the list is not understood.
pub fn all() -> Result<Vec<GateSpec>, GateError> {
    #[derive(Deserialize)]
    struct List {
        gate: Vec<GateSpec>,
    }
    let list: List = toml::from_str(LIST)?;
    Ok(list.gate)
}

/// Finds a gate by its name, for the command line.
pub(crate) fn find(name: &str) -> Result<GateSpec, String> {
    let gates = all().map_err(|error| error.to_string())?;
    let names: Vec<String> = gates.iter().map(|gate| format!("`{}`", gate.name)).collect();
    let found = gates.into_iter().find(|gate| gate.name == name);
    found.ok_or_else(|| format!("there are {}", names.join(", ")))
}
