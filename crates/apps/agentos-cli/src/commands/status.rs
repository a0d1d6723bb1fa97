//! `agentos` without a verb: the state of the repository, the active policy, and possible next steps.
//!
//! Owns: the message outside a repository. Never: writes.

use crate::app::{App, Done, output_failed};
use crate::args::full_command;
use crate::commands::log::layout_of;
use crate::exit::Exit;
use crate::render::{
    self,
    next_step::{word_command, word_hint},
};

/// Shows the status.
pub fn show_status(app: &App) -> Done {
    let mut report = app.host.read_status()?;
    let obstacles = [
        report
            .repository
            .as_mut()
            .and_then(|found| found.obstacle.as_mut()),
        report.policy.as_mut().and_then(|found| found.obstacle.as_mut()),
        report.settings_obstacle.as_mut(),
    ];
    for obstacle in obstacles.into_iter().flatten() {
        obstacle.hint = word_hint(obstacle.hint.as_deref(), &obstacle.next);
    }
    for step in &mut report.next {
        step.command = word_command(&step.action).unwrap_or_default();
    }
    if app.printer.json {
        app.printer.write_json(&report)
    // Outside a repository there is no state to show, and a person who types only the name wants to know what the
    // program does.
    } else if report.repository.is_none() {
        app.printer
            .write_data(&full_command().render_help().ansi().to_string())
    } else {
        app.printer
            .write_report(&render::status::format_status(&report, &layout_of(app)))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
