//! `agentos evidence replay`: landing, decision and tree once more, from what the evidence kept.
//!
//! Owns: what is compared and how a difference is told. Never: asks a model, writes to the repository, or repeats a
//! decision with other rules than the recorded ones.

use std::collections::BTreeMap;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{Record, RecordKind, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::{newest, unknown};
use crate::app::{App, Done, output_failed};
use crate::args::evidence::EvidenceReplayArgs;
use crate::escape;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::wire::replayer::Replayer;
use crate::wire::repository;
use crate::wire::tape::broken;
use crate::wire::working::Working;

/// `agentos evidence replay --json`.
#[derive(Default, Serialize, JsonSchema)]
pub struct ReplayReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Runs that came out as recorded.
    pub identical: u64,
    /// Runs that came out otherwise.
    pub different: u64,
    /// Runs whose answer or base is not there any more.
    pub unavailable: u64,
    /// Runs with nothing to replay: without an answer, or ended before it was landed.
    pub without_answer: u64,
    /// Each run, in the order of the tape.
    pub runs: Vec<ReplayedRun>,
}

/// One run.
#[derive(Serialize, JsonSchema)]
pub struct ReplayedRun {
    /// The run.
    pub run: String,
    /// How it came out.
    pub status: ReplayStatus,
    /// The stations that were derived again, in order.
    pub stations: Vec<String>,
    /// What came out otherwise.
    pub differences: Vec<Difference>,
    /// Why it could not be replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a replay came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayStatus {
    /// Everything as recorded.
    Identical,
    /// Something otherwise.
    Different,
    /// The answer or its base is not there any more.
    Unavailable,
    /// Nothing was recorded that could be derived again: no answer, or one that was not landed.
    WithoutAnswer,
}

/// Something that came out otherwise.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The station, as in `landing`.
    pub station: String,
    /// What of it, as in `report/files/0/path`.
    pub what: String,
    /// As recorded.
    pub recorded: String,
    /// As it came out now.
    pub replayed: String,
}

/// Runs the verb.
pub fn replay(app: &App, args: &EvidenceReplayArgs) -> Done {
    let repo = repository::open(app)?;
    let store = Store::open(&repo.state_dir()).map_err(|error| broken(&error))?;
    let wanted = match (&args.run, args.all) {
        (_, true) => None,
        (Some(run), false) => Some(run.clone()),
        (None, false) => Some(newest(&store)?),
    };
    let report = {
        let working = Working::on(app, "replaying runs", None);
        all(&store, wanted.as_deref(), &Replayer::new(&repo, &store), &working)?
    };
    if let (Some(run), true) = (&wanted, report.runs.is_empty()) {
        return Err(unknown(run));
    }
    if app.printer.json {
        app.printer.json(&report)
    } else {
        app.page(&words(&report, wanted.is_some()))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(match (report.different, report.unavailable, &wanted) {
        (0, 0, _) | (0, _, None) => Exit::Done,
        (0, _, Some(_)) => Exit::from(Cause::Repository),
        (_, _, _) => Exit::EvidenceBroken,
    })
}

/// Every run that is wanted, each as soon as it has ended: the tape is read once.
fn all(
    store: &Store,
    wanted: Option<&str>,
    replayer: &Replayer<'_>,
    working: &Working,
) -> Result<ReplayReport, EffectError> {
    let mut report = ReplayReport {
        version: 1,
        ..ReplayReport::default()
    };
    let mut open: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for record in store.records().map_err(|error| broken(&error))? {
        let record = record.map_err(|error| broken(&error))?;
        if wanted.is_some_and(|wanted| wanted != record.run) {
            continue;
        }
        let (run, ended) = (record.run.clone(), record.kind == RecordKind::Checkpoint);
        open.entry(run.clone()).or_default().push(record);
        if ended && let Some(records) = open.remove(&run) {
            report.take(replayer.run(&run, &records));
            working.step();
        }
    }
    for (run, records) in open {
        report.take(replayer.run(&run, &records));
    }
    Ok(report)
}

impl ReplayReport {
    fn take(&mut self, run: ReplayedRun) {
        match run.status {
            ReplayStatus::Identical => self.identical += 1,
            ReplayStatus::Different => self.different += 1,
            ReplayStatus::Unavailable => self.unavailable += 1,
            ReplayStatus::WithoutAnswer => self.without_answer += 1,
        }
        self.runs.push(run);
    }
}

fn words(report: &ReplayReport, one: bool) -> String {
    let mut out = String::new();
    for run in &report.runs {
        let (paint_as, word) = match run.status {
            ReplayStatus::Identical => (style::GOOD, "identical"),
            ReplayStatus::Different => (style::BAD, "different"),
            ReplayStatus::Unavailable => (style::WARN, "unavailable"),
            ReplayStatus::WithoutAnswer => (style::DIM, "nothing to replay"),
        };
        let told = run.reason.clone().unwrap_or_else(|| run.stations.join(", "));
        out.push_str(&format!(
            "{} {}  {}\n",
            paint(paint_as, word),
            escape::line(&run.run),
            escape::line(&told)
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
