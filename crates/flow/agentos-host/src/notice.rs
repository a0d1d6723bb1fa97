//! Notices: what a person should hear of although nothing failed.
//!
//! Owns: the notice as data, and the door through which a front end hears of notices and records. Never: prints.

use std::fmt;
use std::sync::Arc;

use agentos_evidence::RecordKind;
use agentos_executor::{Recovered, RecoveryOutcome};
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Work that takes a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Files are searched for the task.
    SearchingContext,
    /// The tool has the task.
    AskingTool,
    /// The user's signing program has the commit; it may ask for a passphrase.
    SigningCommit,
}

/// Something worth telling while the work goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Notice {
    /// Stable code, as in `evidence-unsigned`.
    pub code: &'static str,
    /// One sentence; it may hold text of a repository or a server, which a front end escapes.
    pub message: String,
    /// Details, one line each.
    pub details: Vec<String>,
}

impl Notice {
    /// Makes a notice without details.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Vec::new(),
        }
    }

    /// Tells what became of a landing that was cut short.
    #[must_use]
    pub fn recovered(recovered: &Recovered) -> Self {
        let what = match recovered.outcome {
            RecoveryOutcome::RolledBack => {
                "was cut short before its change was made; what it had prepared is gone"
            }
            RecoveryOutcome::Finished if recovered.commit.is_some() => {
                "was cut short after its commit; index and work tree now hold it"
            }
            RecoveryOutcome::Finished => "was cut short on its way; index and work tree now hold its change",
            RecoveryOutcome::Superseded => {
                "was cut short, and its branch has moved on or is not checked out any more; index and work tree are as they were"
            }
        };
        let kept = recovered.kept.iter();
        Self {
            code: RECOVERED,
            message: format!("run {} {what}", recovered.run),
            details: kept
                .map(|path| format!("kept {path}: it was edited meanwhile and left alone"))
                .collect(),
        }
    }
}

/// The code of a notice about a landing that was cut short and brought to an end.
pub const RECOVERED: &str = "recovered";

/// Hears what the host does. It is called on the thread that does the work, and must not wait.
pub trait HostObserver: Send + Sync {
    /// Takes one notice.
    fn notice(&self, notice: Notice);

    /// Hears that something has begun that takes a while.
    fn began(&self, _activity: Activity) {}

    /// Sees a record as it goes on the tape, its body without secrets. It is durable at the latest when its run has ended.
    fn record(&self, _kind: RecordKind, _at: &Timestamp, _body: &serde_json::Value) {}
}

/// Hears nothing.
#[derive(Debug, Clone, Copy)]
pub struct SilentObserver;

impl HostObserver for SilentObserver {
    fn notice(&self, _: Notice) {}
}

/// A shared observer that prints as a word in `Debug` output.
#[derive(Clone)]
pub(crate) struct SharedObserver(pub(crate) Arc<dyn HostObserver>);

impl fmt::Debug for SharedObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostObserver")
    }
}
