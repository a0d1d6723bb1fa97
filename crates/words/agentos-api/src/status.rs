//! Parts of the report about the current repository and the possible next steps.
//!
//! Owns: the parts of the report of `agentos` without a verb that need no type of another crate. Never: reads a repository.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::NextStep;

/// Summary of a repository's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryStatus {
    /// Path of the working tree, or of the repository itself if it is bare.
    pub path: String,
    /// True if the repository has no working tree.
    pub bare: bool,
    /// Branch that is checked out, without `refs/heads/`. `None` if HEAD is detached.
    pub branch: Option<String>,
    /// Commit that is checked out. `None` if the branch has no commit yet.
    pub commit: Option<String>,
    /// Reason why nothing can land on the branch that is checked out. `None` if landing is possible.
    pub obstacle: Option<Obstacle>,
    /// Id of the run whose landing was interrupted. `None` if there is none.
    pub unfinished: Option<String>,
}

/// Reason that prevents landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obstacle {
    /// Stable code, as in `detached-head`.
    pub code: String,
    /// Description of the obstacle, in one sentence.
    pub message: String,
    /// Remedy, in words. `None` if there is none, or until a front end has worded `next`.
    // Readers of JSON knew this field before `next` existed, so the command line fills it from `next` before it
    // prints.
    pub hint: Option<String>,
    /// Next steps as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
}

/// Active policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFileStatus {
    /// Layer of the file, as in `repository`.
    pub layer: String,
    /// Name of the file.
    pub name: String,
}

/// Provider for which a profile, a server or a key was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderStatus {
    /// Name of the provider.
    pub provider: String,
    /// Address as `host:port`. `None` if no address is set.
    pub endpoint: Option<String>,
    /// Model that would be used. `None` if it is not known.
    pub model: Option<String>,
    /// Source of this information, as in `environment OPENAI_API_KEY` or `project file`.
    pub known_from: String,
    /// Reason why the profile cannot be used. `None` if it can.
    pub problem: Option<String>,
}

/// Proposed next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// The name in the committed schema is older than the type's name of two words; readers generate code from it.
#[schemars(rename = "Step")]
pub struct ProposedStep {
    /// Step, as data.
    pub action: NextStep,
    /// Step as a command of the front end. Empty until the front end has worded it.
    // Not optional, because readers of the first JSON shape expect a string. The host leaves it empty: only a
    // front end names verbs.
    pub command: String,
    /// Purpose of the step.
    pub why: String,
}
