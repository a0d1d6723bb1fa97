//! `agentos init`: what a repository begins with: a policy, and the profile of a provider that is there.
//!
//! Owns: what is printed and who consents. Never: writes by itself: the proposal goes the way of every change.

use agentos_host::{InitSpec, POLICY_DIR, RunSpec, init_run};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed, worded};
use crate::args::policy::PresetArg;
use crate::args::start::InitArgs;
use crate::exit::Exit;
use crate::render;
use crate::terminal::follow::{consent_mode, follow};
use crate::terminal::working::Working;

/// Runs the verb.
pub fn init(app: &App, args: &InitArgs, run: &RunId) -> Done {
    let spec = InitSpec {
        preset: args.preset.into(),
        provider: args.provider.clone(),
        is_offline: args.offline,
    };
    let mut report = {
        let _working = Working::on(app, "asking providers");
        app.host.propose_init(&spec)?
    };
    if !app.printer.json {
        app.printer
            .data(&render::init::proposal(&report))
            .map_err(|error| output_failed(&error))?;
    }
    let exit;
    let nobody = !args.yes && (!app.streams.can_ask || app.printer.json);
    if args.print || report.files.is_empty() {
        exit = Exit::Done;
    } else if nobody {
        // Said here, since a request that waits would be one more thing to answer.
        app.printer
            .error("nothing is written: nobody can be asked\n  next: run `agentos init --yes`");
        exit = Exit::ConsentNeeded;
    } else {
        let spec = RunSpec {
            id: Some(run.clone()),
            ..init_run(&report.files, consent_mode(app, args.yes))
        };
        let outcome = app.outcome(follow(app, spec)?)?;
        exit = Exit::from(outcome.cause);
        if !app.printer.json {
            app.finish(&outcome)?;
            if outcome.is_done() {
                app.printer
                    .note("  next: read these files, change what does not fit, and commit them; a policy is in force once it is committed");
                if report.files.iter().any(|file| file.path.starts_with(POLICY_DIR)) {
                    app.printer.note(&format!("  {}", consequence(args.preset)));
                }
            }
        }
        report.outcome = Some(worded(&outcome));
    }
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    }
    Ok(exit)
}

/// Says what a preset means for the next change.
fn consequence(preset: PresetArg) -> &'static str {
    match preset {
        PresetArg::Default | PresetArg::Solo => {
            "this policy lets an ordinary edit land without a question, and asks about what runs by itself"
        }
        PresetArg::Team => {
            "on main this policy asks about every change: answer it, or give `--yes`; \
             `agentos init --preset solo` writes one that does not"
        }
        PresetArg::Strict => {
            "this policy lets small edits of sources, documents and tests land, and asks about or denies all else"
        }
    }
}
