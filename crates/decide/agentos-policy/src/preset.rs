//! Presets: built-in sets of rules to build on or to start from.
//!
//! Owns: the presets and their texts. Never: the floor, which no preset replaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Example policy file with one rule for every fact that a rule can test, for people to read and copy from.
pub const FACTS: &str = include_str!("../policy/facts.toml");

/// Named set of rules. Each is a complete policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// No rules: only the layer's own rules allow anything.
    None,
    /// Active if no layer names another preset.
    Default,
    /// For one developer with their own tools: asks only about files that run without being started by hand or that
    /// configure other tools.
    Solo,
    /// For several people: asks about everything that others rely on. A cloud model may not change what runs on other
    /// machines.
    Team,
    /// Allows small edits of sources, documents and tests; everything else is asked about or denied.
    Strict,
}

impl Preset {
    /// Presets that have rules.
    pub const WITH_RULES: [Self; 4] = [Self::Default, Self::Solo, Self::Team, Self::Strict];

    /// Returns the word used in files and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Default => "default",
            Self::Solo => "solo",
            Self::Team => "team",
            Self::Strict => "strict",
        }
    }

    /// Returns the complete file, as `policy init` writes it. `None` if the preset is [`Preset::None`].
    #[must_use]
    pub fn text(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Default => Some(include_str!("../policy/default.toml")),
            Self::Solo => Some(include_str!("../policy/solo.toml")),
            Self::Team => Some(include_str!("../policy/team.toml")),
            Self::Strict => Some(include_str!("../policy/strict.toml")),
        }
    }

    /// Returns the file's name, for messages.
    pub(crate) fn source_name(self) -> String {
        format!("built-in/{}.toml", self.as_str())
    }
}
