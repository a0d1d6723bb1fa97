//! `agentos recover`: finishes or rolls back an interrupted landing, and reports which.
//!
//! Owns: the verb's messages. Never: does more than every verb that lands does at its start.

use crate::app::{App, Done, output_failed};
use crate::exit::Exit;

/// Runs the verb.
pub fn recover_landing(app: &App) -> Done {
    let report = app.host.runs().recover_landing()?;
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
    } else if report.recovered.is_none() {
        app.printer
            .show_note("there is no interrupted landing to recover");
    }
    Ok(Exit::Done)
}
