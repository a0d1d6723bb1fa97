//! `agentos run`: gives a task to a tool and lands its answer.
//!
//! Owns: the translation of the flags into a task. Never: selects a model or a provider; `agentos-host` does.

use agentos_host::{CheckOptions, ContextMode, EffectError, RunSpec, RunWork, TaskSpec};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed};
use crate::args::land::{ContextArg, RunArgs};
use crate::exit::Exit;
use crate::input;
use crate::render;
use crate::terminal::follow::{consent_mode, follow_run};
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn run_task(app: &App, args: &RunArgs, run: &RunId) -> Done {
    let task = task_spec(args)?;
    if args.context == Some(ContextArg::Show) {
        return show_context(app, &task);
    }
    let spec = RunSpec {
        id: Some(run.clone()),
        consent: consent_mode(app, args.target.yes),
        ..RunSpec::new((&args.target).into(), RunWork::Task(task))
    };
    app.show_end(follow_run(app, spec)?)
}

fn task_spec(args: &RunArgs) -> Result<TaskSpec, EffectError> {
    Ok(TaskSpec {
        task: input::read_task(args.task.as_deref())?,
        provider: (&args.provider).into(),
        program: (&args.program).into(),
        files: args.files.clone(),
        context: match args.context {
            // `show` must select the files as `auto` would, or it would describe another run.
            Some(ContextArg::Auto | ContextArg::Show) => Some(ContextMode::Auto),
            Some(ContextArg::None) => Some(ContextMode::Named),
            None => None,
        },
        check: args.check.as_ref().map(|command| CheckOptions {
            command: command.clone(),
            timeout_seconds: args.check_timeout,
        }),
        attempts: args.attempts,
        message: args.target.message.clone(),
        partial: args.target.partial,
    })
}

/// Prints the files that the tool would get, and runs nothing (`--context show`).
fn show_context(app: &App, task: &TaskSpec) -> Done {
    let found = {
        let _working = WorkDisplay::start_on(app, "searching the repository");
        app.host.find_context(task)?
    };
    if app.printer.json {
        app.printer.write_json(&found)
    } else {
        app.print_paged(&render::context::format_context(&found))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
