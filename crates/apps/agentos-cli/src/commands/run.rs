//! `agentos run`: a task's way to a commit.
//!
//! Owns: the commit message and the answer arriving on the screen. Never: picks a model or a provider.

use agentos_engine::Outcome;
use agentos_engine::ports::{Cancel, Check, EffectError};
use agentos_engine::run::{self as flow, Request};
use agentos_tool::{EditFormat, NoProgress, RunId, TaskLimits};

use crate::app::{App, Done, output_failed, usage};
use crate::args::land::{ContextArg, EditFormatArg, ProgramFlags, RunArgs};
use crate::args::tool::ProviderFlags;
use crate::escape;
use crate::exit::Exit;
use crate::render;
use crate::wire::agents;
use crate::wire::check::Checker;
use crate::wire::context::{self, ContextReport};
use crate::wire::progress::{Display, NotesOnly, TerminalProgress};
use crate::wire::screen;
use crate::wire::session::{Session, Wanted};
use crate::wire::tools::{REPLAY, Tool, Tools};
use crate::wire::working::Working;
use crate::wire::{hosted, paths, runtime};

/// Runs the verb.
pub fn run(app: &App, args: &RunArgs, run: &RunId) -> Done {
    let mut session = Session::open(app, &Wanted::from(&args.target), run)?;
    let tools = Tools::read(app, Some(session.work_dir()))?;
    let flags = ProgramFlags {
        for_check: args.check.is_some(),
        ..args.program.clone()
    };
    let tool = match agents::asked(app, &tools, &args.provider, &flags, &session)? {
        Some(tool) => tool,
        None => hosted::hosted(app, tools.tool(app, &args.provider)?, &session)?,
    };
    agents::held(&tool, &args.program)?;
    let checker = Checker::asked(app, args, &tool, &session, run.as_str())?;
    let task = agents::task(args.task.as_deref(), &args.program);
    for notice in &tool.notices {
        app.printer.note(&format!("note: {}", escape::line(notice)));
    }
    let mut files = paths::inside(&app.repo_dir(), session.work_dir(), &args.files)?;
    let found = {
        let _working = Working::on(app, "searching the repository", None);
        searched(&session, args, &tool, &task)?
    };
    if let Some(found) = found {
        if args.context == Some(ContextArg::Show) {
            return show_context(app, &found);
        }
        app.printer.note(&render::context::note(&found));
        let others: Vec<String> = found
            .paths()
            .filter(|path| !files.contains(path))
            .cloned()
            .collect();
        files.extend(others);
    }
    let message = args.target.message.clone();
    let message = message.unwrap_or_else(|| commit_message(&task));
    let request = Request {
        run,
        adapter: tool.adapter.as_ref(),
        model: tool.model.clone(),
        instruction: &task,
        files: &files,
        edit_format: edit_format(args.provider.edit_format, &tool)?,
        limits: limits(&args.provider, tool.timeout_seconds),
        partial: args.target.partial,
        attempts: args.attempts,
        price: tool.price,
        mock: None,
        answers_once: answers_once(args),
        check: checker.as_ref().map(|checker| checker as &dyn Check),
    };
    let outcome = runtime::block_on(async {
        let mut cancel: Cancel<'_> = Box::pin(runtime::interrupted());
        let display = progress(app);
        let mut deps = session.deps();
        let work = flow::run(&mut deps, &request, &message, display.sink(), &mut cancel);
        display.during(work).await
    })?;
    session.seal(app);
    app.finish(&named(outcome, &tool))
}

/// A recording is what it is, and a program without a task of its own has no words that a failure could be added to.
fn answers_once(args: &RunArgs) -> bool {
    let provider = args.provider.provider.as_str();
    provider == REPLAY || (provider == agents::COMMAND && args.task.is_none())
}

/// An answer without an edit, by the name that it has where the answer is a difference of trees.
fn named(mut outcome: Outcome, tool: &Tool) -> Outcome {
    if tool.in_copy && matches!(outcome.code.as_deref(), Some("no-diff" | "empty")) {
        outcome.message = "the program changed nothing".to_owned();
        outcome.hint = Some("`agentos evidence show` has what it said; look at what it wants".to_owned());
    }
    outcome
}

