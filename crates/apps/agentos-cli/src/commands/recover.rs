//! `agentos recover`: brings what a killed landing left to its end, and says what was done.
//!
//! Owns: the verb's words. Never: does more than every verb that lands does at its start.

use agentos_executor::Recovered;
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
