//! Notices: what a person should hear of although nothing failed.
//!
//! Owns: the door through which a front end hears of notices and records. Never: prints.

use std::fmt;
use std::sync::Arc;

use agentos_api::{Activity, Notice};
use agentos_evidence::RecordKind;
use agentos_executor::{Recovered, RecoveryOutcome};
use agentos_tool::Timestamp;

/// Reports what became of a landing that was cut short.
pub(crate) fn recovered_notice(recovered: &Recovered) -> Notice {
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
    Notice {
        details: kept
            .map(|path| format!("kept {path}: it was edited meanwhile and left alone"))
            .collect(),
        ..Notice::new(Notice::RECOVERED, format!("run {} {what}", recovered.run))
    }
}

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
