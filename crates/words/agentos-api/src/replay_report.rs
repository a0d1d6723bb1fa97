//! Recorded runs that were derived again, as they are published.
//!
//! Owns: the shape. Never: derives anything.

use schemars::JsonSchema;
use serde::Serialize;

/// `agentos evidence replay --json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
