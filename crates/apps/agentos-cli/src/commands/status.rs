//! `agentos` without a verb: the state of the repository, the active policy, and possible next steps; and `agentos status`, with the
//! machine as well.
//!
//! Owns: the message outside a repository, and the screen of `--watch`. Never: writes.

use std::time::Duration;

use agentos_host::{EffectError, MachineWatch, StatusReport, block_on};

use crate::app::{App, Done, output_failed};
use crate::args::full_command;
use crate::args::start::StatusArgs;
use crate::commands::log::layout_of;
use crate::exit::Exit;
use crate::render::machine::format_machine;
use crate::render::{
    self,
    next_step::{word_command, word_hint},
};
use crate::terminal::watch::WatchScreen;

/// Shows the status without the machine.
pub fn show_status(app: &App) -> Done {
    let report = read_worded(app)?;
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

/// Shows the status with the machine, once or repeatedly.
pub fn show_machine(app: &App, args: &StatusArgs) -> Done {
    let mut machine = app.host.calls().watch_machine()?;
    if let Some(seconds) = args.watch {
        return watch_machine(app, &mut machine, Duration::from_secs(seconds));
    }
    let mut report = read_worded(app)?;
    let Some(seen) = block_on(app.signals.unless_stopped(machine.look_once()))? else {
        return Ok(app.show_stopped("nothing was written"));
    };
    let seen = seen?;
    if app.printer.json {
        report.machine = Some(seen);
        app.printer.write_json(&report)
    } else {
        let text = match &report.repository {
            Some(_) => render::status::format_status(&report, &layout_of(app)) + "\n",
            None => String::new(),
        };
        app.printer.write_report(&(text + &format_machine(&seen)))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Repeats the report about the machine. On a terminal, redraws it in place.
fn watch_machine(app: &App, machine: &mut MachineWatch, pause: Duration) -> Done {
    let mut screen = WatchScreen::default();
    loop {
        let Some(seen) = block_on(app.signals.unless_stopped(machine.look_once()))? else {
            return Ok(app.show_stopped("nothing was written"));
        };
        let seen = seen?;
        if app.printer.json {
            app.printer.write_json_line(&seen)
        } else {
            screen.draw(app, &format_machine(&seen), pause)
        }
        .map_err(|error| output_failed(&error))?;
        // A tokio timer can only be created inside the runtime.
        let waited = app
            .signals
            .unless_stopped(async { tokio::time::sleep(pause).await });
        if block_on(waited)?.is_none() {
            return Ok(app.show_stopped("nothing was written"));
        }
    }
}

/// Reads the status with its steps worded as commands.
fn read_worded(app: &App) -> Result<StatusReport, EffectError> {
    let mut report = app.host.stories().read_status()?;
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
    Ok(report)
}
