//! Where rules come from.
//!
//! Owns: the layers and their order. Never: lets a layer loosen another; the strictest answer wins whatever its layer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a policy source stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Compiled in; cannot be taken away.
    Floor,
    /// Compiled in; in force where no machine, repository or user names another preset.
    Default,
    /// For the whole machine.
    Machine,
    /// In the repository, as of the base commit.
    Repository,
    /// The user's own.
    User,
    /// Given on the command line.
    CommandLine,
}

impl Layer {
    /// The word used on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Default => "default",
            Self::Machine => "machine",
            Self::Repository => "repository",
            Self::User => "user",
            Self::CommandLine => "command line",
        }
    }
}

/// The text of one policy file. The caller reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// Where it stands.
    pub layer: Layer,
    /// The file's name, for messages.
    pub name: String,
    /// The TOML text.
    pub text: String,
}
