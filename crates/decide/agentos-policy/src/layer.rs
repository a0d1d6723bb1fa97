//! Layers: where rules come from.
//!
//! Owns: the layers and their order. Never: lets a layer loosen another; the strictest answer wins whatever its
//! layer, and a repository replaces the default only with the user's agreement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Origin of a policy source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Compiled in; always active.
    Floor,
    /// Compiled in; active unless the machine or the user names another preset, or agreed to a repository's policy that does.
    Default,
    /// Policy of the whole machine.
    Machine,
    /// Policy of the repository, as of the base commit.
    Repository,
    /// Policy of the user.
    User,
    /// Policy given on the command line, which may only narrow.
    CommandLine,
}

impl Layer {
    /// Returns the word used on the screen.
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

/// Text of one policy file. The caller reads the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// Layer that the file belongs to.
    pub layer: Layer,
    /// Name of the file, for messages.
    pub name: String,
    /// TOML text of the file.
    pub text: String,
}
