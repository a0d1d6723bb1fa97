//! `agentos undo`: lands the reverse of a landed run like any other change.
//!
//! Owns: the meaning of the flags. Never: resets or rewrites history.

use agentos_host::{RunSpec, RunWork, SessionOptions};
use agentos_tool::RunId;

use crate::app::{App, Done};
use crate::args::land::UndoArgs;
use crate::terminal::follow::{consent_mode, follow_run};

/// Runs the verb.
pub fn undo_run(app: &App, args: &UndoArgs, run: &RunId) -> Done {
    let session = SessionOptions {
        dry_run: args.dry_run,
        policies: args.policy.clone(),
        ..SessionOptions::default()
    };
    let work = RunWork::Undo {
        run: args.run.clone(),
    };
    let spec = RunSpec {
        id: Some(run.clone()),
        consent: consent_mode(app, args.yes),
        ..RunSpec::new(session, work)
    };
    app.show_end(follow_run(app, spec)?.end)
}
