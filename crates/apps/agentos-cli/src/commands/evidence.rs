//! `agentos evidence list|show|stats|verify`: reading the evidence.
//!
//! Owns: the selection of runs. Never: changes the tape.

use agentos_host::{
    LoggedRun, RunList, RunRecords, RunSummary, StatsReport, Timestamp, VerifySpec, before_now, log_run,
};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::evidence::{DecisionArg, EvidenceListArgs, EvidenceShowArgs, EvidenceVerifyArgs};
use crate::commands::log::layout_of;
use crate::exit::Exit;
use crate::render;
use crate::render::evidence::EvidencePlace;
use crate::terminal::working::WorkDisplay;

/// Lists the runs.
pub fn list_runs(app: &App, args: &EvidenceListArgs) -> Done {
    let mut runs = app.host.stories().list_runs()?;
    // An empty repository and a filter without a match need different advice, and after filtering they look the same.
    let any = !runs.is_empty();
    let since = args.since.as_deref().map(parse_since).transpose()?;
    runs.retain(|run| passes_filters(run, args, since.as_deref()));
    // The list is oldest first, and the limit keeps the newest runs.
    let left_out = runs.len().saturating_sub(args.limit as usize);
    runs.drain(..left_out);
    if app.printer.json {
        app.printer
            .write_json(&RunList {
                version: 1,
                runs: &runs,
            })
            .map_err(|error| output_failed(&error))?;
    } else if any && runs.is_empty() {
        app.printer
            .show_note("no run matches these filters; `agentos evidence list` shows all runs");
    } else if runs.is_empty() {
        app.printer
            .show_note("there are no runs yet; `agentos apply` and `agentos run` record evidence");
    } else {
        let layout = layout_of(app);
        let newest = runs.iter().rev();
        let newest: Vec<LoggedRun> = newest.map(|run| log_run(run, &layout.now)).collect();
        app.print_paged(&render::log::format_log(&newest, &layout))
            .map_err(|error| output_failed(&error))?;
        if left_out > 0 {
            let count = render::count_noun(left_out as u64, "older run");
            app.printer
                .show_note(&format!("{count} not shown; `-n N` shows more"));
        }
    }
    Ok(Exit::Done)
}

/// Returns true if a run passes all filters.
fn passes_filters(run: &RunSummary, args: &EvidenceListArgs, since: Option<&str>) -> bool {
    let said = args.decision.map(|decision| match decision {
        DecisionArg::Allow => "allow",
        DecisionArg::Ask => "ask",
        DecisionArg::Deny => "deny",
    });
    let below = |path: &String, wanted: &str| {
        let rest = path.strip_prefix(wanted.trim_end_matches('/'));
        // Without this check, `src` would match `src-old/a.rs`.
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    (args.provider.is_none() || args.provider == run.provider)
        && (said.is_none() || said == run.decision.as_deref())
        // Records write UTC times as RFC 3339 with a fixed width, so comparing the text compares the times, also for a
        // date alone.
        && since.is_none_or(|since| run.began.as_str() >= since)
        && args
            .path
            .as_ref()
            .is_none_or(|wanted| run.paths.iter().any(|path| below(path, wanted)))
        && args.commit.as_ref().is_none_or(|id| {
            let made = run.commit.as_ref();
            made.is_some_and(|commit| commit.starts_with(id.as_str()))
        })
}

/// Shows the records of one run.
pub fn show_run(app: &App, args: &EvidenceShowArgs) -> Done {
    let (run, records) = app.host.stories().run_records(args.run.as_deref())?;
    if app.printer.json {
        let shown = RunRecords {
            version: 1,
            run: &run,
            records: &records,
        };
        app.printer
            .write_json(&shown)
            .map_err(|error| output_failed(&error))?;
    } else {
        app.print_paged(&render::evidence::format_records(&records))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Shows counts by provider and model.
pub fn show_stats(app: &App) -> Done {
    let report = StatsReport {
        version: 1,
        providers: app.host.stories().run_stats()?,
    };
    if app.printer.json {
        app.printer.write_json(&report)
    } else {
        app.print_paged(&render::evidence::format_stats(&report.providers))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Converts the typed time of `--since` to the form that records use.
pub fn parse_since(typed: &str) -> Result<String, agentos_host::EffectError> {
    // A duration such as `2days` starts with a digit too, but never contains a hyphen.
    let date = typed.starts_with(|c: char| c.is_ascii_digit()) && typed.contains('-');
    if date {
        // A date alone is its first moment. Records have UTC times of one width, so a time with an offset is converted.
        let whole = if typed.len() == 10 {
            format!("{typed}T00:00:00Z")
        } else {
            typed.to_owned()
        };
        return match Timestamp::parse(&whole) {
            Ok(time) => Ok(time.to_string()),
            Err(_) => Err(usage_error(format!("`{typed}` is not a valid time"))
                .hint("write it as in `2026-11-21`, `2026-11-21T09:14:00Z` or `2days`")),
        };
    }
    let ago = humantime::parse_duration(typed).map_err(|_| {
        usage_error(format!("`{typed}` is not a valid time")).hint("write it as in `2026-11-21` or `2days`")
    })?;
    Ok(before_now(ago).to_string())
}

/// Verifies the tape, its blobs, its signatures and the commits.
pub fn verify_evidence(app: &App, args: &EvidenceVerifyArgs) -> Done {
    let spec = VerifySpec {
        dir: args.dir.clone(),
        ledger: args.ledger,
        commits: args.range.clone().or_else(|| args.commit.clone()),
        keys: args.keys.clone(),
        require: args.require,
    };
    let mut report = {
        let _working = WorkDisplay::start_on(app, "verifying the evidence");
        app.host.stories().verify_evidence(&spec)?
    };
    if app.printer.quiet && !app.printer.json {
        report.notes.clear();
    }
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
    } else {
        let place = match (args.ledger, &args.dir) {
            (true, _) => EvidencePlace::Ledger,
            (false, None) => EvidencePlace::Repository,
            (false, Some(_)) => EvidencePlace::Copy,
        };
        let text = render::evidence::format_verification(&report, place);
        app.print_paged(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(if report.ok {
        Exit::Done
    } else {
        Exit::EvidenceBroken
    })
}
