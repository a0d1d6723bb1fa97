//! The rules that come with the program, to stand on or to start from.
//!
//! Owns: the presets and their texts. Never: the floor, which no preset replaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A policy file with a rule for every fact that can be asked about, for people to read and take from.
pub const FACTS: &str = include_str!("../policy/facts.toml");

/// A set of rules by name. Each is a whole policy of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Nothing: the layer's own rules alone say what is allowed.
    None,
    /// What is in force where nobody names another.
    Default,
    /// One developer with tools of their own: asks only about what runs by itself or rules others.
    Solo,
    /// Several people: asks about all that others rely on; a cloud model may not touch what runs elsewhere.
    Team,
    /// Small edits of sources, documents and tests only; everything else asks or is denied.
    Strict,
}

impl Preset {
    /// Every one that has rules.
    pub const WITH_RULES: [Self; 4] = [Self::Default, Self::Solo, Self::Team, Self::Strict];

    /// The word used in files and on the screen.
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

    /// The file, complete, as `policy init` writes it; `None` has none.
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

    /// The file's name, for messages.
    pub(crate) fn source_name(self) -> String {
        format!("built-in/{}.toml", self.as_str())
    }
}
