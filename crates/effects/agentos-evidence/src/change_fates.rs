//! Fates of changes: which of them landed and stayed, by the provider and model that proposed them.
//!
//! Owns: counting a change once, whichever runs land, approve or undo it. Never: judges how good a change was.
//!
//! | what the tape says | fate |
//! |---|---|
//! | it landed, also after a later approval, and nobody undid it | stayed |
//! | it did not land, failed its check, was denied by policy or a person, or was undone | rejected |
//! | a person may still answer, the tool failed, the user stopped, it was a dry run | none |

use std::collections::BTreeMap;

use serde_json::Value;

use crate::request_answer::{RequestAnswer, read_answer};
use crate::runs::record_fact;
use crate::{EvidenceError, Record, RecordKind, Store};

/// Instruction of an undo's task, before the id of the run that is undone.
pub const UNDO_RUN: &str = "Undo run ";

/// Fate of a change that a tool proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeFate {
    /// Provider that proposed it.
    pub provider: String,
    /// Model that was requested. `None` if the server chose, or the provider took over from one that failed.
    pub model: Option<String>,
    /// Time at which its run began, RFC 3339.
    pub began: String,
    /// Words of its task.
    pub instruction: String,
    /// Files that the task named. Empty on tapes of earlier versions.
    pub files: Vec<String>,
    /// True if it landed and was not undone.
    pub stayed: bool,
}

impl Store {
    /// Lists the changes whose fate is known, in the order in which their runs began.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn list_fates(&self) -> Result<Vec<ChangeFate>, EvidenceError> {
        let mut fold = FateFold::default();
        for record in self.records_with(is_read)? {
            fold.add_record(&record?);
        }
        Ok(fold.into_fates())
    }
}

fn is_read(kind: RecordKind) -> bool {
    match kind {
        RecordKind::Task
        | RecordKind::ToolResult
        | RecordKind::Consent
        | RecordKind::Receipt
        | RecordKind::Refusal => true,
        RecordKind::Attempt
        | RecordKind::Answer
        | RecordKind::Boundary
        | RecordKind::Landing
        | RecordKind::Check
        | RecordKind::Decision
        | RecordKind::Intent
        | RecordKind::Undo
        | RecordKind::Recovered
        | RecordKind::Turn
        | RecordKind::Session
        | RecordKind::Removed
        | RecordKind::Checkpoint => false,
    }
}

/// Run with a change.
#[derive(Default)]
struct ProposedChange {
    provider: String,
    model: Option<String>,
    began: String,
    instruction: String,
    files: Vec<String>,
    /// Run whose change this run lands, undoes or answers. `None` if the change is its own.
    of: Option<OtherRun>,
    stayed: Option<bool>,
}

/// Run that another run is about.
enum OtherRun {
    Lands(String),
    Undoes(String),
}

#[derive(Default)]
struct FateFold {
    runs: BTreeMap<String, ProposedChange>,
    order: Vec<String>,
}

