//! Compares commits with the tape, in both directions.
//!
//! Owns: matching intents and receipts with the trailers of commits, in one pass. Never: reads a repository itself, or
//! keeps more in memory than the commits that it was given, the runs that have not ended, and a bounded number of changes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bounds::{FindingList, MemoryBudget};
use super::change::RecordedChange;
use super::claims::{CommitVerdicts, GoneCommit, PinnedCommit, PinnedIntent, TapeSources};
use super::moved::MovedCommit;
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
    /// Commits that a receipt names and no branch leads to.
    gone: Vec<GoneCommit>,
    /// Number of further ones, for which `gone_budget` has no room.
    more_gone: u64,
    gone_budget: MemoryBudget,
    /// True if a commit that a receipt names is in the object store, or the commit that it was made on.
    has_any: bool,
}

/// Results of the comparison.
#[derive(Default)]
pub(super) struct CommitTotals {
    /// Number of commits compared. `None` if there is no history to compare with.
    pub checked: Option<u64>,
    /// Recorded commits whose change is in another commit now.
    pub moved: Vec<MovedCommit>,
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
            gone: Vec::new(),
            more_gone: 0,
            gone_budget: MemoryBudget::new("commits that left the history"),
            has_any: false,
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
                            change: RecordedChange::from_body(body),
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
                    findings.extend(self.check_receipt(line, &id, body, &intents, history));
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
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
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

    /// Compares a receipt with its commit, and keeps the change if the commit is not in the history.
    fn check_receipt(
        &mut self,
        line: u64,
        id: &str,
        body: &Value,
        intents: &[String],
        history: &dyn CommitLookup,
    ) -> Option<Finding> {
        let Some(commit) = history.commit(id) else {
            let has_base = || fact_of(body, "parent").is_some_and(|base| history.commit(&base).is_some());
            self.has_any = self.has_any || has_base();
            self.add_gone(line, id, body, None, false);
            return None;
        };
        self.has_any = true;
        // An id covers the tree and the trailers of a commit, so the record itself is another than the one that was
        // written for this commit.
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
            CommitStanding::Held => {}
            CommitStanding::Gone => self.add_gone(line, id, body, None, true),
            CommitStanding::Replaced(other) => self.add_gone(line, id, body, Some(other), true),
        }
        None
    }

    fn add_gone(&mut self, line: u64, id: &str, body: &Value, replaced_by: Option<String>, is_stored: bool) {
        let change = RecordedChange::from_body(body).unwrap_or_default();
        // The tape may be long and the history another one. A change that is not kept is not searched.
        if self.gone_budget.take(change.cost() + id.len()).is_err() {
            self.more_gone += 1;
            return;
        }
        self.gone.push(GoneCommit {
            line,
            id: id.to_owned(),
            change,
            is_stored,
            replaced_by,
        });
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

    /// Checks the commits that no receipt names, and searches those that are no longer in the history, after the last
    /// record.
    ///
    /// # Errors
    /// When the tape cannot be read again, or has too many changes of the same files.
    pub fn finish(
        self,
        checks: &VerifyChecks<'_>,
        sources: &TapeSources<'_>,
        findings: &mut FindingList,
        notes: &mut Vec<String>,
    ) -> Result<CommitTotals, EvidenceError> {
        let Some(history) = checks.history else {
            return Ok(CommitTotals::default());
        };
        // A commit that a receipt names makes the change of that run. That it undoes or repeats another one moves nothing.
        let recorded = self.pinned.iter().filter(|pinned| pinned.has_receipt);
        let recorded = recorded.map(|pinned| pinned.commit.id.clone()).collect();
        let mut verdicts = CommitVerdicts::new(history, sources, findings, notes, recorded);
        let claims: Vec<&PinnedCommit> = self.pinned.iter().filter(|pinned| !pinned.has_receipt).collect();
        verdicts.check_claims(&claims)?;
        verdicts.check_gone(&self.gone, self.more_gone);
        let is_foreign = self.checked > 0 && !self.has_any && verdicts.moved.is_empty();
        if is_foreign && !checks.partial_history {
            verdicts.report_foreign(self.checked, &self.gone);
        }
        let moved = verdicts.moved;
        let mut checked = self.checked + u64::try_from(claims.len()).unwrap_or(u64::MAX);
        if checks.require {
            for id in history.bare() {
                checked += 1;
                let detail = format!("the commit `{id}` has no evidence");
                findings.push(Finding::new(Tampering::CommitWithoutEvidence, None, detail));
            }
        }
        Ok(CommitTotals {
            checked: Some(checked),
            moved,
        })
    }
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
