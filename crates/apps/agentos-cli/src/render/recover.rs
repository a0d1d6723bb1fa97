//! A landing that was cut short, for people.
//!
//! Owns: what became of it, in words. Never: shows a path unescaped.

use agentos_executor::{Recovered, RecoveryOutcome};

use crate::escape;

/// What was finished or taken back.
pub fn recovered(recovered: &Recovered) -> String {
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
    let mut text = format!("recovered: run {} {what}", escape::line(&recovered.run));
    for path in &recovered.kept {
        let path = escape::line(path);
        text.push_str(&format!(
            "\n  kept {path}: it was edited meanwhile and left alone"
        ));
    }
    text
}
