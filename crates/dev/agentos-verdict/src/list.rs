//! The list of all gates, read from `gates.toml`.
//!
//! Owns: the shape of that file. Never: runs a gate.

use serde::Deserialize;

const LIST: &str = include_str!("../gates.toml");

/// An entry of the list: a gate as its file describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct GateSpec {
    /// The gate's name, which is also the name of its evidence folder.
    pub name: String,
    /// A sentence about the part of the product that the gate judges.
    pub about: String,
    /// The ids of the gate's checks with their names; in an id, `<…>` matches any text.
    #[serde(default)]
    pub checks: Vec<(String, String)>,
    /// The provider that a connectivity gate judges; `None` for every other gate.
    pub provider: Option<ProviderSpec>,
}

/// The differences between one connectivity gate and another.
#[derive(Debug, Clone, Deserialize)]
pub struct ProviderSpec {
    /// The provider's id.
    pub id: String,
    /// The first part of the ids of the gate's checks.
    pub prefix: String,
    /// The provider's location, `local` or `cloud`. A gate sends an invented key to local providers only.
    pub place: String,
}

impl ProviderSpec {
    /// Returns the full name of an environment variable that the product reads for this provider.
    #[must_use]
    pub fn variable_name(&self, name: &str) -> String {
        format!("AGENTOS_{}_{name}", self.id.to_uppercase())
    }
}

/// Reads the list and returns every gate, in the order in which gates are run.
///
/// # Errors
/// When `gates.toml` does not have the expected shape.
pub fn load_gates() -> Result<Vec<GateSpec>, toml::de::Error> {
    // The table is named `gate`, because each `[[gate]]` of the file describes one.
    #[derive(Deserialize)]
    struct GateList {
        gate: Vec<GateSpec>,
    }
    toml::from_str::<GateList>(LIST).map(|list| list.gate)
}

/// Finds a gate by its name, for a command line.
///
/// # Errors
/// When no gate has that name; the message lists the names that exist.
pub fn find_gate(name: &str) -> Result<GateSpec, String> {
    let gates = load_gates().map_err(|error| error.to_string())?;
    let names: Vec<String> = gates.iter().map(|gate| format!("`{}`", gate.name)).collect();
    let found = gates.into_iter().find(|gate| gate.name == name);
    found.ok_or_else(|| format!("the gates are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_gate_is_found() {
        assert_eq!(find_gate("boundary").unwrap().name, "boundary");
        let problem = find_gate("nothing").unwrap_err();
        assert!(
            problem.starts_with("the gates are `boundary`, `rogue`"),
            "{problem}"
        );
    }

    #[test]
    fn a_provider_works_here_or_at_a_vendor() {
        for provider in load_gates()
            .unwrap()
            .iter()
            .filter_map(|gate| gate.provider.as_ref())
        {
            assert!(
                ["local", "cloud"].contains(&provider.place.as_str()),
                "{provider:?}"
            );
        }
    }
}
