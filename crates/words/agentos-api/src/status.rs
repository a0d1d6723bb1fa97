//! Where a person is, and what can be done next.
//!
//! Owns: the parts of the report of `agentos` without a verb that hold nothing but words. Never: looks at a repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NextStep;

/// A repository at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryStatus {
    /// The work tree; of a bare repository, its own folder.
    pub path: String,
    /// It has no work tree.
    pub bare: bool,
    /// The branch that is checked out, without `refs/heads/`; none where there is none.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// Why nothing can land on the branch that is checked out; none when something can.
    pub obstacle: Option<Obstacle>,
    /// The run whose landing has not come to its end.
    pub unfinished: Option<String>,
}

/// Something that is in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obstacle {
    /// Stable code, as in `detached-head`.
    pub code: String,
    /// What is in the way.
    pub message: String,
    /// What to do next, in words.
    pub hint: Option<String>,
    /// What to do next, as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
}

/// One file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFileStatus {
    /// Its layer, as in `repository`.
    pub layer: String,
    /// Its name.
    pub name: String,
}

/// A provider that something is known of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderStatus {
    /// The provider.
    pub provider: String,
    /// `host:port`.
    pub endpoint: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where that is known from, as in `environment OPENAI_API_KEY` or `project file`.
    pub known_from: String,
    /// Why its profile cannot be used.
    pub problem: Option<String>,
}

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct ProposedStep {
    /// The step, as data.
    pub action: NextStep,
    /// The step as a command of the front end, which words it. Empty until then.
    pub command: String,
    /// What it is for.
    pub why: String,
}
