//! The tape and the commits pin each other.

use agentos_evidence::{
    CommitInfo, CommitLookup, CommitStanding, RecordKind, Tampering, VerifyChecks, VerifyReport,
};
use serde_json::json;

use crate::support::Tape;

struct Commits {
    stored: Vec<CommitInfo>,
    reachable: Vec<CommitInfo>,
    replaced: Option<&'static str>,
}

impl CommitLookup for Commits {
    fn commit(&self, id: &str) -> Option<CommitInfo> {
        self.stored.iter().find(|commit| commit.id == id).cloned()
    }

    fn standing(&self, id: &str) -> CommitStanding {
        match self.replaced {
            _ if self.reachable.iter().any(|commit| commit.id == id) => CommitStanding::Held,
            Some(other) => CommitStanding::Replaced(other.to_owned()),
            None => CommitStanding::Gone,
        }
    }

    fn pinned(&self) -> Vec<CommitInfo> {
        self.reachable.clone()
    }

    fn bare(&self) -> Vec<String> {
        vec!["c0".to_owned()]
    }
}

fn check(tape: &Tape, stored: Vec<CommitInfo>, reachable: Vec<CommitInfo>) -> VerifyReport {
    let history = Commits {
        stored,
        reachable,
        replaced: None,
    };
    let checks = VerifyChecks {
        history: Some(&history),
        ..VerifyChecks::default()
    };
    tape.store.verify(&checks).unwrap()
}

fn commit(id: &str, tree: &str, evidence: &str) -> CommitInfo {
    CommitInfo {
        id: id.to_owned(),
        tree: tree.to_owned(),
        trailers: vec![("AgentOS-Evidence".to_owned(), evidence.to_owned())],
    }
}

/// A tape with one landed run; gives the hash that pins it.
fn landed() -> (Tape, String) {
    let tape = Tape::example();
    let intent = tape.add(RecordKind::Intent, json!({ "plan": { "tree": "t1" } }));
    tape.add(RecordKind::Receipt, json!({ "commit": "c1", "tree": "t1" }));
    (tape, intent.hash)
}

#[test]
fn a_commit_and_its_records_agree() {
    let (tape, pin) = landed();
    let only = vec![commit("c1", "t1", &pin)];
    let report = check(&tape, only.clone(), only);
    assert!(report.ok, "{report:?}");
    assert_eq!(report.commits, Some(1));
    assert_eq!(tape.store.runs().unwrap()[0].commit.as_deref(), Some("c1"));
}

#[test]
fn a_commit_that_does_not_fit_its_records_is_found() {
    let (tape, pin) = landed();
    let good = commit("c1", "t1", &pin);
    let mut bare = good.clone();
    bare.trailers.clear();
    let cases = [
        ("gone", vec![], vec![], Tampering::RecordWithoutCommit),
        (
            "another tree",
            vec![commit("c1", "t2", &pin)],
            vec![],
            Tampering::CommitRewritten,
        ),
        ("no trailer", vec![bare], vec![], Tampering::CommitRewritten),
        (
            "another pin",
            vec![commit("c1", "t1", "sha256:00")],
            vec![],
            Tampering::CommitRewritten,
        ),
        (
            "unknown pin",
            vec![good.clone()],
            vec![commit("c2", "t9", "sha256:00")],
            Tampering::CommitWithoutRecord,
        ),
        (
            "copied pin",
            vec![good.clone()],
            vec![commit("c2", "t1", &pin)],
            Tampering::CommitRewritten,
        ),
    ];
    for (name, stored, reachable, tampering) in cases {
        let report = check(&tape, stored, reachable);
        assert_eq!(
            report.findings.first().map(|f| f.tampering),
            Some(tampering),
            "{name}"
        );
    }
}

#[test]
fn a_commit_whose_receipt_a_crash_swallowed_is_held_by_its_intent() {
    let tape = Tape::new();
    let pin = tape
        .add(RecordKind::Intent, json!({ "plan": { "tree": "t1" } }))
        .hash;
    for (tree, sound) in [("t1", true), ("t2", false)] {
        let only = vec![commit("c1", tree, &pin)];
        let report = check(&tape, only.clone(), only);
        assert_eq!(report.ok, sound);
        assert_eq!(
            report.notes.len(),
            usize::from(sound),
            "the missing receipt is told"
        );
    }
}

#[test]
fn a_commit_without_evidence_is_a_fault_only_where_evidence_is_required() {
    let (tape, pin) = landed();
    let only = vec![commit("c1", "t1", &pin)];
    assert!(check(&tape, only.clone(), only.clone()).ok);
    let history = Commits {
        stored: only.clone(),
        reachable: only,
        replaced: None,
    };
    let checks = VerifyChecks {
        history: Some(&history),
        require: true,
        ..VerifyChecks::default()
    };
    let found: Vec<_> = tape
        .store
        .verify(&checks)
        .unwrap()
        .findings
        .into_iter()
        .map(|finding| finding.tampering)
        .collect();
    // The run of the example has no signature either.
    assert_eq!(found, [Tampering::CommitWithoutEvidence, Tampering::RunUnsigned]);
}

#[test]
fn a_commit_that_nothing_leads_to_is_told_and_one_that_was_replaced_is_found() {
    let (tape, pin) = landed();
    for (replaced, found) in [(None, None), (Some("c2"), Some(Tampering::CommitRewritten))] {
        let history = Commits {
            stored: vec![commit("c1", "t1", &pin)],
            reachable: Vec::new(),
            replaced,
        };
        let checks = VerifyChecks {
            history: Some(&history),
            ..VerifyChecks::default()
        };
        let report = tape.store.verify(&checks).unwrap();
        let tampering = report.findings.first().map(|finding| finding.tampering);
        assert_eq!(tampering, found, "{report:?}");
        assert_eq!(report.notes.len(), usize::from(replaced.is_none()), "{report:?}");
    }
}
