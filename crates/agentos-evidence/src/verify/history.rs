//! Commits against the tape, in both directions.
//!
//! Owns: matching intents, receipts and the trailers that pin them. Never: reads a repository itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{CommitInfo, CommitLookup, Finding, Tampering};
use crate::runs::fact;
use crate::{Record, RecordKind};

/// What ties the tape to commits.
#[derive(Debug, Default)]
pub(super) struct Pins {
    /// By the hash of an intent: what it said would be written.
    intents: BTreeMap<String, Intent>,
    receipts: Vec<Receipt>,
}

#[derive(Debug)]
struct Intent {
    run: String,
    tree: Option<String>,
}

#[derive(Debug)]
struct Receipt {
    line: u64,
    run: String,
    commit: String,
    tree: Option<String>,
}

impl Pins {
    /// Notes a record, if it is of a kind that is tied to a commit.
    pub fn take(&mut self, line: u64, record: &Record) {
        if record.kind == RecordKind::Intent {
            let intent = Intent {
                run: record.run.clone(),
                tree: fact(record, "tree"),
            };
            self.intents.insert(record.hash.clone(), intent);
        }
        if record.kind == RecordKind::Receipt
            && let Some(commit) = fact(record, "commit")
        {
            let tree = fact(record, "tree");
            self.receipts.push(Receipt {
                line,
                run: record.run.clone(),
                commit,
                tree,
            });
        }
    }
}

/// Checks both directions; gives the number of commits looked at.
pub(super) fn check(pins: &Pins, history: &dyn CommitLookup, findings: &mut Vec<Finding>) -> u64 {
    let mut count = 0;
    for receipt in &pins.receipts {
        count += 1;
        findings.extend(receipt_finding(pins, receipt, history.commit(&receipt.commit)));
    }
    let told: BTreeSet<&str> = pins
        .receipts
        .iter()
        .map(|receipt| receipt.commit.as_str())
        .collect();
    for commit in history.pinned() {
        if told.contains(commit.id.as_str()) {
            continue;
        }
        count += 1;
        findings.extend(commit_finding(pins, &commit));
    }
    count
}

fn receipt_finding(pins: &Pins, receipt: &Receipt, commit: Option<CommitInfo>) -> Option<Finding> {
    let id = &receipt.commit;
    let at = Some(receipt.line);
    let Some(commit) = commit else {
        let detail = format!("the receipt names the commit `{id}`, which is not in the repository");
        return Some(Finding::new(Tampering::RecordWithoutCommit, at, detail));
    };
    let rewritten = |detail: String| Some(Finding::new(Tampering::CommitRewritten, at, detail));
    if receipt.tree.as_ref().is_some_and(|tree| *tree != commit.tree) {
        return rewritten(format!(
            "the commit `{id}` does not have the tree that the receipt names"
        ));
    }
    let Some(evidence) = evidence_of(&commit) else {
        return rewritten(format!("the commit `{id}` names no evidence"));
    };
    match pins.intents.get(evidence) {
        Some(intent) if intent.run == receipt.run => None,
        Some(_) | None => rewritten(format!("the commit `{id}` names the evidence of another run")),
    }
}

/// A pinned commit that no receipt names: a crash came between commit and receipt, or somebody made it.
fn commit_finding(pins: &Pins, commit: &CommitInfo) -> Option<Finding> {
    let id = &commit.id;
    let Some(intent) = evidence_of(commit).and_then(|evidence| pins.intents.get(evidence)) else {
        let detail = format!("the commit `{id}` names evidence that is not on the tape");
        return Some(Finding::new(Tampering::CommitWithoutRecord, None, detail));
    };
    let other = pins.receipts.iter().find(|receipt| receipt.run == intent.run);
    if let Some(other) = other {
        let detail = format!("the commit `{id}` carries the evidence of `{}`", other.commit);
        return Some(Finding::new(Tampering::CommitRewritten, None, detail));
    }
    if intent.tree.as_ref().is_some_and(|tree| *tree != commit.tree) {
        let detail = format!("the commit `{id}` does not have the tree that its intent names");
        return Some(Finding::new(Tampering::CommitRewritten, None, detail));
    }
    None
}

fn evidence_of(commit: &CommitInfo) -> Option<&str> {
    commit
        .trailers
        .iter()
        .rfind(|(name, _)| name.eq_ignore_ascii_case("AgentOS-Evidence"))
        .map(|(_, value)| value.as_str())
}
