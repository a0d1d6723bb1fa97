//! Something worth reporting while work goes on, although nothing failed.
//!
//! Owns: notices and activities as data. Never: words them for one front end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;

/// Work that takes a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Files are searched for the task.
    SearchingContext,
    /// The tool has the task.
    AskingTool,
    /// The user's signing program has the commit; it may ask for a passphrase.
    SigningCommit,
}

/// Something worth reporting while the work goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// Stable code, as in `evidence-unsigned`.
    pub code: String,
    /// One sentence; it may hold text of a repository or a server, which a front end escapes.
    pub message: String,
    /// Details, one line each.
    pub details: Vec<String>,
    /// Steps that a person can take, as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
}

impl Notice {
    /// Code of a notice about a landing that was cut short and then finished or taken back.
    pub const RECOVERED: &str = "recovered";

    /// Makes a notice without details.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            details: Vec::new(),
            next: Vec::new(),
        }
    }
}
