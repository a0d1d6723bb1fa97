//! `agentos apply`: an untrusted answer's way to a commit.
//!
//! Owns: reading the answer and naming the commit. Never: looks inside the answer.

use std::path::Path;

use agentos_engine::ports::Clock;
use agentos_engine::settle::{self, Proposal};
use agentos_policy::ToolFacts;
use agentos_tool::{Enforcement, ExecutionMode, RunId};

use crate::app::{App, Done};
use crate::args::land::ApplyArgs;
use crate::clock::SystemClock;
use crate::input;
use crate::wire::session::{Session, Wanted};

/// Runs the verb.
pub fn apply(app: &App, args: &ApplyArgs, run: &RunId) -> Done {
    let answer = input::answer(&app.env, &args.file)?;
    let mut wanted = Wanted::from(&args.target);
    wanted.look_only |= args.explain && !wanted.dry_run;
    wanted.headless |= args.explain;
    let mut session = Session::open(app, &wanted, run)?;
    let what = described(&args.file);
    let proposal = Proposal {
        run,
        answer: &answer,
        seen: Vec::new(),
        tool: patch_facts(),
        reported_model: None,
        message: args
            .target
            .message
            .clone()
            .unwrap_or_else(|| format!("Apply {what}")),
        trailers: Vec::new(),
        attempt: 1,
        partial: args.target.partial,
        answers: None,
        proved: None,
    };
    let mut outcome = settle::apply(&mut session.deps(), "apply", &what, &proposal);
    session.seal(app);
    if answer.is_empty() && args.file == Path::new("-") {
        outcome.message = "nothing came on standard input".to_owned();
        outcome.hint = Some("pipe a diff in, or name a file: agentos apply fix.patch".to_owned());
    }
    if args.explain {
        // Where it lands, its diff was recorded before anything else.
        let landed = outcome
            .diff_sha256
            .as_ref()
            .map(|sha256| format!("sha256:{sha256}"));
        let diff = landed.and_then(|id| session.store().get_blob(&id).ok());
        app.explain(&outcome, diff.as_deref())
    } else {
        app.finish(&outcome)
    }
}

/// What policy is told of an answer that a person brought: nobody's model, on this machine.
pub fn patch_facts() -> ToolFacts {
    ToolFacts {
        provider: "patch".to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        enforcement: Enforcement::Observed,
        attempt: 1,
        at: SystemClock.now(),
        context_bytes: 0,
        target_ref: None,
        checked: false,
    }
}

/// The answer's name, for the commit message and the tape: never more than a file name.
fn described(file: &Path) -> String {
    match file.file_name() {
        Some(name) if file != Path::new("-") => name
            .to_string_lossy()
            .chars()
            .filter(|c| !c.is_control())
            .take(60)
            .collect(),
        Some(_) | None => "a change from standard input".to_owned(),
    }
}
