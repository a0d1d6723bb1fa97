//! Capabilities that a tool claims. An unknown capability is not assumed.
//!
//! Owns: the list of capabilities and their three values. Never: measures a capability.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Knowledge about one capability of a tool: yes, no or unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// The tool has the capability.
    Yes,
    /// The tool lacks the capability.
    No,
    /// The capability was neither stated nor measured.
    #[default]
    Unknown,
}

impl From<bool> for Ability {
    fn from(can: bool) -> Self {
        if can { Self::Yes } else { Self::No }
    }
}

/// Place where the work is done: under the user's control, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// On the user's machine or a server in a private network.
    Local,
    /// At a vendor: what is sent leaves the user's control.
    Cloud,
}

impl ExecutionMode {
    /// Returns the name used in JSON, in policies and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Cloud => "cloud",
        }
    }
}

/// Usual quality of a tool's diffs. Information for people; nothing is decided by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffQuality {
    /// Diffs often need repair.
    Low,
    /// Diffs sometimes need repair.
    Medium,
    /// Diffs rarely need repair.
    High,
}

/// Capabilities of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCapabilities {
    /// Place where the work is done.
    pub execution_mode: ExecutionMode,
    /// Answers with a diff.
    pub supports_diff: Ability,
    /// Answers with a patch in another edit format.
    pub supports_patch: Ability,
    /// Supports a health check without cost.
    pub supports_health_check: Ability,
    /// Accepts chat messages.
    pub chat: Ability,
    /// Accepts tool definitions.
    pub tools: Ability,
    /// Accepts pictures.
    pub vision: Ability,
    /// Streams its answer.
    pub stream: Ability,
    /// Can constrain an answer to JSON.
    pub json_mode: Ability,
    /// Can constrain an answer to a grammar.
    pub grammar: Ability,
    /// Size of the context window in tokens. `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Quality of the tool's diffs, as the profile or adapter declares it.
    pub diff_quality: DiffQuality,
}

impl ToolCapabilities {
    /// Returns the capabilities of a tool that answers with diffs and about which nothing else is known.
    #[must_use]
    pub fn diff_only(execution_mode: ExecutionMode, diff_quality: DiffQuality) -> Self {
        Self {
            execution_mode,
            supports_diff: Ability::Yes,
            supports_patch: Ability::Yes,
            supports_health_check: Ability::Yes,
            // Unknown and not `No`: a capability that was not measured is no promise, and no denial either.
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
