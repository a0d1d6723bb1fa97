//! Compares commits with the tape, in both directions.
//!
//! Owns: matching intents and receipts with the trailers of commits, in one pass. Never: reads a repository itself, or
//! keeps more in memory than the commits that it was given and the runs that have not ended.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bounds::{FindingList, MemoryBudget, push_note};
use super::{CommitInfo, CommitLookup, CommitStanding, Finding, Tampering, VerifyChecks};
use crate::line_view::LineView;
use crate::runs::fact_of;
use crate::{EvidenceError, RecordKind};

/// Bytes of memory that are counted for an intent of a run that has not ended.
const COST_OF_INTENT: usize = 160;

/// Links between the tape and commits.
pub(super) struct CommitPins {
    pinned: Vec<PinnedCommit>,
    by_id: BTreeMap<String, usize>,
    by_evidence: BTreeMap<String, Vec<usize>>,
    /// Hashes of the intents of runs that have not ended, by run.
    open: BTreeMap<String, Vec<String>>,
    budget: MemoryBudget,
    checked: u64,
    /// Number of commits that a receipt names and no branch leads to.
    gone: u64,
}

/// Commit that names evidence in its trailer.
struct PinnedCommit {
    commit: CommitInfo,
    /// True if a receipt names the commit.
    has_receipt: bool,
    /// Intent that the trailer names. `None` if it is not on the tape.
    intent: Option<PinnedIntent>,
}

/// Intent that a commit's trailer names.
struct PinnedIntent {
    tree: Option<String>,
    /// Commit that the run's receipt names. `None` if there is no receipt or it names none.
    landed: Option<String>,
}

impl CommitPins {
    pub fn new(checks: &VerifyChecks<'_>) -> Self {
        let commits = checks.history.map(|history| history.pinned()).unwrap_or_default();
        let mut pins = Self {
            pinned: Vec::new(),
            by_id: BTreeMap::new(),
            by_evidence: BTreeMap::new(),
            open: BTreeMap::new(),
            budget: MemoryBudget::new("intents of open runs"),
            checked: 0,
            gone: 0,
        };
        for (at, commit) in commits.into_iter().enumerate() {
            let evidence = evidence_of(&commit).unwrap_or_default().to_owned();
            pins.by_evidence.entry(evidence).or_default().push(at);
            pins.by_id.insert(commit.id.clone(), at);
            pins.pinned.push(PinnedCommit {
                commit,
                has_receipt: false,
                intent: None,
            });
        }
        pins
    }

    /// Processes a record if its kind refers to a commit.
    ///
    /// # Errors
    /// [`EvidenceError::TooMuch`] if too many runs are open.
    pub fn take(
        &mut self,
        line: u64,
        record: &LineView<'_>,
        body: &Value,
        checks: &VerifyChecks<'_>,
        findings: &mut FindingList,
    ) -> Result<(), EvidenceError> {
        let Some(history) = checks.history else {
            return Ok(());
        };
        match record.kind {
            RecordKind::Intent => {
                // Of most intents only the hash is kept, until the run ends. What an intent says is needed for those alone
                // that a commit to be checked names.
                for at in self.by_evidence.get(record.hash).into_iter().flatten() {
                    if let Some(pinned) = self.pinned.get_mut(*at) {
                        pinned.intent = Some(PinnedIntent {
                            tree: fact_of(body, "tree"),
                            landed: None,
                        });
                    }
                }
                self.budget.take(COST_OF_INTENT + record.run.len())?;
                let open = self.open.entry(record.run.to_owned()).or_default();
                open.push(record.hash.to_owned());
            }
            RecordKind::Receipt => {
                let intents = self.close(record.run);
                if let Some(id) = fact_of(body, "commit") {
                    self.checked += 1;
                    findings.extend(self.receipt_finding(line, &id, body, &intents, history));
                    self.note_landed(&intents, &id);
                }
            }
            RecordKind::Refusal => drop(self.close(record.run)),
            RecordKind::Task
            | RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::ToolResult
            | RecordKind::Boundary
            | RecordKind::Check
            | RecordKind::Landing
            | RecordKind::Decision
            | RecordKind::Consent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Checkpoint => {}
        }
        Ok(())
    }

    /// Removes a run that ends, and returns the hashes of its intents.
    fn close(&mut self, run: &str) -> Vec<String> {
        let intents = self.open.remove(run).unwrap_or_default();
        self.budget
            .give_back(intents.len() * (COST_OF_INTENT + run.len()));
        intents
    }

