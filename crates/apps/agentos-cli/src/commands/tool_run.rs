//! `agentos tool run`: asks a tool once and prints the verdict.
//!
//! Owns: the exit code of a verdict. Never: lands anything.

use agentos_engine::Cause;
use agentos_engine::ports::Cancel;
use agentos_engine::run::{self as flow, Proposed, Request};
use agentos_tool::{FinishReason, ResultStatus, RunId, ToolFailure};

use super::run::{edit_format, limits, progress};
use crate::app::{App, Done, output_failed};
use crate::args::tool::ToolRunArgs;
use crate::escape;
use crate::exit::Exit;
use crate::render;
use crate::wire::agents;
use crate::wire::session::{Session, Wanted};
use crate::wire::tools::Tools;
use crate::wire::{hosted, paths, runtime};

/// Runs the verb.
pub fn run(app: &App, args: &ToolRunArgs, run: &RunId) -> Done {
    let mut session = Session::open(app, &Wanted::nothing(), run)?;
    let tools = Tools::read(app, Some(session.work_dir()))?;
    let tool = match agents::asked(app, &tools, &args.provider, &args.program, &session)? {
        Some(tool) => tool,
        None => hosted::hosted(app, tools.tool(app, &args.provider)?, &session)?,
    };
    agents::held(&tool, &args.program)?;
    let task = agents::task(args.task.as_deref(), &args.program);
    for notice in &tool.notices {
        app.printer.note(&format!("note: {}", escape::line(notice)));
    }
    let files = paths::inside(&app.repo_dir(), session.work_dir(), &args.files)?;
    let request = Request {
        run,
        adapter: tool.adapter.as_ref(),
        model: tool.model.clone(),
        instruction: &task,
        files: &files,
        edit_format: edit_format(args.provider.edit_format, &tool)?,
        limits: limits(&args.provider, tool.timeout_seconds),
        partial: false,
        attempts: 1,
        price: tool.price,
        mock: None,
        answers_once: false,
        check: None,
    };
    let asked = runtime::block_on(async {
        let mut cancel: Cancel<'_> = Box::pin(runtime::interrupted());
        let display = progress(app);
        let mut deps = session.deps();
        let work = flow::ask(&mut deps, &request, display.sink(), &mut cancel);
        display.during(work).await
    })?;
    session.seal(app);
    match asked {
        Ok(proposed) => {
            show(app, &proposed)?;
            Ok(exit(&proposed))
        }
        Err(outcome) => app.finish(&outcome),
    }
}

fn show(app: &App, proposed: &Proposed) -> Result<(), agentos_engine::ports::EffectError> {
    if !proposed.context.withheld.is_empty() {
        let left_out = render::outcome::withheld(&proposed.context.withheld);
        app.printer.error(left_out.trim_end());
    }
    if app.printer.json {
        return app
            .printer
            .json(&proposed.result)
            .map_err(|error| output_failed(&error));
    }
    app.printer
        .note(render::result::result(&proposed.result).trim_end());
    if let Some(hint) = proposed.error.as_ref().and_then(|error| error.fix.as_ref()) {
        app.printer
            .error(&format!("  next: {}", crate::escape::line(hint)));
    }
    let written = match (&proposed.result.diff, &proposed.answer) {
        // A person sees it escaped and coloured; a pipe gets the bytes that were judged.
        (Some(diff), _) if app.env.stdout_is_terminal => app.page(&app.diff(diff.as_bytes(), None)),
        (Some(diff), _) => app.printer.bytes(diff.as_bytes()),
        (None, Some(answer)) if app.env.stdout_is_terminal => {
            app.page(&format!("{}\n", escape::block(answer.text.trim_end())))
        }
        (None, Some(answer)) => app
            .printer
            .bytes(format!("{}\n", answer.text.trim_end()).as_bytes()),
        (None, None) => Ok(()),
    };
    written.map_err(|error| output_failed(&error))
}

fn exit(proposed: &Proposed) -> Exit {
    let result = &proposed.result;
    if !result.boundary.held() {
        return Exit::from(Cause::Policy);
    }
    if let Some(error) = &proposed.error {
        return match error.failure {
            ToolFailure::Timeout => Exit::from(Cause::Limit),
            ToolFailure::Failed if flow::was_interrupted(error) => Exit::from(Cause::Interrupted),
            ToolFailure::Failed => Exit::from(Cause::Tool),
        };
    }
    match result.status {
        ResultStatus::Success | ResultStatus::PartialSuccess => Exit::Done,
        ResultStatus::Timeout => Exit::Limit,
        ResultStatus::Failed => match proposed.answer.as_ref().map(|answer| answer.finish) {
            Some(FinishReason::Length) => Exit::Limit,
            Some(FinishReason::ContentFilter | FinishReason::ToolCalls) => Exit::ToolUnavailable,
            Some(FinishReason::Stop | FinishReason::Unknown) | None => Exit::DoesNotLand,
        },
    }
}
