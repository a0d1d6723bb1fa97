//! `agentos run`: gives a task to a tool and lands its answer.
//!
//! Owns: the translation of the flags into a task. Never: selects a model or a provider; `agentos-host` does.

use agentos_host::{
    ContextMode, EffectError, ExploreLimits, ExploreMode, FollowKind, FollowSpec, RunSpec, RunText, RunWork,
    Settings, TaskSpec, usage_error,
};
use agentos_tool::RunId;

use crate::app::{App, Done, allow_empty, output_failed};
use crate::args::land::{ContextArg, ExploreFlags, RunArgs};
use crate::commands::check::{choose_check, usual_check};
use crate::commands::show::{print_text, refuse_json};
use crate::exit::Exit;
use crate::input;
use crate::render;
use crate::terminal::follow::{follow_run, review_mode};
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn run_task(app: &App, args: &RunArgs, run: &RunId) -> Done {
    let task = task_spec(app, args)?;
    match args.context {
        Some(ContextArg::Show) => return show_context(app, &task),
        Some(ContextArg::Text) => return print_prompt(app, &task),
        Some(ContextArg::Auto | ContextArg::None) | None => {}
    }
    let spec = RunSpec {
        id: Some(run.clone()),
        ..RunSpec::new((&args.target).into(), RunWork::Task(task))
    };
    let spec = RunSpec {
        consent: review_mode(app, args.target.yes, &spec),
        ..spec
    };
    let followed = follow_run(app, spec)?;
    let outcome = app.outcome_of(followed.end)?;
    if !followed.was_asked {
        app.show_landed(&outcome);
    }
    let exit = app.show_outcome(&outcome)?;
    Ok(allow_empty(exit, &outcome, args.target.allow_empty))
}

fn task_spec(app: &App, args: &RunArgs) -> Result<TaskSpec, EffectError> {
    let settings = app.host.providers().read_settings()?;
    let attempts = args.attempts.map(u64::from);
    Ok(TaskSpec {
        // First, so that a missing provider is reported before standard input is waited for.
        provider: args.provider.complete_choice(app)?,
        task: match args.edit {
            true => Some(input::edit_task(app, args.task.as_deref(), &args.files)?),
            false => input::read_task(args.task.as_deref())?,
        },
        program: (&args.program).into(),
        files: args.files.clone(),
        symbols: args.symbols.clone(),
        context: match args.context {
            Some(ContextArg::Auto) => Some(ContextMode::Auto),
            Some(ContextArg::None) => Some(ContextMode::Named),
            // These must select the files as the same call without them, or they would describe another run.
            Some(ContextArg::Show | ContextArg::Text) | None => None,
        },
        usual_context: settings.context_mode(),
        check: choose_check(&args.check, usual_check(&settings), &settings)?,
        attempts: attempts
            .unwrap_or_else(|| settings.number_or_usual("attempts"))
            .try_into()
            .unwrap_or(u32::MAX),
        message: args.target.message.clone(),
        partial: args.target.partial,
        follows: args.follow.as_ref().map(|run| FollowSpec {
            run: run.clone(),
            how: FollowKind::Continue,
            remark: None,
        }),
        explore: choose_explore(&args.explore, &settings)?,
        toolboxes: args.explore.toolboxes.clone(),
    })
}

/// Returns whether the model reads the repository itself.
///
/// # Errors
/// If a flag limits its tools, and it has none.
fn choose_explore(flags: &ExploreFlags, settings: &Settings) -> Result<ExploreMode, EffectError> {
    let rounds = flags.explore_rounds.map(u64::from);
    let rounds = rounds.unwrap_or_else(|| settings.number_or_usual("explore_rounds"));
    let limits = ExploreLimits {
        rounds: rounds.try_into().unwrap_or(u32::MAX),
        seconds: flags
            .explore_time
            .unwrap_or_else(|| settings.number_or_usual("explore_time")),
    };
    let is_usual = settings.text("explore") == Some("yes") && !flags.no_explore;
    match (flags.explore, is_usual) {
        (true, _) => Ok(ExploreMode::Always(limits)),
        (false, true) => Ok(ExploreMode::IfModel(limits)),
        (false, false) if flags.explore_rounds.is_some() || flags.explore_time.is_some() => {
            let message = "`--explore-rounds` and `--explore-time` limit a model with tools, and it has none";
            Err(usage_error(message).hint("add `--explore`"))
        }
        (false, false) => Ok(ExploreMode::Never),
    }
}

/// Prints the prompt that the tool would get, and runs nothing (`--context text`).
fn print_prompt(app: &App, task: &TaskSpec) -> Done {
    refuse_json(app)?;
    let prompt = {
        let _working = WorkDisplay::start_on(app, "searching the repository");
        app.host.runs().preview_prompt(task)?
    };
    print_text(app, RunText::Prompt, prompt.as_bytes())
}

/// Prints the files that the tool would get, and runs nothing (`--context show`).
fn show_context(app: &App, task: &TaskSpec) -> Done {
    let found = {
        let _working = WorkDisplay::start_on(app, "searching the repository");
        app.host.runs().find_context(task)?
    };
    if app.printer.json {
        app.printer.write_json(&found)
    } else {
        app.print_paged(&render::context::format_context(&found))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
