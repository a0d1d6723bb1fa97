//! `agentos evidence`: list, show, verify.
//!
//! Owns: which records are read. Never: changes the tape.

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{Record, RunSummary, Store};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::evidence::{EvidenceListArgs, EvidenceShowArgs};
use crate::exit::Exit;
use crate::render;
use crate::wire::repository;
use crate::wire::tape::broken;

#[derive(Serialize)]
struct RunList<'a> {
    version: u32,
    runs: &'a [RunSummary],
}

#[derive(Serialize)]
struct RunRecords<'a> {
    version: u32,
    run: &'a str,
    records: &'a [Record],
}

/// Lists the runs.
pub fn list(app: &App, args: &EvidenceListArgs) -> Done {
    let store = store(app)?;
    let mut runs = store.runs().map_err(|error| broken(&error))?;
    runs.drain(..runs.len().saturating_sub(args.limit as usize));
    if app.printer.json {
        app.printer
            .json(&RunList {
                version: 1,
                runs: &runs,
            })
            .map_err(|error| output_failed(&error))?;
    } else if runs.is_empty() {
        app.printer
            .note("no runs yet; `agentos apply` and `agentos run` leave evidence here");
    } else {
        app.printer
            .data(&render::evidence::list(&runs))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Tells one run.
pub fn show(app: &App, args: &EvidenceShowArgs) -> Done {
    let store = store(app)?;
    let run = match &args.run {
        Some(run) => run.clone(),
        None => newest(&store)?,
    };
    let records = store.run(&run).map_err(|error| broken(&error))?;
    if records.is_empty() {
        return Err(usage(format!("there is no run `{run}` on the tape"))
            .hint("`agentos evidence list` shows the runs"));
    }
    if app.printer.json {
        let shown = RunRecords {
            version: 1,
            run: &run,
            records: &records,
        };
        app.printer.json(&shown).map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .data(&render::evidence::story(&records))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Checks the tape, its blobs and the commits.
pub fn verify(app: &App) -> Done {
    let repo = repository::open(app)?;
    let store = Store::open(&repo.common_dir().join("agentos")).map_err(|error| broken(&error))?;
    let commits = repository::History::read(&repo)?;
    let report = store.verify(Some(&commits)).map_err(|error| broken(&error))?;
    if app.printer.json {
        app.printer.json(&report).map_err(|error| output_failed(&error))?;
    } else {
        let text = render::evidence::verified(&report);
        app.printer.data(&text).map_err(|error| output_failed(&error))?;
    }
    Ok(if report.ok {
        Exit::Done
    } else {
        Exit::EvidenceBroken
    })
}

fn store(app: &App) -> Result<Store, EffectError> {
    let repo = repository::open(app)?;
    Store::open(&repo.common_dir().join("agentos")).map_err(|error| broken(&error))
}

fn newest(store: &Store) -> Result<String, EffectError> {
    let runs = store.runs().map_err(|error| broken(&error))?;
    runs.last().map(|run| run.run.clone()).ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-runs", "there are no runs on the tape yet")
            .hint("`agentos apply` and `agentos run` leave evidence here")
    })
}
