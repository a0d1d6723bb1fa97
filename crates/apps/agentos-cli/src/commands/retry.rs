//! `agentos retry`: gives the task of an earlier run to a tool again.
//!
//! Owns: the meaning of the flags. Never: reads the earlier run; `agentos-host` does.

use agentos_host::{ContextMode, ModelName, RetrySpec, RunSpec, RunWork};
use agentos_tool::RunId;

use crate::app::{App, Done};
use crate::args::land::RetryArgs;
use crate::commands::check::choose_check;
use crate::terminal::follow::{follow_run, review_mode};

/// Runs the verb.
pub fn retry_run(app: &App, args: &RetryArgs, run: &RunId) -> Done {
    let (mut task, session) = app.host.runs().plan_retry(&RetrySpec {
        run: args.run.clone(),
        remark: args.remark.clone(),
        provider: args.provider.as_deref().map(ModelName::parse),
        overrides: (&args.over).into(),
        session: (&args.target).into(),
        message: args.target.message.clone(),
        partial: args.target.partial,
    })?;
    task.check = choose_check(
        &args.check,
        task.check.take(),
        &app.host.providers().read_settings()?,
    )?;
    // The files are further ones: a run that searched for its files searches again.
    if task.files.is_empty() && task.context.is_none() && !args.files.is_empty() {
        task.context = Some(ContextMode::Auto);
    }
    task.files.extend(args.files.iter().cloned());
    let spec = RunSpec {
        id: Some(run.clone()),
        ..RunSpec::new(session, RunWork::Task(task))
    };
    let spec = RunSpec {
        consent: review_mode(app, args.target.yes, &spec),
        ..spec
    };
    app.show_followed(follow_run(app, spec)?)
}