    fn receipt_finding(
        &mut self,
        line: u64,
        id: &str,
        body: &Value,
        intents: &[String],
        history: &dyn CommitLookup,
    ) -> Option<Finding> {
        let Some(commit) = history.commit(id) else {
            let detail = format!("the receipt names the commit `{id}`, which is not in the repository");
            return Some(Finding::new(Tampering::RecordWithoutCommit, Some(line), detail));
        };
        // An amended commit keeps its trailer and has another tree; a commit made by hand may copy another one's trailer.
        let rewritten = |detail: String| Some(Finding::new(Tampering::CommitRewritten, Some(line), detail));
        if fact_of(body, "tree").is_some_and(|tree| tree != commit.tree) {
            return rewritten(format!(
                "the commit `{id}` does not have the tree that its receipt names"
            ));
        }
        let Some(evidence) = evidence_of(&commit) else {
            return rewritten(format!("the commit `{id}` names no evidence"));
        };
        if !intents.iter().any(|intent| intent == evidence) {
            return rewritten(format!("the commit `{id}` names the evidence of another run"));
        }
        // The caller found pinned commits by walking the history, so they are in it.
        if self.by_id.contains_key(id) {
            return None;
        }
        match history.standing(id) {
            CommitStanding::Held => None,
            CommitStanding::Gone => {
                self.gone += 1;
                None
            }
            CommitStanding::Replaced(other) => rewritten(format!(
                "the commit `{id}` is no longer in the history; `{other}`, without evidence, replaced it"
            )),
        }
    }

    fn note_landed(&mut self, intents: &[String], id: &str) {
        if let Some(pinned) = self.by_id.get(id).and_then(|at| self.pinned.get_mut(*at)) {
            pinned.has_receipt = true;
        }
        // Another commit may carry the trailer of these intents. Its own check then names the commit that landed.
        let named = intents
            .iter()
            .filter_map(|hash| self.by_evidence.get(hash))
            .flatten();
        for at in named {
            if let Some(intent) = self.pinned.get_mut(*at).and_then(|pinned| pinned.intent.as_mut()) {
                intent.landed = Some(id.to_owned());
            }
        }
    }

    /// Checks the commits that no receipt names, after the last record. Returns the number of all commits checked; `None`
    /// if there is no history to check against.
    pub fn finish(
        &self,
        checks: &VerifyChecks<'_>,
        findings: &mut FindingList,
        notes: &mut Vec<String>,
    ) -> Option<u64> {
        let history = checks.history?;
        let mut checked = self.checked;
        for pinned in self.pinned.iter().filter(|pinned| !pinned.has_receipt) {
            checked += 1;
            let id = &pinned.commit.id;
            match commit_finding(pinned) {
                Some(finding) => findings.push(finding),
                None => push_note(
                    notes,
                    format!(
                        "the commit `{id}` has an intent on the tape but no receipt: its run was interrupted"
                    ),
                ),
            }
        }
        if self.gone > 0 {
            notes.push(match self.gone {
                1 => "1 commit that landed is no longer in the history: a reset, or a deleted branch"
                    .to_owned(),
                many => format!(
                    "{many} commits that landed are no longer in the history: a reset, or a deleted branch"
                ),
            });
        }
        if checks.require {
            for id in history.bare() {
                checked += 1;
                let detail = format!("the commit `{id}` has no evidence");
                findings.push(Finding::new(Tampering::CommitWithoutEvidence, None, detail));
            }
        }
        Some(checked)
    }
}

/// Returns the fault of a commit that names evidence and that no receipt names. `None` if a crash between commit and
/// receipt explains it.
fn commit_finding(pinned: &PinnedCommit) -> Option<Finding> {
    let id = &pinned.commit.id;
    let Some(intent) = &pinned.intent else {
        let detail = format!("the commit `{id}` names evidence that is not on the tape");
        return Some(Finding::new(Tampering::CommitWithoutRecord, None, detail));
    };
    if let Some(other) = &intent.landed {
        let detail = format!("the commit `{id}` carries the evidence of `{other}`");
        return Some(Finding::new(Tampering::CommitRewritten, None, detail));
    }
    if intent
        .tree
        .as_ref()
        .is_some_and(|tree| *tree != pinned.commit.tree)
    {
        let detail = format!("the commit `{id}` does not have the tree that its intent names");
        return Some(Finding::new(Tampering::CommitRewritten, None, detail));
    }
    None
}

/// Returns the hash of the record that a commit names. `None` if it names none.
fn evidence_of(commit: &CommitInfo) -> Option<&str> {
    // The last one counts, since the executor appends its trailer to the message.
    commit
        .trailers
        .iter()
        .rfind(|(name, _)| name.eq_ignore_ascii_case("AgentOS-Evidence"))
        .map(|(_, value)| value.as_str())
}
