//! Summaries of runs, made in one pass over the tape.
//!
//! Owns: which facts of a run's records its summary has. Never: parses the bodies of other records.

use std::collections::BTreeMap;

use agentos_api::normalize_code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request_answer::{RecoveredEnd, RequestAnswer, read_answer, read_recovery};
use crate::runs::record_fact;
use crate::{EvidenceError, Record, RecordKind, Store};

/// Summary of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Id of the run.
    pub run: String,
    /// Command that began the run, as in `apply` or `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// Provider of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Configured model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// First line of the task, shortened to 200 characters. Left out if the run failed before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Branch or other ref that the change was made for, without `refs/heads/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Last decision of the policy: `allow`, `ask` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Paths that the last answer changes.
    pub paths: Vec<String>,
    /// True if the end of the run is signed. The signature is checked by the verification, not here.
    pub signed: bool,
    /// True if the run came to its end: only a run that was killed, or still works, has no checkpoint.
    #[serde(default)]
    pub ended_in_order: bool,
    /// Time of the first record.
    pub began: String,
    /// Time of the last record.
    pub ended: String,
    /// Number of records.
    pub records: u64,
    /// Kind of the last record before the checkpoint.
    pub last: RecordKind,
    /// Commit that the run made. Left out if it made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Places that the landing wrote to, as in `work-tree-only` or `nothing`. Left out if the run did not land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
    /// Code of the refusal. Left out if the run was not refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// End of a run that did not land: `refused`, `denied`, `consent-needed`, `nothing-to-do` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Time until which a person may answer the request that the run left. Left out if it left none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_until: Option<String>,
    /// Later answer of a person to that request: `approved`, after which another run landed the change, or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<String>,
    /// Reason that the person gave who denied it. Left out if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Run whose request this run answered, or closed without an answer. Left out if it did neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
}

impl Store {
    /// Summarises all runs, in the order in which they began.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, EvidenceError> {
        let mut fold = SummaryFold::default();
        for record in self.records_with(is_summarised)? {
            fold.add_record(&record?);
        }
        Ok(fold.into_summaries())
    }
}

/// Summaries of the runs whose records were read so far.
#[derive(Default)]
pub(crate) struct SummaryFold {
    order: Vec<RunSummary>,
    places: BTreeMap<String, usize>,
    answers: RequestAnswers,
}

impl SummaryFold {
    /// Adds the next record of the tape.
    pub fn add_record(&mut self, record: &Record) {
        let Self {
            order,
            places,
            answers,
        } = self;
        let at = match places.get(&record.run) {
            Some(at) => *at,
            None => {
                places.insert(record.run.clone(), order.len());
                order.push(RunSummary::begin(record));
                order.len() - 1
            }
        };
        // The run that left the request began earlier, so its summary exists already.
        for (earlier_run, answer) in answers.answered_runs(record) {
            let earlier = places.get(&earlier_run).and_then(|at| order.get_mut(*at));
            // A run that did not ask, such as a refused one, stays what it was when its answer lands later.
            let earlier = earlier.filter(|earlier| earlier.asked_until.is_some());
            // The first answer counts; only a change that landed is a fact, whatever was answered before.
            let counts = |earlier: &&mut RunSummary| match earlier.answered.as_deref() {
                None | Some("expired") => true,
                Some(_) => answer == "approved",
            };
            if let Some(earlier) = earlier.filter(counts) {
                earlier.answered = Some(answer.to_owned());
                let comment = record.body.get("comment").and_then(Value::as_str);
                earlier.comment = comment.map(str::to_owned);
            }
        }
        if let Some(summary) = order.get_mut(at) {
            summary.records += 1;
            summary.ended.clone_from(&record.ts);
            // Every run ends with a checkpoint, so that kind does not show how far the run came.
            if record.kind != RecordKind::Checkpoint {
                summary.last = record.kind;
            }
            summary.add_record(record);
        }
    }

    /// Returns the summaries, in the order in which the runs began.
    pub fn into_summaries(self) -> Vec<RunSummary> {
        self.order
    }
}

/// Runs that land the change of an earlier run.
#[derive(Default)]
struct RequestAnswers {
    /// Approvals of requests that earlier runs left. The key is the run that approves, the value the run that left the request.
    approvals: BTreeMap<String, String>,
    /// The key is the run that lands a recorded answer, the value the run that recorded it.
    sources: BTreeMap<String, String>,
}

impl RequestAnswers {
    /// Returns the earlier runs whose requests this record answers, with the answers. An approval counts only when the change
    /// has landed, so it is returned for the receipt and not for the consent.
    fn answered_runs(&mut self, record: &Record) -> Vec<(String, &'static str)> {
        match record.kind {
            RecordKind::Receipt => self.landed_runs(record),
            RecordKind::Recovered => self.recovered_runs(record),
            RecordKind::Consent => self.read_consent(record).into_iter().collect(),
            _ => {
                let source = record.body.pointer("/source/run").and_then(Value::as_str);
                if let (RecordKind::Task, Some(source)) = (record.kind, source) {
                    self.sources.insert(record.run.clone(), source.to_owned());
                }
                Vec::new()
            }
        }
    }

    /// Returns the earlier runs whose change landed with this receipt.
    fn landed_runs(&self, receipt: &Record) -> Vec<(String, &'static str)> {
        // A dry run leaves a receipt too.
        match record_fact(receipt, "writes").as_deref() {
            Some("nothing") => Vec::new(),
            Some(_) | None => self.earlier_runs(&receipt.run),
        }
    }

