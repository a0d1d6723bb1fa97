//! `agentos recover`: brings what a killed landing left to its end, and says what was done.
//!
//! Owns: the verb's words. Never: does more than every verb that lands does at its start.

use agentos_executor::{Recovered, RecoveryOutcome};
use agentos_tool::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::exit::Exit;
use crate::wire::session;

/// `agentos recover --json`.
#[derive(Serialize, JsonSchema)]
pub struct RecoverReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// What was finished or taken back; none when there was nothing to do.
    pub recovered: Option<Recovered>,
}

/// Runs the verb.
pub fn recover(app: &App, run: &RunId) -> Done {
    let recovered = session::recover_only(app, run)?;
    if app.printer.json {
        let report = RecoverReport {
            version: 1,
            recovered,
        };
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    } else if recovered.is_none() {
        app.printer.note("nothing to recover");
    }
    Ok(Exit::Done)
}

/// What became of a landing that was cut short, in words.
pub fn told(recovered: &Recovered) -> String {
    let what = match recovered.outcome {
        RecoveryOutcome::RolledBack => "was cut short before its change was made; what it had prepared is gone",
        RecoveryOutcome::Finished if recovered.commit.is_some() => {
            "was cut short after its commit; index and work tree now hold it"
        }
        RecoveryOutcome::Finished => "was cut short on its way; index and work tree now hold its change",
        RecoveryOutcome::Superseded => {
            "was cut short, and the branch has moved on since; nothing was changed"
        }
    };
    let mut text = format!("recovered: run {} {what}", crate::escape::line(&recovered.run));
    for path in &recovered.kept {
        let path = crate::escape::line(path);
        text.push_str(&format!("\n  kept {path}: it was edited meanwhile and left alone"));
    }
    text
}
