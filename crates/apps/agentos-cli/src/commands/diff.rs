//! `agentos diff normalize`: converts edits in any dialect to the canonical git diff, for pipes.
//!
//! Owns: the choice of the stream. Never: writes to the repository, not even evidence, because nothing is landed.

use agentos_landing::{LandedChange, LandingReport};

use crate::app::{App, Done, output_failed};
use crate::args::land::NormalizeArgs;
use crate::escape;
use crate::exit::Exit;
use crate::input;
use crate::printer::{paint, style};
use crate::render::report::format_report;

/// Runs the verb.
pub fn normalize_diff(app: &App, args: &NormalizeArgs) -> Done {
    let answer = input::read_answer(app, &args.file)?;
    match app.host.runs().normalize_answer(&answer, &args.base)? {
        Ok(found) => print_diff(app, &found),
        Err(refused) => show_refusal(app, &refused),
    }
}

fn print_diff(app: &App, found: &LandedChange) -> Done {
    if app.printer.json {
        app.printer
            .write_json(&found.report)
            .map_err(|error| output_failed(&error))?;
    } else if app.streams.stdout_is_terminal {
        // A terminal shows the diff escaped, in color and with its rungs. A pipe is given the exact bytes for `git apply`.
        let text = app.format_diff(found.change.canonical_diff(), Some(&found.report));
        app.print_exact(&text).map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .write_bytes(found.change.canonical_diff())
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

fn show_refusal(app: &App, refused: &LandingReport) -> Done {
    if app.printer.json {
        app.printer
            .write_json(refused)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::DoesNotLand);
    }
    let mut text = String::new();
    if let Some(refusal) = &refused.refusal {
        let code = refusal.code.as_str();
        text = format!(
            "{} [{code}] {}\n",
            paint(style::BAD, "refused"),
            escape::line(&refusal.message)
        );
    }
    text.push_str(&format_report(
        refused,
        &[],
        crate::terminal::screen::error_width(app),
    ));
    app.printer.show_error(text.trim_end());
    Ok(Exit::DoesNotLand)
}