    /// Returns the earlier runs whose change landed with the landing that was recovered. It has no receipt.
    fn recovered_runs(&self, recovered: &Record) -> Vec<(String, &'static str)> {
        match read_recovery(&recovered.body) {
            Some((run, RecoveredEnd::Made)) => self.earlier_runs(run),
            Some((_, RecoveredEnd::RolledBack)) | None => Vec::new(),
        }
    }

    /// Returns the earlier runs whose change a run lands.
    fn earlier_runs(&self, run: &str) -> Vec<(String, &'static str)> {
        let approved = self.approvals.get(run);
        // An approved run may have landed the recorded answer of another one.
        let source = self.sources.get(approved.map_or(run, String::as_str));
        let runs = approved.into_iter().chain(source);
        runs.map(|run| (run.clone(), "approved")).collect()
    }

    /// Returns the run whose request was closed, and notes an approval.
    fn read_consent(&mut self, record: &Record) -> Option<(String, &'static str)> {
        let (earlier_run, answer) = read_answer(&record.body)?;
        let word = match answer {
            RequestAnswer::Yes => {
                self.approvals.insert(record.run.clone(), earlier_run.to_owned());
                return None;
            }
            RequestAnswer::Unanswered => return None,
            RequestAnswer::No => "denied",
            RequestAnswer::Expired => "expired",
            RequestAnswer::Withdrawn | RequestAnswer::Void => "void",
        };
        Some((earlier_run.to_owned(), word))
    }
}

/// Returns whether a summary has facts from the bodies of this kind.
pub(crate) fn is_summarised(kind: RecordKind) -> bool {
    match kind {
        RecordKind::Task
        | RecordKind::Landing
        | RecordKind::Decision
        | RecordKind::Consent
        | RecordKind::Receipt
        | RecordKind::Refusal
        | RecordKind::Recovered
        | RecordKind::Checkpoint => true,
        RecordKind::Attempt
        | RecordKind::Answer
        | RecordKind::ToolResult
        | RecordKind::Boundary
        | RecordKind::Check
        | RecordKind::Intent
        | RecordKind::Undo
        | RecordKind::Turn
        | RecordKind::Session
        | RecordKind::Removed => false,
    }
}

/// Most characters of a task in a summary.
const LONGEST_TITLE: usize = 200;

impl RunSummary {
    /// Makes the summary of a run without any facts of its first record.
    fn begin(record: &Record) -> Self {
        Self {
            run: record.run.clone(),
            verb: None,
            provider: None,
            model: None,
            task: None,
            branch: None,
            decision: None,
            paths: Vec::new(),
            signed: false,
            ended_in_order: false,
            began: record.ts.clone(),
            ended: record.ts.clone(),
            records: 0,
            last: record.kind,
            commit: None,
            writes: None,
            code: None,
            outcome: None,
            asked_until: None,
            answered: None,
            answers: None,
            comment: None,
        }
    }

    /// Adds the facts of one record. A later record of the same kind replaces those of an earlier one, because a run may
    /// have several attempts.
    fn add_record(&mut self, record: &Record) {
        let text = |pointer: &str| record.body.pointer(pointer)?.as_str().map(str::to_owned);
        match record.kind {
            RecordKind::Task => {
                self.verb = text("/verb");
                self.provider = text("/provider");
                self.model = text("/model");
                // Only a title: a task can be a page long, and a list of runs holds all of them in memory.
                let title = text("/instruction").unwrap_or_default();
                let title = title.lines().map(str::trim).find(|line| !line.is_empty());
                self.task = title.map(|line| line.chars().take(LONGEST_TITLE).collect());
                let target = text("/target/refname");
                self.branch = target.map(|name| name.trim_start_matches("refs/heads/").to_owned());
            }
            RecordKind::Landing => {
                let files = record.body.pointer("/report/files").and_then(Value::as_array);
                let paths = files
                    .into_iter()
                    .flatten()
                    .filter_map(|file| file.get("path")?.as_str());
                self.paths = paths.map(str::to_owned).collect();
            }
            RecordKind::Decision => self.decision = text("/decision/effect"),
            RecordKind::Receipt => {
                self.commit = record_fact(record, "commit").or(self.commit.take());
                self.writes = record_fact(record, "writes");
                // The change landed, so a refusal of an earlier attempt is not the end of the run.
                self.code = None;
                self.outcome = None;
            }
            RecordKind::Refusal => {
                self.code = record_fact(record, "code").map(|code| normalize_code(&code).into_owned());
                self.outcome = record_fact(record, "outcome");
            }
            RecordKind::Consent => {
                self.asked_until = text("/request/expires").or(self.asked_until.take());
                self.answers = text("/answers").or(self.answers.take());
                if let Some(device) = text("/device/name") {
                    let verb = text("/consent/how").unwrap_or_default();
                    self.task = Some(
                        format!("{verb} the device {device}")
                            .chars()
                            .take(LONGEST_TITLE)
                            .collect(),
                    );
                }
            }
            // A checkpoint without a key says why it is not signed.
            RecordKind::Checkpoint => {
                self.signed = text("/key").is_some();
                self.ended_in_order = true;
            }
            RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::ToolResult
            | RecordKind::Boundary
            | RecordKind::Check
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed => {}
        }
    }
}
