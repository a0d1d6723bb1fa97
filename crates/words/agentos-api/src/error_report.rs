//! Document about the failure of a verb that lands nothing.
//!
//! Owns: the shape. Never: makes a failure; a verb that lands reports its failure as an outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, NextStep};

/// Output of a verb with `--json` that fails and lands nothing. Verbs that land print an outcome for every end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Failure.
    pub error: ErrorBody,
}

/// Failure, for programs and people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// Stable code, in kebab-case.
    pub code: String,
    /// Cause, from which the exit status is computed.
    pub cause: Cause,
    /// Failure, in one sentence.
    pub message: String,
    /// Next step, in words. `None` if there is none.
    pub hint: Option<String>,
    /// Next steps as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Causes of the failure, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}
