//! `agentos init`: adds a policy to a repository, and offers an available provider.
//!
//! Owns: the messages and the question for consent. Never: writes files itself: they land like every change.

use agentos_api::FoundServer;
use agentos_host::{
    EffectError, InitReport, InitSpec, POLICY_DIR, ProposedFile, RunSpec, block_on, init_run, preset_file,
};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed, stopped_error, usage_error, word_outcome};
use crate::args::policy::PresetArg;
use crate::args::start::InitArgs;
use crate::commands::models::describe_server;
use crate::exit::Exit;
use crate::terminal::follow::{consent_mode, follow_run};
use crate::terminal::keyboard::{Keyboard, LineSource, TypedLine};
use crate::terminal::last_line;
use crate::terminal::working::WorkDisplay;
use crate::{escape, render};

/// Runs the verb.
pub fn init_repository(app: &App, args: &InitArgs, run: &RunId) -> Done {
    let spec = InitSpec {
        preset: args.preset.unwrap_or(PresetArg::Team).into(),
        provider: args.provider.clone(),
        is_offline: args.offline,
    };
    let mut report = {
        let _working = WorkDisplay::start_on(app, "asking providers");
        app.host.runs().propose_init(&spec)?
    };
    let preset = choose_preset(app, args, &mut report)?;
    if !app.printer.json {
        app.printer
            .write_report(&render::init::format_proposal(&report))
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
        let outcome = app.outcome_of(follow_run(app, spec)?.end)?;
        exit = Exit::from(outcome.cause);
        // The person chose this text with their own command.
        let policy = report.files.iter().find(|file| file.path.starts_with(POLICY_DIR));
        if let Some(file) = policy.filter(|_| outcome.is_done()) {
            app.host.agree_to_new_file(file)?;
        }
        if !app.printer.json {
            app.show_outcome(&outcome)?;
            // The files land without a commit, because a policy judges changes only after its author has reviewed and
            // committed it.
            if outcome.is_done() {
                app.printer
                    .show_note("  next: review and adapt these files, and commit them; a policy becomes active when it is committed");
                if report.files.iter().any(|file| file.path.starts_with(POLICY_DIR)) {
                    app.printer
                        .show_note(&format!("  {}", describe_preset(app, preset)));
                }
                offer_default(app, args, &report)?;
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

/// Makes the server that was found on this machine the default, if the user has none, and says so. A provider with a key, whose calls can
/// cost something, becomes the default only by a person's yes.
fn offer_default(app: &App, args: &InitArgs, report: &InitReport) -> Result<(), EffectError> {
    let Some(provider) = report.provider.as_deref() else {
        return Ok(());
    };
    if app.host.providers().read_settings()?.default_provider().is_some() {
        return Ok(());
    }
    let name = escape::line(provider);
    let (named, model) = provider
        .split_once('/')
        .map_or((provider, None), |(named, model)| (named, Some(model)));
    if let Some(found) = report.servers.iter().find(|server| server.provider == named) {
        return add_found(app, found, model, provider);
    }
    // `--yes` is the consent to these files. It says nothing about the user's own settings.
    if args.yes || !app.streams.can_ask {
        app.printer
            .show_note(&format!("  `agentos use {name}` lets you leave `-p {name}` out"));
        return Ok(());
    }
    last_line::print_prompt(&format!(
        "use {name} whenever a task names no provider? [y]es / [N]o: "
    ));
    let typed = Keyboard::new(&app.signals)
        .read_line()
        .map_err(|error| usage_error(format!("cannot read the answer: {error}")))?;
    let TypedLine::Line(line) = typed else {
        return Ok(());
    };
    if ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()) {
        set_default(app, provider)?;
    }
    Ok(())
}

/// Adds the server that was found to the user's own providers, which finds out its kind, wire and window.
fn add_found(app: &App, found: &FoundServer, model: Option<&str>, provider: &str) -> Result<(), EffectError> {
    match block_on(app.host.providers().add_found_server(found, model))? {
        Ok(Some(added)) => {
            app.printer.show_note(&format!("  {}", describe_server(&added)));
            Ok(())
        }
        Ok(None) => set_default(app, provider),
        Err(error) => {
            // The search has found it, so it answers: its provider works without a profile of the user's own.
            app.printer.show_note(&format!(
                "  note: no profile was written: {}",
                escape::line(&error.message)
            ));
            set_default(app, provider)
        }
    }
}

fn set_default(app: &App, provider: &str) -> Result<(), EffectError> {
    let chosen = app.host.providers().use_provider(provider, None)?;
    let text = escape::line(&render::config::describe_default(&chosen));
    app.printer
        .show_note(&format!("  tasks that name no provider now use {text}"));
    Ok(())
}

/// Chooses the preset: the named one, else by a question to the person, and else the one for several people. Replaces the
/// proposed policy by the chosen one.
fn choose_preset(app: &App, args: &InitArgs, report: &mut InitReport) -> Result<PresetArg, EffectError> {
    if let Some(preset) = args.preset {
        return Ok(preset);
    }
    let is_policy = |file: &&mut ProposedFile| file.path.starts_with(POLICY_DIR);
    let asks = app.streams.can_ask && !args.yes && !args.print && !app.printer.json;
    let Some(proposed) = report.files.iter_mut().find(is_policy).filter(|_| asks) else {
        return Ok(PresetArg::Team);
    };
    // The rules for several people ask at every change of the main branch, which a person alone does not expect.
    last_line::print_prompt("who changes this repository: you [a]lone, or [S]everal people? ");
    let typed = Keyboard::new(&app.signals)
        .read_line()
        .map_err(|error| usage_error(format!("cannot read the answer: {error}")))?;
    match typed {
        TypedLine::Line(line) if ["a", "alone"].contains(&line.trim().to_ascii_lowercase().as_str()) => {
            *proposed = preset_file(PresetArg::Solo.into());
            Ok(PresetArg::Solo)
        }
        TypedLine::Line(_) | TypedLine::End => Ok(PresetArg::Team),
        TypedLine::Stopped => Err(stopped_error()),
    }
}

/// Describes the effect of a preset on the next change.
fn describe_preset(app: &App, preset: PresetArg) -> String {
    match preset {
        PresetArg::Default | PresetArg::Solo => {
            "this policy lets ordinary edits land without consent, and asks about files that run automatically".to_owned()
        }
        PresetArg::Team => {
            // The branches that the preset names. On another branch the real one would be wrong.
            let known = ["main", "master", "trunk"];
            let status = app.host.stories().read_status().ok();
            let branch = status.and_then(|status| status.repository).and_then(|found| found.branch);
            let branch = branch.filter(|name| known.contains(&name.as_str()));
            let branch = branch.unwrap_or_else(|| "main, master and trunk".to_owned());
            format!(
                "this policy asks for consent to every change on {branch}: answer the question, or use `--yes`; \
                 `agentos init --preset solo` writes a policy that does not"
            )
        }
        PresetArg::Strict => {
            "this policy lets small edits of sources, documents and tests land, and asks about or denies everything else"
                .to_owned()
        }
    }
}
