//! `agentos evidence replay`: landing, decision and tree once more, from what the evidence kept.
//!
//! Owns: what is compared and how a difference is told. Never: asks a model, writes to the repository, or repeats a
//! decision with other rules than the recorded ones.

use std::collections::BTreeMap;

use agentos_engine::ports::EffectError;
use agentos_engine::recorded::unknown_run;
use agentos_evidence::{Record, RecordKind, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::evidence::{newest, open_store};
use crate::host::Host;
use crate::repository;
use crate::tape::broken;

mod replayer;

use replayer::Replayer;

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

impl Host {
    /// Derives landing, decision and tree of recorded runs once more. `None` replays all; `on_run` is called after each.
    ///
    /// # Errors
    /// If there is no such run, or the tape cannot be read.
    pub fn replay_runs(&self, run: Option<&str>, on_run: &dyn Fn()) -> Result<ReplayReport, EffectError> {
        let repo = repository::open(self)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| broken(&error))?;
        let report = all(&store, run, &Replayer::new(&repo, &store), on_run)?;
        match run {
            Some(run) if report.runs.is_empty() => Err(unknown_run(run)),
            Some(_) | None => Ok(report),
        }
    }

    /// Returns the run that began last.
    ///
    /// # Errors
    /// If there is none, or the tape cannot be read.
    pub fn newest_run(&self) -> Result<String, EffectError> {
        newest(&open_store(self)?)
    }
}

/// Every run that is wanted, each as soon as it has ended: the tape is read once.
fn all(
    store: &Store,
    wanted: Option<&str>,
    replayer: &Replayer<'_>,
    on_run: &dyn Fn(),
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
            on_run();
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
