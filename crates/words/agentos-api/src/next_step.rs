//! What a person can do next, as data.
//!
//! Owns: the published list of steps. Never: words one for a front end: a terminal names a flag, a page shows a button.
//!
//! A failure brings a list of steps: alternatives, the best first. A step holds what a front end needs to offer it, as the
//! branch or the run it is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step that a person can take after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum NextStep {
    /// Go to a repository, or name one.
    NameRepository,
    /// Land on a branch that is named.
    NameBranch {
        /// Kind of branch that helps.
        choice: BranchChoice,
    },
    /// Run a command of git, which has the same words in every front end.
    RunGit {
        /// The command, as a person types it.
        command: String,
    },
    /// Commit or stash work that is in the way.
    ClearWork {
        /// The files with that work.
        paths: Vec<String>,
    },
}

/// The branch that a person is to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BranchChoice {
    /// Any branch: nothing is checked out that could be meant.
    Any,
    /// Any branch, or one that is checked out first: HEAD names a commit now.
    CheckOutOrName,
    /// Another branch than the one that is checked out.
    Other,
    /// Another branch, which git merges afterwards.
    OtherThenMerge,
    /// The branch that the run began with.
    BeganWith,
}
