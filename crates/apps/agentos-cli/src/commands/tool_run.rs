//! `agentos tool run`: runs a tool once and prints the result.
//!
//! Owns: the exit status of a result. Never: lands anything.

use agentos_api::unsaid_causes;
use agentos_host::{
    Cause, EffectError, JudgedCall, RunEnd, RunSpec, RunWork, SessionOptions, TaskSpec, was_interrupted,
};
use agentos_tool::{FinishReason, ResultStatus, RunId, ToolFailure};

use crate::app::{App, Done, output_failed};
use crate::args::tool::ToolRunArgs;
use crate::escape;
use crate::exit::Exit;
use crate::input;
use crate::render::{self, next_step::word_hint};
use crate::terminal::follow::follow_run;

/// Runs the verb.
pub fn run_tool(app: &App, args: &ToolRunArgs, run: &RunId) -> Done {
    let task = TaskSpec {
        // First, so that a missing provider is reported before standard input is waited for.
        provider: args.provider.complete_choice(app)?,
        task: input::read_task(args.task.as_deref())?,
        program: (&args.program).into(),
        files: args.files.clone(),
        symbols: args.symbols.clone(),
        ..TaskSpec::default()
    };
    let spec = RunSpec {
        id: Some(run.clone()),
        ..RunSpec::new(SessionOptions::writing_nothing(), RunWork::Question(task))
    };
    match follow_run(app, spec)?.end {
        RunEnd::Verdict(proposed) => {
            show_result(app, &proposed)?;
            Ok(exit_status(&proposed))
        }
        // A question ends with an outcome only if it was refused before the tool was called.
        RunEnd::Outcome(ended) => app.show_outcome(&ended.outcome),
    }
}

fn show_result(app: &App, proposed: &JudgedCall) -> Result<(), EffectError> {
    if !proposed.context.withheld.is_empty() {
        let left_out = render::outcome::format_withheld(&proposed.context.withheld);
        // Withheld files change the answer, so they are reported even with `--quiet`.
        app.printer.show_error(left_out.trim_end());
    }
    if app.printer.json {
        return app
            .printer
            .write_json(&proposed.result)
            .map_err(|error| output_failed(&error));
    }
    app.printer
        .show_note(render::result::format_result(&proposed.result).trim_end());
    if let Some(error) = &proposed.error {
        for cause in unsaid_causes(&error.message, &error.causes) {
            app.printer
                .show_error(&format!("  caused by: {}", escape::line(cause)));
        }
    }
    let advice = proposed.error.as_ref().map(|error| &error.advice);
    if let Some(hint) = advice.and_then(|advice| word_hint(advice.fix.as_deref(), &advice.next)) {
        app.printer
            .show_error(&format!("  next: {}", escape::line(&hint)));
    }
    let written = match (&proposed.result.diff, &proposed.answer) {
        // A terminal shows the answer escaped and in color. A pipe is given the exact bytes that were judged.
        (Some(diff), _) if app.streams.stdout_is_terminal => {
            app.print_exact(&app.format_diff(diff.as_bytes(), None))
        }
        (Some(diff), _) => app.printer.write_bytes(diff.as_bytes()),
        (None, Some(answer)) if app.streams.stdout_is_terminal => {
            app.print_exact(&format!("{}\n", escape::block(answer.text.trim_end())))
        }
        (None, Some(answer)) => app
            .printer
            .write_bytes(format!("{}\n", answer.text.trim_end()).as_bytes()),
        (None, None) => Ok(()),
    };
    written.map_err(|error| output_failed(&error))
}

fn exit_status(proposed: &JudgedCall) -> Exit {
    let result = &proposed.result;
    // A tool that wrote to the repository failed the run, however good its answer is, so this comes before the answer
    // is judged.
    if !result.boundary.is_intact() {
        return Exit::from(Cause::Policy);
    }
    if let Some(error) = &proposed.error {
        return match error.failure {
            ToolFailure::Timeout => Exit::from(Cause::Limit),
            ToolFailure::Failed if was_interrupted(error) => Exit::from(Cause::Interrupted),
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
