//! Presets: built-in sets of rules to build on or to start from.
//!
//! Owns: the presets and their texts. Never: the floor, which no preset replaces.
//!
//! `default`, `solo` and `team` ask about a change that destroys. Their limits were chosen by the last 200 commits without
//! merges of each of ten public repositories (click, requests, express, ripgrep, cobra, gin, gson, fastify, zustand and jq, August
//! 2026). `python3 scripts/bench/ask_rate.py REPOSITORY...` makes the table; 4 of the 2,000 commits could not be
//! read.
//!
//! | rule | asks about | with other limits |
//! |---|---|---|
//! | more than 3 lost files | 4 of 1,996 (0.2 %) | 1: 9, 2: 5, 5: 2, 10: 0 |
//! | over 200 lines more removed than added | 11 (0.6 %) | 50: 37, 100: 13, 300: 7, 500: 5 |
//! | more than half of a file of over 20 lines | 17 (0.9 %) | over 10 lines: 18, over 50: 10; two thirds: 9 |
//! | one of the three | 28 (1.4 %) | 100 lines: 29, 300: 25; 5 files: 26; two thirds: 20 |

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
