//! `agentos` without a verb: where you are, what is in force, what you can do next.
//!
//! Owns: what is printed outside of a repository. Never: writes.

use agentos_host::now;

use crate::app::{App, Done, output_failed};
use crate::args::command;
use crate::exit::Exit;
use crate::render;

/// Runs without a verb.
pub fn status(app: &App) -> Done {
    let report = app.host.status()?;
    if app.printer.json {
        app.printer.json(&report)
    } else if report.repository.is_none() {
        app.printer.data(&command().render_help().ansi().to_string())
    } else {
        app.printer.data(&render::status::status(&report, &now()))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
