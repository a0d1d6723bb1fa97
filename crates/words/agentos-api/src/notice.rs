//! Notices and activities that are reported while a run continues, although nothing failed.
//!
//! Owns: the shapes of both. Never: words them for one front end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::next_step::NextStep;

/// Long-running activity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// The repository is searched for files that belong to the task.
    SearchingContext,
    /// The tool, a model, is working on the task.
    AskingTool,
    /// The tool, a program or an agent, is working on its copy.
    RunningProgram,
    /// The user's check runs on a copy that contains the change.
    RunningCheck,
    /// The repository's hooks run on a copy that contains the change.
    RunningHooks,
    /// The user's signing program signs the commit; it may ask for a passphrase.
    SigningCommit,
}

/// Notice about something that a person should know although nothing failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// Stable code, as in `evidence-unsigned`.
    pub code: String,
    /// Message in one sentence. It may contain untrusted text of a repository or a server, which a front end must escape.
    pub message: String,
    /// Details, one line each.
    pub details: Vec<String>,
    /// Steps that a person can take, as data: alternatives, the best first.
    // A notice is also part of a streamed event (`run-event`), and an event without steps must stay the
    // document that it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
}

impl Notice {
    /// Code of a notice about an interrupted landing that recovery finished or rolled back.
    // A constant, because one crate writes this code and another one filters for it.
    pub const RECOVERED: &str = "recovered";

    /// Creates a notice without details.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            details: Vec::new(),
            next: Vec::new(),
        }
    }
}
