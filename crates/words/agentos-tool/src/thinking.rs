//! How much a model is asked to think before it answers.
//!
//! Owns: the levels and their names. Never: knows the field of a wire; each adapter does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Thinking that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingLevel {
    /// The model answers at once, as far as its server can switch thinking off.
    Off,
    /// The model thinks, and the server chooses how long.
    On,
    /// The model thinks briefly.
    Low,
    /// The model thinks for a long time.
    High,
}

impl ThinkingLevel {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::On, Self::Off, Self::Low, Self::High];

    /// Returns the name used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Low => "low",
            Self::High => "high",
        }
    }

    /// Returns the level of a name. `None` if no level has the name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Returns the word of the fields that are called effort: `none`, `low`, `medium` or `high`.
    #[must_use]
    pub fn effort(self) -> &'static str {
        match self {
            Self::Off => "none",
            Self::On => "medium",
            Self::Low => "low",
            Self::High => "high",
        }
    }
}
