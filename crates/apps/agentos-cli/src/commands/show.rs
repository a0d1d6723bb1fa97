//! `agentos show`: one earlier run as a story, or one of the texts that it recorded.
//!
//! Owns: the choice of the text and of the stream. Never: shows a terminal untrusted text unescaped; a pipe is given the
//! exact bytes.

use agentos_host::{ContextReport, EffectError, RunOutput, RunText};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::record::ShowArgs;
use crate::commands::log::layout_of;
use crate::escape;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::render;

/// Runs the verb.
pub fn show_run(app: &App, args: &ShowArgs) -> Done {
    let run = args.run.as_deref();
    if args.answer || args.prompt || args.output || args.diff {
        refuse_json(app)?;
    }
    if args.context {
        return print_context(app, &app.host.stories().run_context(run)?);
    }
    if args.output {
        return print_output(app, &app.host.stories().run_output(run)?);
    }
    let wanted = match (args.answer, args.prompt, args.diff) {
        (true, _, _) => Some(RunText::Answer),
        (_, true, _) => Some(RunText::Prompt),
        (_, _, true) => Some(RunText::Diff),
        (false, false, false) => None,
    };
    if let Some(wanted) = wanted {
        return print_text(app, wanted, &app.host.stories().run_text(run, wanted)?);
    }
    let story = app.host.stories().run_story(run)?;
    if app.printer.json {
        app.printer.write_json(&story)
    } else {
        app.print_paged(&render::story::format_story(&story, &layout_of(app)))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Prints what the tool was shown.
fn print_context(app: &App, shown: &ContextReport) -> Done {
    if app.printer.json {
        app.printer.write_json(shown)
    } else {
        app.print_paged(&render::context::format_shown(shown))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Refuses `--json` for a text.
///
/// # Errors
/// If JSON is requested.
pub fn refuse_json(app: &App) -> Result<(), EffectError> {
    match app.printer.json {
        true => Err(usage_error("this text is printed as it is, and not as JSON").hint("leave `--json` out")),
        false => Ok(()),
    }
}

/// Prints a text as it is to a pipe, and escaped to a terminal.
///
/// # Errors
/// If it cannot be written.
pub fn print_text(app: &App, wanted: RunText, text: &[u8]) -> Done {
    let printed = match (app.streams.stdout_is_terminal, wanted) {
        (false, _) => app.printer.write_bytes(text),
        (true, RunText::Diff) => app.print_exact(&app.format_diff(text, None)),
        (true, RunText::Answer | RunText::Prompt) => app.print_exact(&escape_bytes(text)),
    };
    printed.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Prints the output of a tool and of checks, under a heading each if there are several.
fn print_output(app: &App, outputs: &[RunOutput]) -> Done {
    let is_screen = app.streams.stdout_is_terminal;
    let mut shown = Vec::new();
    for output in outputs {
        if is_screen || outputs.len() > 1 {
            let of = output.check.as_deref().map_or_else(
                || "the tool".to_owned(),
                |command| format!("the check `{}`", escape::line(command)),
            );
            let heading = format!("== attempt {}: {of} ==", output.attempt);
            let heading = match is_screen {
                true => paint(style::BOLD, &heading),
                false => heading,
            };
            shown.extend_from_slice(format!("{heading}\n").as_bytes());
        }
        match is_screen {
            true => shown.extend_from_slice(escape_bytes(&output.text).as_bytes()),
            false => shown.extend_from_slice(&output.text),
        }
        if !output.text.ends_with(b"\n") && (is_screen || outputs.len() > 1) {
            shown.push(b'\n');
        }
    }
    let printed = match is_screen {
        true => app.print_exact(&String::from_utf8_lossy(&shown)),
        false => app.printer.write_bytes(&shown),
    };
    printed.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn escape_bytes(text: &[u8]) -> String {
    escape::block(&String::from_utf8_lossy(text))
}
