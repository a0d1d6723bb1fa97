//! Whose doing an outcome is.
//!
//! Owns: the published list of causes. Never: decides one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose doing an outcome is; a front end turns it into an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing went wrong.
    Done,
    /// A fault of ours.
    Internal,
    /// The call itself is wrong.
    Usage,
    /// Policy.
    Policy,
    /// No consent.
    Consent,
    /// The tool is not available or gave no usable answer.
    Tool,
    /// The answer does not land.
    Landing,
    /// Evidence is broken or cannot be written.
    Evidence,
    /// The repository is not in a state to land.
    Repository,
    /// A limit or a time-out.
    Limit,
    /// The user stopped it.
    Interrupted,
}
