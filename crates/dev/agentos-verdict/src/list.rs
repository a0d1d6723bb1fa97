//! Every gate, as `gates.toml` lists them.
//!
//! Owns: reading that file. Never: runs a gate.

use serde::Deserialize;

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
    /// Where the provider works, `local` or `cloud`. One at a vendor's is never given a key that nobody set.
    pub place: String,
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
pub fn all() -> Result<Vec<GateSpec>, toml::de::Error> {
    #[derive(Deserialize)]
    struct List {
        gate: Vec<GateSpec>,
    }
    toml::from_str::<List>(LIST).map(|list| list.gate)
}

/// Finds a gate by its name, for a command line.
///
/// # Errors
/// When there is none of that name, with those that there are.
pub fn find(name: &str) -> Result<GateSpec, String> {
    let gates = all().map_err(|error| error.to_string())?;
    let names: Vec<String> = gates.iter().map(|gate| format!("`{}`", gate.name)).collect();
    let found = gates.into_iter().find(|gate| gate.name == name);
    found.ok_or_else(|| format!("there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_gate_is_found() {
        assert_eq!(find("boundary").unwrap().name, "boundary");
        let problem = find("nothing").unwrap_err();
        assert!(problem.starts_with("there are `boundary`, `rogue`"), "{problem}");
    }

    #[test]
    fn a_provider_works_here_or_at_a_vendor() {
        for provider in all().unwrap().iter().filter_map(|gate| gate.provider.as_ref()) {
            assert!(
                ["local", "cloud"].contains(&provider.place.as_str()),
                "{provider:?}"
            );
        }
    }
}
