//! What a tool says it can do. Unknown is not a promise.
//!
//! Owns: the abilities and their three values. Never: measures them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Yes, no, or nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// It can.
    Yes,
    /// It cannot.
    No,
    /// Nobody has said or measured it.
    #[default]
    Unknown,
}

impl From<bool> for Ability {
    fn from(can: bool) -> Self {
        if can { Self::Yes } else { Self::No }
    }
}

/// Does the work stay on this machine?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// On a server of the user's own.
    Local,
    /// At a vendor: what is sent leaves the user's hands.
    Cloud,
}

impl ExecutionMode {
    /// The word used in JSON, in policy and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Cloud => "cloud",
        }
    }
}

/// How well-formed a tool's diffs usually are. A hint for people, never a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffQuality {
    /// Often needs repair.
    Low,
    /// Sometimes needs repair.
    Medium,
    /// Rarely needs repair.
    High,
}

/// What a tool can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCapabilities {
    /// Local or cloud.
    pub execution_mode: ExecutionMode,
    /// It can answer with a diff.
    pub supports_diff: Ability,
    /// It can answer with a patch in another edit format.
    pub supports_patch: Ability,
    /// It can be probed without cost.
    pub supports_health_check: Ability,
    /// It takes chat messages.
    pub chat: Ability,
    /// It takes tool definitions.
    pub tools: Ability,
    /// It takes pictures.
    pub vision: Ability,
    /// It streams its answer.
    pub stream: Ability,
    /// It can be held to JSON.
    pub json_mode: Ability,
    /// It can be held to a grammar.
    pub grammar: Ability,
    /// Tokens that fit, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The declared quality of its diffs.
    pub diff_quality: DiffQuality,
}

impl ToolCapabilities {
    /// A tool that answers with diffs and of which nothing else is known.
    #[must_use]
    pub fn diff_only(execution_mode: ExecutionMode, diff_quality: DiffQuality) -> Self {
        Self {
            execution_mode,
            supports_diff: Ability::Yes,
            supports_patch: Ability::Yes,
            supports_health_check: Ability::Yes,
            chat: Ability::Unknown,
            tools: Ability::Unknown,
            vision: Ability::Unknown,
            stream: Ability::Unknown,
            json_mode: Ability::Unknown,
            grammar: Ability::Unknown,
            context_window: None,
            diff_quality,
        }
    }
}
