//! Notices: messages for a person although nothing failed.
//!
//! Owns: the observer through which a front end receives notices and records. Never: prints.

use std::fmt;
use std::sync::Arc;

use agentos_api::{Activity, Notice};
use agentos_evidence::RecordKind;
use agentos_executor::{Recovered, RecoveryOutcome};
use agentos_ledger::CallRecord;
use agentos_tool::Timestamp;

/// Makes the notice about an interrupted landing that was finished or rolled back.
pub fn recovered_notice(recovered: &Recovered) -> Notice {
    let what = match recovered.outcome {
        RecoveryOutcome::RolledBack => "was interrupted before its change was written, and was rolled back",
        RecoveryOutcome::Finished if recovered.commit.is_some() => {
            "was interrupted after its commit; index and working tree now match it"
        }
        RecoveryOutcome::Finished => {
            "was interrupted while it wrote; index and working tree now contain its change"
        }
        RecoveryOutcome::Superseded => {
            "was interrupted, and its branch has moved or is no longer checked out; index and working tree were left as they are"
        }
    };
    let kept = recovered.kept.iter();
    Notice {
        details: kept
            .map(|path| format!("kept {path}: it was edited meanwhile and was not overwritten"))
            .collect(),
        ..Notice::new(Notice::RECOVERED, format!("run {} {what}", recovered.run))
    }
}

/// Makes the notice about uncommitted work in files that a task names.
pub(crate) fn uncommitted_notice(paths: &[String]) -> Notice {
    let what = match paths {
        [path] => format!("`{path}` has uncommitted work"),
        // The command line limits the paths, but a notice is one sentence.
        [first, ..] => format!(
            "`{first}` and {} more of the named files have uncommitted work",
            paths.len() - 1
        ),
        [] => "named files have uncommitted work".to_owned(),
    };
    let rest = "the tool is shown the committed text, and a change of the same lines will not land";
    Notice::new("uncommitted-work", format!("{what}: {rest}"))
}

/// Receives notices and events of the product. Its methods are called on the thread that does the work, and must not block.
pub trait HostObserver: Send + Sync {
    /// Receives a notice.
    fn on_notice(&self, notice: Notice);

    /// Receives a call of a model that is only a part of what a tool did.
    fn on_call(&self, _call: &CallRecord) {}

    /// Receives the id of what budgets reserved for the call whose result is recorded next.
    fn on_reservation(&self, _id: &str) {}

    /// Receives the model that is asked from now on, in the place of the one that a run began with.
    fn on_model(&self, _model: Option<&str>) {}

    /// Receives the beginning of a longer activity.
    fn on_activity(&self, _activity: Activity) {}

    /// Receives a record that goes on the tape, its body without secrets. The record is durable at the latest when its run has
    /// ended.
    fn on_record(&self, _kind: RecordKind, _at: &Timestamp, _body: &serde_json::Value) {}
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy)]
pub struct SilentObserver;

impl HostObserver for SilentObserver {
    fn on_notice(&self, _: Notice) {}
}

/// A shared observer with a `Debug` output, which the trait object lacks.
#[derive(Clone)]
pub struct SharedObserver(pub Arc<dyn HostObserver>);

impl fmt::Debug for SharedObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostObserver")
    }
}