/// Files found for the task, where they are to be looked for. A program has a copy of all files, and a recording was
/// made already.
fn searched(
    session: &Session,
    args: &RunArgs,
    tool: &Tool,
    task: &str,
) -> Result<Option<ContextReport>, EffectError> {
    let provider = args.provider.provider.as_str();
    let wanted = match args.context {
        Some(ContextArg::Show | ContextArg::Auto) if tool.in_copy => {
            return Err(usage(
                "a program sees a copy of all files: `--context` does not concern it",
            ));
        }
        Some(ContextArg::Show | ContextArg::Auto) => true,
        Some(ContextArg::None) => false,
        None => args.files.is_empty() && !tool.in_copy && provider != REPLAY,
    };
    if !wanted {
        return Ok(None);
    }
    context::find(session, tool, task, args.provider.max_output_tokens).map(Some)
}

fn show_context(app: &App, found: &ContextReport) -> Done {
    if app.printer.json {
        app.printer.json(found)
    } else {
        app.page(&render::context::context(found))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// What a person sees while the tool works: the answer arriving where there is a terminal, else what is worth noting.
pub fn progress(app: &App) -> Display {
    if app.printer.quiet || app.printer.json {
        Display::Nobody(NoProgress)
    } else if app.env.stderr_is_terminal {
        Display::Terminal(TerminalProgress::new(screen::size(&app.env).width))
    } else {
        Display::Notes(NotesOnly)
    }
}

/// The form asked for, in the words of the task: the flag's, else the profile's.
///
/// # Errors
/// When the answer is held to another form.
pub fn edit_format(arg: Option<EditFormatArg>, tool: &Tool) -> Result<EditFormat, EffectError> {
    let format = match arg {
        None => return Ok(tool.edit_format),
        Some(EditFormatArg::Diff) => EditFormat::UnifiedDiff,
        Some(EditFormatArg::SearchReplace) => EditFormat::SearchReplace,
        Some(EditFormatArg::WholeFile) => EditFormat::WholeFile,
        Some(EditFormatArg::Json) => EditFormat::JsonEdits,
    };
    if tool.constrain.edit_format().is_none_or(|held| held == format) {
        return Ok(format);
    }
    Err(usage(format!(
        "the profile's `constrain` is `{}`, which holds answers to another form than `--edit-format` asks for",
        tool.constrain.as_str()
    ))
    .hint("leave `--edit-format` out, or set `constrain` to `off` in the profile"))
}

/// Bounds on one call.
pub fn limits(flags: &ProviderFlags, timeout_seconds: u64) -> TaskLimits {
    TaskLimits {
        timeout_seconds,
        max_output_tokens: flags.max_output_tokens,
    }
}

/// A commit message from a task: its first line, cut at a word if it is long, and the rest below.
fn commit_message(task: &str) -> String {
    let task = task.trim();
    let first = task.lines().next().unwrap_or_default().trim();
    if first.is_empty() {
        return "Apply a tool's change".to_owned();
    }
    if first.chars().count() <= 72 {
        return task.to_owned();
    }
    let mut subject = String::new();
    for word in first.split_whitespace() {
        if !subject.is_empty() && subject.chars().count() + word.chars().count() >= 70 {
            break;
        }
        if !subject.is_empty() {
            subject.push(' ');
        }
        subject.extend(word.chars().take(70));
    }
    format!("{subject}…\n\n{task}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_task_becomes_a_short_subject_and_a_whole_body() {
        assert_eq!(commit_message("  fix the typo\n"), "fix the typo");
        assert_eq!(commit_message("  \n"), "Apply a tool's change");
        let long =
            "rename the function so that its name says what it does and mend every place that calls it";
        let message = commit_message(long);
        let subject = message.lines().next().unwrap();
        assert!(subject.chars().count() <= 72, "{subject}");
        assert!(message.ends_with(long));
    }
}
