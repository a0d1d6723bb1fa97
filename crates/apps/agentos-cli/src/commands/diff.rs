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
use crate::render::report::report;

/// Runs the verb.
pub fn normalize(app: &App, args: &NormalizeArgs) -> Done {
    let answer = input::answer(app, &args.file)?;
    match app.host.normalize(&answer, &args.base)? {
        Ok(found) => print(app, &found),
        Err(refused) => refuse(app, &refused),
    }
}

fn print(app: &App, found: &LandedChange) -> Done {
    if app.printer.json {
        app.printer
            .json(&found.report)
            .map_err(|error| output_failed(&error))?;
    } else if app.streams.stdout_is_terminal {
        // A terminal shows the diff escaped, in color and with its rungs. A pipe is given the exact bytes for `git apply`.
        let text = app.format_diff(found.change.canonical_diff(), Some(&found.report));
        app.page(&text).map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .bytes(found.change.canonical_diff())
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

fn refuse(app: &App, refused: &LandingReport) -> Done {
    if app.printer.json {
        app.printer.json(refused).map_err(|error| output_failed(&error))?;
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
    text.push_str(&report(refused));
    app.printer.error(text.trim_end());
    Ok(Exit::DoesNotLand)
}
