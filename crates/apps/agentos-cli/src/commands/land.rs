//! `agentos land`: lands the recorded answer of an earlier run.
//!
//! Owns: the meaning of the flags. Never: reads the answer.

use agentos_host::{RelandSpec, RunSpec, RunWork};
use agentos_tool::RunId;

use crate::app::{App, Done};
use crate::args::land::LandArgs;
use crate::terminal::follow::{consent_mode, follow_run};

/// Runs the verb.
pub fn land_recorded(app: &App, args: &LandArgs, run: &RunId) -> Done {
    let work = RunWork::Recorded(RelandSpec {
        run: args.run.clone(),
        again: args.again,
        message: args.target.message.clone(),
        partial: args.target.partial,
        unchecked: args.no_check,
    });
    let spec = RunSpec {
        id: Some(run.clone()),
        consent: consent_mode(app, args.target.yes),
        ..RunSpec::new((&args.target).into(), work)
    };
    app.show_followed(follow_run(app, spec)?)
}
