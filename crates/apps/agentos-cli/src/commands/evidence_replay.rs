//! `agentos evidence replay`: derives landing, decision and tree again from the evidence.
//!
//! Owns: the display of differences, and the exit status. Never: replays a run itself.

use agentos_host::{Cause, ReplayReport, ReplayStatus};
use agentos_tool::short_run;

use crate::app::{App, Done, output_failed};
use crate::args::evidence::EvidenceReplayArgs;
use crate::escape;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn replay_runs(app: &App, args: &EvidenceReplayArgs) -> Done {
    let wanted = match (&args.run, args.all) {
        (_, true) => None,
        (Some(run), false) => Some(run.clone()),
        (None, false) => Some(app.host.stories().newest_run()?),
    };
    let report = {
        let working = WorkDisplay::start_on(app, "replaying runs");
        app.host
            .stories()
            .replay_runs(wanted.as_deref(), &|| working.count_step())?
    };
    if app.printer.json {
        app.printer.write_json(&report)
    } else {
        app.print_paged(&format_replay(&report, wanted.is_some()))
    }
    .map_err(|error| output_failed(&error))?;
    // Of all runs, old ones may have lost their answer or base commit, which is no sign of tampering. For a run that
    // was named, the replay could not be done, so it fails.
    Ok(match (report.different, report.unavailable, &wanted) {
        (0, 0, _) | (0, _, None) => Exit::Done,
        (0, _, Some(_)) => Exit::from(Cause::Repository),
        (_, _, _) => Exit::EvidenceBroken,
    })
}

fn format_replay(report: &ReplayReport, one: bool) -> String {
    let mut out = String::new();
    for run in &report.runs {
        let (paint_as, word) = match run.status {
            ReplayStatus::Identical => (style::GOOD, "identical"),
            ReplayStatus::Different => (style::BAD, "different"),
            ReplayStatus::Unavailable => (style::WARN, "unavailable"),
            ReplayStatus::WithoutAnswer => (style::DIM, "nothing to replay"),
        };
        let details = run.reason.clone().unwrap_or_else(|| run.stations.join(", "));
        out.push_str(&format!(
            "{} {}  {}\n",
            paint(paint_as, word),
            escape::line(short_run(&run.run)),
            escape::line(&details)
        ));
        for difference in &run.differences {
            out.push_str(&format!(
                "  {} {}\n    recorded: {}\n    replayed: {}\n",
                escape::line(&difference.station),
                escape::line(&difference.what),
                escape::line(&difference.recorded),
                escape::line(&difference.replayed)
            ));
        }
    }
    if !one {
        out.push_str(&format!(
            "{} identical, {} different, {} unavailable, {} with nothing to replay\n",
            report.identical, report.different, report.unavailable, report.without_answer
        ));
    }
    out
}
