//! Checks checkpoints: each signature, and that the checkpoint is at the place that was signed.
//!
//! Owns: both checks, and the list of keys that signed. Never: trusts a key because the tape names it.

use std::collections::{BTreeMap, BTreeSet};

use agentos_chain::parse_hash;
use serde_json::Value;

use super::bounds::{FindingList, MemoryBudget};
use super::{Finding, KeyUse, Tampering, VerifyChecks};
use crate::checkpoint::CheckpointRef;
use crate::facts::CHECKPOINT;
use crate::line_view::LineView;
use crate::runs::fact_of;
use crate::{EvidenceError, PublicKey, RecordKind};

/// State of the check over all checkpoints of a tape.
pub(super) struct CheckpointTotals {
    trusted: BTreeSet<PublicKey>,
    budget: MemoryBudget,
    /// Runs that have not ended, with the commit that they made.
    open: BTreeMap<String, Option<String>>,
    keys: BTreeMap<PublicKey, u64>,
    signed: u64,
    unsigned: u64,
}

/// Result of the check over all checkpoints.
pub(super) struct SignatureCounts {
    pub signed: u64,
    pub unsigned: u64,
    pub keys: Vec<KeyUse>,
}

/// Bytes of memory that are counted for a key. A key takes less, but each is shown to people, and nobody has a thousand.
const COST_OF_KEY: usize = 64 << 10;

/// Returns the bytes of memory that are counted for a run that has not ended.
fn cost_of(run: &str, commit: Option<&str>) -> usize {
    let run = if run.is_empty() { 0 } else { run.len() + 96 };
    run + commit.map_or(0, str::len)
}

/// Fault of a checkpoint: its kind and a description.
type CheckpointFault = (Tampering, String);

impl CheckpointTotals {
    pub fn new(checks: &VerifyChecks<'_>) -> Self {
        Self {
            trusted: checks.keys.iter().copied().collect(),
            budget: MemoryBudget::new("open runs or keys"),
            open: BTreeMap::new(),
            keys: BTreeMap::new(),
            signed: 0,
            unsigned: 0,
        }
    }

    /// Processes one record.
    ///
    /// # Errors
    /// [`EvidenceError::TooMuch`] if too many runs are open or too many keys signed.
    pub fn take(
        &mut self,
        line: u64,
        record: &LineView<'_>,
        body: &Value,
        checks: &VerifyChecks<'_>,
        findings: &mut FindingList,
    ) -> Result<(), EvidenceError> {
        if record.kind != RecordKind::Checkpoint {
            if !self.open.contains_key(record.run) {
                self.budget.take(cost_of(record.run, None))?;
                self.open.insert(record.run.to_owned(), None);
            }
            if record.kind == RecordKind::Receipt {
                let commit = fact_of(body, "commit");
                self.budget.take(cost_of("", commit.as_deref()))?;
                self.open.insert(record.run.to_owned(), commit);
            }
            return Ok(());
        }
        // A run that continues after its checkpoint is open again and needs another one.
        let commit = self.open.remove(record.run);
        if let Some(commit) = &commit {
            self.budget.give_back(cost_of(record.run, commit.as_deref()));
        }
        match self.check_checkpoint(record, commit.flatten().as_deref(), checks)? {
            Ok(true) => self.signed += 1,
            Ok(false) => {
                self.unsigned += 1;
                if checks.require {
                    let detail = format!("the run `{}` is not signed", record.run);
                    findings.push(Finding::new(Tampering::RunUnsigned, Some(line), detail));
                }
            }
            Err((tampering, detail)) => findings.push(Finding::new(tampering, Some(line), detail)),
        }
        Ok(())
    }

    /// Checks a checkpoint. Returns true if it is signed, and false if it says itself that it is not.
    fn check_checkpoint(
        &mut self,
        record: &LineView<'_>,
        commit: Option<&str>,
        checks: &VerifyChecks<'_>,
    ) -> Result<Result<bool, CheckpointFault>, EvidenceError> {
        let invalid = |detail: &str| Ok(Err((Tampering::SignatureInvalid, detail.to_owned())));
        let Some(checkpoint) = CheckpointRef::read(record.body_text()) else {
            return invalid("the checkpoint is malformed");
        };
        if checkpoint.key.is_none() && checkpoint.envelopes.is_empty() {
            return Ok(Ok(false));
        }
        // The key comes from the tape, so anybody can put their own there. Whether it counts is checked at the end.
        let Some(key) = checkpoint.key.as_deref().and_then(PublicKey::from_line) else {
            return invalid("the checkpoint names no key that could have signed it");
        };
        let Some(statements) = checkpoint.open(&key) else {
            return invalid("the signature of the checkpoint is not valid");
        };
        if !matches_place(record, commit, &statements) {
            return invalid("the checkpoint was signed for another run or another place on the tape");
        }
        if !self.keys.contains_key(&key) {
            self.budget.take(COST_OF_KEY)?;
        }
        *self.keys.entry(key).or_default() += 1;
        if checks.counts_for_run(&key) {
            return Ok(Ok(true));
        }
        let detail = format!(
            "the run is signed by `{}`, a key that is not trusted here",
            key.id()
        );
        Ok(Err((Tampering::KeyUnknown, detail)))
    }

    /// Counts the runs without a checkpoint, after the last record, and returns the result.
    pub fn finish(
        self,
        checks: &VerifyChecks<'_>,
        findings: &mut FindingList,
        notes: &mut Vec<String>,
    ) -> SignatureCounts {
        if checks.require {
            for run in self.open.keys() {
                let detail = format!("the run `{run}` has no signed checkpoint");
                findings.push(Finding::new(Tampering::RunUnsigned, None, detail));
            }
        }
        // A run that is going on now has no checkpoint yet and counts as unsigned too.
        let unsigned = self.unsigned + u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        let keys: Vec<KeyUse> = self
            .keys
            .iter()
            .map(|(key, signed)| KeyUse {
                id: key.id(),
                trusted: self.trusted.contains(key),
                signed: *signed,
            })
            .collect();
        if self.trusted.is_empty() && !keys.is_empty() {
            notes.push(
                "no key is trusted here: the signatures are valid, but it is not known whose they are"
                    .to_owned(),
            );
        }
        SignatureCounts {
            signed: self.signed,
            unsigned,
            keys,
        }
    }
}

/// Returns whether these statements were signed for this run, directly after the record before this one, and about its
/// commit.
fn matches_place(record: &LineView<'_>, commit: Option<&str>, statements: &[Value]) -> bool {
    // Otherwise a genuine checkpoint could be moved to another run or another place of the tape.
    let Some(first) = statements.first() else {
        return false;
    };
    let text = |pointer: &str| first.pointer(pointer).and_then(Value::as_str);
    let subject = match commit {
        Some(commit) => text("/subject/0/digest/gitCommit") == Some(commit),
        None => text("/subject/0/digest/sha256") == parse_hash(record.prev),
    };
    let one_subject = statements
        .iter()
        .all(|statement| statement.get("subject") == first.get("subject"));
    text("/predicateType") == Some(CHECKPOINT)
        && text("/predicate/run") == Some(record.run)
        && text("/predicate/tape/head") == Some(record.prev)
        && first.pointer("/predicate/tape/seq").and_then(Value::as_u64) == record.seq.checked_sub(1)
        && subject
        && one_subject
}
