//! `agentos apply`: lands an untrusted answer that the user brings.
//!
//! Owns: reading the answer and the default commit message. Never: parses the answer.

use std::path::Path;

use agentos_host::{AnswerSpec, ConsentMode, RunEnd, RunSpec, RunWork, SessionOptions, describe_answer};
use agentos_tool::RunId;

use crate::app::{App, Done};
use crate::args::land::ApplyArgs;
use crate::input;
use crate::terminal::follow::{consent_mode, follow_run};

/// Runs the verb.
pub fn land_answer(app: &App, args: &ApplyArgs, run: &RunId) -> Done {
    let answer = input::read_answer(app, &args.file)?;
    // An empty pipe usually means that the program before it failed. The engine only sees an answer without a diff, so
    // the cause is named here.
    let is_empty_pipe = answer.is_empty() && args.file == Path::new("-");
    let what = describe_answer(&args.file);
    let message = args.target.message.clone();
    let work = RunWork::Answer(AnswerSpec {
        verb: "apply".to_owned(),
        answer,
        message: message.unwrap_or_else(|| format!("Apply {what}")),
        instruction: what,
        partial: args.target.partial,
    });
    let session = SessionOptions {
        // An explanation must work in any state of the repository, such as during a merge. With `--dry-run` it covers
        // the real target too, and then that state matters.
        look_only: args.explain && !args.target.dry_run,
        ..(&args.target).into()
    };
    let consent = match consent_mode(app, args.target.yes) {
        // An explanation lands nothing, so nobody must be asked to consent to it.
        ConsentMode::Person if args.explain => ConsentMode::Nobody,
        mode => mode,
    };
    let spec = RunSpec {
        id: Some(run.clone()),
        consent,
        ..RunSpec::new(session, work)
    };
    let (mut outcome, diff) = match follow_run(app, spec)? {
        RunEnd::Outcome(ended) => (ended.outcome, ended.diff),
        verdict @ RunEnd::Verdict(_) => (app.outcome_of(verdict)?, None),
    };
    if is_empty_pipe {
        outcome.message = "standard input is empty".to_owned();
        outcome.hint = Some("pipe a diff in, or name a file: agentos apply fix.patch".to_owned());
    }
    if args.explain {
        app.show_report(&outcome, diff.as_deref())
    } else {
        app.show_outcome(&outcome)
    }
}
