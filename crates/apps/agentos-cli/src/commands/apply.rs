//! `agentos apply`: lands an untrusted answer that the user brings.
//!
//! Owns: reading the answer and the default commit message. Never: parses the answer.

use std::path::Path;

use agentos_host::{
    AnswerSpec, ConsentMode, EffectError, Outcome, RunEnd, RunSpec, RunWork, SessionOptions, continue_series,
    describe_answer, new_run, split_answer,
};
use agentos_tool::RunId;

use crate::app::{App, Done, allow_empty};
use crate::args::land::ApplyArgs;
use crate::exit::Exit;
use crate::input;
use crate::terminal::follow::{consent_mode, follow_run};

/// An outcome, and the canonical diff of the change if there is one.
type Landed = (Outcome, Option<Vec<u8>>);

/// Runs the verb.
pub fn land_answer(app: &App, args: &ApplyArgs, run: &RunId) -> Done {
    let answer = input::read_answer(app, &args.file)?;
    // An empty pipe usually means that the program before it failed. The engine only sees an answer without a diff, so
    // the cause is named here.
    let is_empty_pipe = answer.is_empty() && args.file == Path::new("-");
    let what = describe_answer(&args.file);
    let message = args.target.message.as_deref();
    let whole = AnswerSpec {
        verb: "apply".to_owned(),
        answer,
        message: message
            .map(str::to_owned)
            .or_else(|| default_message(&args.file, &what)),
        instruction: what,
        partial: args.target.partial,
        author: None,
        trailers: Vec::new(),
    };
    let commits = !(args.explain || args.target.dry_run || args.target.no_commit);
    let answers = split_answer(whole, message, commits)?;
    let of = answers.len();
    let mut ended = Exit::Done;
    for (at, answer) in answers.into_iter().enumerate() {
        let subject = answer.instruction.clone();
        let id = if at == 0 { run.clone() } else { new_run() };
        let (mut outcome, diff) = land_one(app, args, answer, id)?;
        if is_empty_pipe {
            outcome.message = "standard input is empty".to_owned();
            outcome.hint = Some("pipe a diff in, or name a file: agentos apply fix.patch".to_owned());
        }
        outcome.hint = outcome
            .hint
            .as_deref()
            .map(|hint| word_for_person(outcome.code.as_deref(), hint));
        // Nothing on standard input is most likely a failure of the program before the pipe.
        let may_be_empty = args.target.allow_empty && !is_empty_pipe;
        let goes_on = continue_series(&mut outcome, &subject, (at + 1, of), may_be_empty);
        ended = if args.explain {
            app.show_report(&outcome, diff.as_deref())?
        } else {
            app.show_outcome(&outcome)?
        };
        ended = allow_empty(ended, &outcome, may_be_empty);
        if !goes_on {
            break;
        }
    }
    Ok(ended)
}

/// Returns the message of a commit for which the call states none: the file's name. `None` for standard input, whose commit then
/// names the changed files.
fn default_message(file: &Path, what: &str) -> Option<String> {
    (file != Path::new("-")).then(|| format!("Apply {what}"))
}

/// Returns a hint about an answer in words for the person who brings it. Landing words it for the model that writes the answer.
fn word_for_person(code: Option<&str>, hint: &str) -> String {
    match code {
        Some("no-diff") => {
            "name a file with a diff, with search/replace blocks under a file's path, or with whole files; \
                            ask the model for one of them"
                .to_owned()
        }
        Some("malformed" | "does-not-apply" | "ambiguous") => {
            format!("correct the file, or ask its author: {hint}")
        }
        Some(_) | None => hint.to_owned(),
    }
}

/// Lands one answer. Returns its outcome, and the diff if there is one.
fn land_one(app: &App, args: &ApplyArgs, answer: AnswerSpec, run: RunId) -> Result<Landed, EffectError> {
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
        id: Some(run),
        consent,
        ..RunSpec::new(session, RunWork::Answer(answer))
    };
    let followed = follow_run(app, spec)?;
    Ok(match followed.end {
        RunEnd::Outcome(ended) => {
            // The explanation of an answer shows its diff itself.
            if !(followed.was_asked || args.explain) {
                app.show_landed(&ended.outcome);
            }
            (ended.outcome, ended.diff)
        }
        verdict @ RunEnd::Verdict(_) => (app.outcome_of(verdict)?, None),
    })
}