impl FateFold {
    fn add_record(&mut self, record: &Record) {
        let text = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_str);
        match record.kind {
            RecordKind::Task => self.begin_run(record),
            // The provider of the task may have failed, and another member of its pool answered.
            RecordKind::ToolResult => {
                if let (Some(run), Some(tool)) = (self.runs.get_mut(&record.run), text("/result/tool"))
                    && run.provider != tool
                {
                    run.provider = tool.to_owned();
                    run.model = None;
                }
            }
            RecordKind::Consent => self.add_consent(record),
            RecordKind::Receipt => {
                // A dry run leaves a receipt too.
                if record_fact(record, "writes").as_deref() != Some("nothing") {
                    self.land(&record.run);
                }
            }
            RecordKind::Refusal => {
                let is_judged = matches!(text("/cause"), Some("landing" | "policy"));
                if let Some(run) = self.runs.get_mut(&record.run).filter(|_| is_judged) {
                    run.stayed = Some(false);
                }
            }
            RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::Boundary
            | RecordKind::Landing
            | RecordKind::Check
            | RecordKind::Decision
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
            | RecordKind::Checkpoint => {}
        }
    }

    fn begin_run(&mut self, record: &Record) {
        let text = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_str);
        let undone = text("/instruction")
            .filter(|_| text("/verb") == Some("undo"))
            .and_then(|instruction| instruction.strip_prefix(UNDO_RUN));
        let source = text("/source/run").map(|run| OtherRun::Lands(run.to_owned()));
        let run = ProposedChange {
            provider: text("/provider").unwrap_or_default().to_owned(),
            model: text("/model").map(str::to_owned),
            began: record.ts.clone(),
            instruction: text("/instruction").unwrap_or_default().to_owned(),
            files: list_texts(record.body.pointer("/options/files")),
            of: undone.map(|run| OtherRun::Undoes(run.to_owned())).or(source),
            stayed: None,
        };
        self.order.push(record.run.clone());
        self.runs.insert(record.run.clone(), run);
    }

    fn add_consent(&mut self, record: &Record) {
        match read_answer(&record.body) {
            Some((asking, RequestAnswer::Yes)) => {
                let approving = self.runs.entry(record.run.clone()).or_default();
                approving.of = Some(OtherRun::Lands(asking.to_owned()));
            }
            Some((asking, RequestAnswer::No)) => {
                if let Some(run) = self.runs.get_mut(asking) {
                    run.stayed = Some(false);
                }
            }
            // A change that nobody answered was not judged.
            Some((
                _,
                RequestAnswer::Withdrawn
                | RequestAnswer::Expired
                | RequestAnswer::Void
                | RequestAnswer::Unanswered,
            ))
            | None => {}
        }
    }

    /// Notes that a run landed: its own change, that of an earlier run, or the inverse of one.
    fn land(&mut self, run: &str) {
        let (proposer, inversions) = self.find_proposer(run);
        if let Some(proposer) = self.runs.get_mut(&proposer) {
            // The undo of an undo brings the change back.
            proposer.stayed = Some(inversions % 2 == 0);
        }
    }

    /// Finds the run that proposed the change which a run lands, and how often it is inverted on the way.
    fn find_proposer(&self, run: &str) -> (String, usize) {
        let (mut at, mut inversions) = (run.to_owned(), 0);
        // A tape that was changed by hand may lead in a circle, so the way has an end.
        for _ in 0..=self.order.len() {
            match self.runs.get(&at).and_then(|run| run.of.as_ref()) {
                Some(OtherRun::Lands(earlier)) => at.clone_from(earlier),
                Some(OtherRun::Undoes(earlier)) => {
                    at.clone_from(earlier);
                    inversions += 1;
                }
                None => break,
            }
        }
        (at, inversions)
    }

    fn into_fates(mut self) -> Vec<ChangeFate> {
        let runs = self.order.iter().filter_map(|id| self.runs.remove(id));
        runs.filter(|run| run.of.is_none())
            .filter_map(|run| {
                Some(ChangeFate {
                    stayed: run.stayed?,
                    provider: run.provider,
                    model: run.model,
                    began: run.began,
                    instruction: run.instruction,
                    files: run.files,
                })
            })
            .collect()
    }
}

