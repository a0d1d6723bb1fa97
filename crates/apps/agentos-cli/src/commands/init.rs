//! `agentos init`: adds a policy, and the profile of an available provider, to a repository.
//!
//! Owns: the messages and the question for consent. Never: writes files itself: they land like every change.

use agentos_host::{InitSpec, POLICY_DIR, RunSpec, init_run};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed, word_outcome};
use crate::args::policy::PresetArg;
use crate::args::start::InitArgs;
use crate::exit::Exit;
use crate::render;
use crate::terminal::follow::{consent_mode, follow_run};
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn init_repository(app: &App, args: &InitArgs, run: &RunId) -> Done {
    let spec = InitSpec {
        preset: args.preset.into(),
        provider: args.provider.clone(),
        is_offline: args.offline,
    };
    let mut report = {
        let _working = WorkDisplay::start_on(app, "asking providers");
        app.host.propose_init(&spec)?
    };
    if !app.printer.json {
        app.printer
            .write_data(&render::init::format_proposal(&report))
            .map_err(|error| output_failed(&error))?;
    }
    let exit;
    // A program that reads JSON cannot answer a question, even if its user has a terminal.
    let nobody = !args.yes && (!app.streams.can_ask || app.printer.json);
    if args.print || report.files.is_empty() {
        exit = Exit::Done;
    } else if nobody {
        // Refused here, because a run without a terminal would leave an open request that somebody has to answer.
        app.printer
            .show_error("nothing was written, because there is no terminal for the question\n  next: run `agentos init --yes`");
        exit = Exit::ConsentNeeded;
    } else {
        let spec = RunSpec {
            id: Some(run.clone()),
            ..init_run(&report.files, consent_mode(app, args.yes))
        };
        let outcome = app.outcome_of(follow_run(app, spec)?)?;
        exit = Exit::from(outcome.cause);
        if !app.printer.json {
            app.show_outcome(&outcome)?;
            // The files land without a commit, because a policy judges changes only after its author has reviewed and
            // committed it.
            if outcome.is_done() {
                app.printer
                    .show_note("  next: review and adapt these files, and commit them; a policy becomes active when it is committed");
                if report.files.iter().any(|file| file.path.starts_with(POLICY_DIR)) {
                    app.printer
                        .show_note(&format!("  {}", describe_preset(args.preset)));
                }
            }
        }
        report.outcome = Some(word_outcome(&outcome));
    }
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
    }
    Ok(exit)
}

/// Describes the effect of a preset on the next change.
fn describe_preset(preset: PresetArg) -> &'static str {
    match preset {
        PresetArg::Default | PresetArg::Solo => {
            "this policy lets ordinary edits land without consent, and asks about files that run automatically"
        }
        PresetArg::Team => {
            "this policy asks for consent to every change on main: answer the question, or use `--yes`; \
             `agentos init --preset solo` writes a policy that does not"
        }
        PresetArg::Strict => {
            "this policy lets small edits of sources, documents and tests land, and asks about or denies everything else"
        }
    }
}
