//! Published report about recorded runs that were replayed.
//!
//! Owns: the shape of the report. Never: replays a run.

use schemars::JsonSchema;
use serde::Serialize;

/// Report of `agentos evidence replay --json`.
// Not `Deserialize`, unlike other reports: no program of the product reads this one back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ReplayReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Number of runs whose replay gave the recorded result.
    pub identical: u64,
    /// Number of runs whose replay gave another result.
    pub different: u64,
    /// Number of runs whose answer or base commit no longer exists.
    pub unavailable: u64,
    /// Number of runs with nothing to replay: they had no answer, or ended before landing.
    pub without_answer: u64,
    /// Runs, in the order of the tape.
    pub runs: Vec<ReplayedRun>,
}

/// Replay of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayedRun {
    /// Id of the run.
    pub run: String,
    /// Result of the replay.
    pub status: ReplayStatus,
    /// Stations that were replayed, in order.
    pub stations: Vec<String>,
    /// Differences from the record.
    pub differences: Vec<Difference>,
    /// Reason why the run could not be replayed. `None` if it was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Result of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayStatus {
    /// Everything equals the record.
    Identical,
    /// Something differs from the record.
    Different,
    /// The answer or its base commit no longer exists.
    Unavailable,
    /// Nothing to replay was recorded: the run had no answer, or ended before landing.
    WithoutAnswer,
}

/// Difference between the record and the replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Station, as in `landing`.
    pub station: String,
    /// Place in the station's record, as in `report/files/0/path`.
    pub what: String,
    /// Recorded value.
    // Both values are JSON as text: they can be of any type, and a person compares them by eye.
    pub recorded: String,
    /// Value from the replay.
    pub replayed: String,
}

impl ReplayReport {
    /// Adds a run and counts it.
    pub fn add_run(&mut self, run: ReplayedRun) {
        match run.status {
            ReplayStatus::Identical => self.identical += 1,
            ReplayStatus::Different => self.different += 1,
            ReplayStatus::Unavailable => self.unavailable += 1,
            ReplayStatus::WithoutAnswer => self.without_answer += 1,
        }
        self.runs.push(run);
    }
}