fn list_texts(value: Option<&Value>) -> Vec<String> {
    let texts = value.and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(run: &str, kind: RecordKind, body: Value) -> Record {
        let line = json!({ "v": 1, "seq": 1, "ts": "2026-11-21T09:14:00Z", "run": run, "kind": kind, "body": body,
            "prev": "", "hash": "" });
        serde_json::from_value(line).unwrap()
    }

    fn task(run: &str, more: Value) -> Record {
        let mut body = json!({ "verb": "run", "provider": "one", "model": "tiny", "instruction": "x" });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        record(run, RecordKind::Task, body)
    }

    fn receipt(run: &str) -> Record {
        record(
            run,
            RecordKind::Receipt,
            json!({ "writes": "commit-and-work-tree" }),
        )
    }

    fn refusal(run: &str, cause: &str) -> Record {
        record(
            run,
            RecordKind::Refusal,
            json!({ "cause": cause, "code": "x", "outcome": "refused" }),
        )
    }

    fn undo(run: &str, of: &str) -> [Record; 2] {
        let undo = json!({ "verb": "undo", "provider": "undo", "instruction": format!("Undo run {of}") });
        [task(run, undo), receipt(run)]
    }

    fn fates(records: impl IntoIterator<Item = Record>) -> Vec<(String, Option<String>, bool)> {
        let mut fold = FateFold::default();
        records.into_iter().for_each(|record| fold.add_record(&record));
        let fates = fold.into_fates().into_iter();
        fates
            .map(|fate| (fate.provider, fate.model, fate.stayed))
            .collect()
    }

    #[test]
    fn a_change_counts_once_with_its_last_fate() {
        let answer = |run: &str, given: bool| {
            let body = json!({ "answers": "a", "given": given, "consent": { "by": "somebody" } });
            record(run, RecordKind::Consent, body)
        };
        let approval = || {
            vec![
                task("a", json!({})),
                task("b", json!({ "verb": "approve" })),
                answer("b", true),
            ]
        };
        let stayed = vec![("one".to_owned(), Some("tiny".to_owned()), true)];
        let rejected = vec![("one".to_owned(), Some("tiny".to_owned()), false)];
        let with = |mut first: Vec<Record>, more: Vec<Record>| {
            first.extend(more);
            first
        };
        let landed = || vec![task("a", json!({})), receipt("a")];
        let cases = [
            ("landed", landed(), stayed.clone()),
            (
                "an earlier attempt was refused",
                vec![task("a", json!({})), refusal("a", "landing"), receipt("a")],
                stayed.clone(),
            ),
            (
                "does not land",
                vec![task("a", json!({})), refusal("a", "landing")],
                rejected.clone(),
            ),
            (
                "denied by policy",
                vec![task("a", json!({})), refusal("a", "policy")],
                rejected.clone(),
            ),
            (
                "the server failed",
                vec![task("a", json!({})), refusal("a", "tool")],
                vec![],
            ),
            (
                "nobody answered yet",
                vec![task("a", json!({})), refusal("a", "consent")],
                vec![],
            ),
            (
                "a dry run",
                vec![
                    task("a", json!({})),
                    record("a", RecordKind::Receipt, json!({ "writes": "nothing" })),
                ],
                vec![],
            ),
            (
                "undone",
                with(landed(), undo("b", "a").to_vec()),
                rejected.clone(),
            ),
            (
                "the undo undone",
                with(with(landed(), undo("b", "a").to_vec()), undo("c", "b").to_vec()),
                stayed.clone(),
            ),
            (
                "approved later",
                with(approval(), vec![receipt("b")]),
                stayed.clone(),
            ),
            (
                "approved and undone",
                with(with(approval(), vec![receipt("b")]), undo("c", "b").to_vec()),
                rejected.clone(),
            ),
            (
                "approved, and it no longer lands",
                with(approval(), vec![refusal("b", "landing")]),
                vec![],
            ),
            (
                "denied by a person",
                vec![task("a", json!({})), answer("b", false)],
                rejected,
            ),
            (
                "landed again from its record",
                with(
                    landed(),
                    vec![task("b", json!({ "source": { "run": "a" } })), receipt("b")],
                ),
                stayed,
            ),
        ];
        for (name, records, expected) in cases {
            assert_eq!(fates(records), expected, "{name}");
        }
    }

    #[test]
    fn a_change_belongs_to_the_provider_that_gave_it() {
        let result = |tool: &str| record("a", RecordKind::ToolResult, json!({ "result": { "tool": tool } }));
        let records = [
            task("a", json!({})),
            result("one"),
            refusal("a", "tool"),
            result("two"),
            receipt("a"),
        ];
        assert_eq!(fates(records), [("two".to_owned(), None, true)]);
    }

    #[test]
    fn a_circle_of_undone_runs_ends() {
        let [first, landed] = undo("a", "b");
        let [second, again] = undo("b", "a");
        assert_eq!(fates([first, second, landed, again]), []);
    }
}
