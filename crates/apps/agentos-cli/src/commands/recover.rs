//! `agentos recover`: brings what a killed landing left to its end, and says what was done.
//!
//! Owns: the verb's words. Never: does more than every verb that lands does at its start.

use crate::app::{App, Done, output_failed};
use crate::exit::Exit;

/// Runs the verb.
pub fn recover(app: &App) -> Done {
    let report = app.host.recover()?;
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    } else if report.recovered.is_none() {
        app.printer.note("nothing to recover");
    }
    Ok(Exit::Done)
}
