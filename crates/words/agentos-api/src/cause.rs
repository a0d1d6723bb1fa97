//! The cause of an outcome, as data.
//!
//! Owns: the published list of causes. Never: decides which cause applies; the flow does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cause of an outcome: who or what is responsible for it. A front end turns it into an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// Not `non_exhaustive`: a front end matches every cause by name, so that a new cause breaks its build instead
// of becoming a wrong exit status.
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nothing went wrong.
    Done,
    /// A fault in AgentOS itself.
    Internal,
    /// The command or its input is wrong.
    Usage,
    /// Policy denied the change.
    Policy,
    /// A person's consent is missing.
    Consent,
    /// The tool is not available or gave no usable answer.
    Tool,
    /// The answer cannot be turned into a change that lands.
    Landing,
    /// Evidence is broken or cannot be written.
    Evidence,
    /// The state of the repository prevents landing.
    Repository,
    /// A limit or timeout was reached.
    Limit,
    /// The user stopped the run.
    Interrupted,
}
