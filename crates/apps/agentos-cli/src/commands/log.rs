//! `agentos log`: earlier runs, one line each.
//!
//! Owns: the meaning of the flags. Never: changes the tape.

use agentos_host::{LogFilter, ResultKind, local_offset_minutes, now};

use crate::app::{App, Done, output_failed};
use crate::args::record::LogArgs;
use crate::exit::Exit;
use crate::render;
use crate::render::log::LogLayout;
use crate::terminal::screen;

/// Runs the verb.
pub fn show_log(app: &App, args: &LogArgs) -> Done {
    let filter = LogFilter {
        text: args.grep.clone(),
        branch: args.branch.clone(),
        provider: args.provider.clone(),
        results: wanted_results(args),
    };
    let log = app.host.stories().run_log(&filter, args.limit as usize)?;
    if app.printer.json {
        app.printer
            .write_json(&log)
            .map_err(|error| output_failed(&error))?;
    } else if log.all == 0 {
        app.printer
            .show_note("there are no runs yet; `agentos apply` and `agentos run` record evidence");
    } else if log.runs.is_empty() {
        app.printer
            .show_note("no run matches these filters; `agentos log` shows the newest runs");
    } else {
        app.print_paged(&render::log::format_log(&log.runs, &layout_of(app)))
            .map_err(|error| output_failed(&error))?;
        if log.not_shown > 0 {
            let count = render::count_noun(log.not_shown as u64, "older run");
            app.printer
                .show_note(&format!("{count} not shown; `-n N` shows more"));
        }
    }
    Ok(Exit::Done)
}

/// Returns the layout of a log on this screen.
pub fn layout_of(app: &App) -> LogLayout {
    LogLayout {
        now: now(),
        offset_minutes: local_offset_minutes(),
        // Output for a program is not cut: it is searched, and nobody sees its width.
        width: app.streams.stdout_is_terminal.then(|| screen::output_width(app)),
    }
}

fn wanted_results(args: &LogArgs) -> Vec<ResultKind> {
    let mut results = Vec::new();
    if args.landed {
        results.push(ResultKind::Landed);
    }
    if args.refused {
        results.extend([ResultKind::Refused, ResultKind::Denied]);
    }
    if args.waiting {
        results.push(ResultKind::Waiting);
    }
    results
}
