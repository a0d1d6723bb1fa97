//! `agentos doctor`: checks of the machine and the repository.
//!
//! Owns: the exit status. Never: fixes anything.

use crate::app::{App, Done, output_failed};
use crate::args::start::DoctorArgs;
use crate::exit::Exit;
use crate::render::{self, next_step::word_hint};
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn run_checks(app: &App, args: &DoctorArgs) -> Done {
    let mut report = {
        let _working = WorkDisplay::start_on(app, "checking");
        app.host.stories().check_setup(args.offline)?
    };
    for check in &mut report.checks {
        check.fix = word_hint(check.fix.as_deref(), &check.next);
    }
    if app.printer.json {
        app.printer.write_json(&report)
    } else {
        app.printer.write_report(&render::doctor::format_doctor(&report))
    }
    .map_err(|error| output_failed(&error))?;
    // The help promises the exit code of the first problem.
    let first = report.checks.iter().find_map(|check| check.cause);
    Ok(first.map_or(Exit::Done, Exit::from))
}
