//! The tape and the commits pin each other.

use std::collections::{BTreeMap, BTreeSet};

use agentos_evidence::{
    CommitInfo, CommitLookup, CommitStanding, FileChange, FileVersion, MoveKind, RecordKind, Tampering,
    VerifyChecks, VerifyReport,
};
use serde_json::{Value, json};

use crate::support::Tape;

#[derive(Default)]
struct Commits {
    stored: Vec<CommitInfo>,
    reachable: Vec<CommitInfo>,
    replaced: Option<&'static str>,
    /// What each commit changes.
    changes: BTreeMap<&'static str, Vec<FileChange>>,
    contents: BTreeMap<&'static str, &'static str>,
}

impl CommitLookup for Commits {
    fn commit(&self, id: &str) -> Option<CommitInfo> {
        let mut known = self.stored.iter().chain(&self.reachable);
        known.find(|commit| commit.id == id).cloned()
    }

    fn changes(&self, id: &str) -> Option<Vec<FileChange>> {
        self.changes.get(id).cloned()
    }

    fn search(&self, paths: &BTreeSet<String>, visit: &mut dyn FnMut(&str, &[FileChange]) -> bool) -> bool {
        for commit in &self.reachable {
            let mut made = self.changes(&commit.id).unwrap_or_default();
            made.retain(|file| paths.contains(&file.path));
            if !made.is_empty() && !visit(&commit.id, &made) {
                break;
            }
        }
        true
    }

    fn precedes(&self, id: &str, other: &str) -> bool {
        id == other
    }

    fn content(&self, oid: &str) -> Option<Vec<u8>> {
        self.contents.get(oid).map(|text| text.as_bytes().to_vec())
    }

    fn standing(&self, id: &str) -> CommitStanding {
        match self.replaced {
            _ if self.reachable.iter().any(|commit| commit.id == id) => CommitStanding::Held,
            Some(other) => CommitStanding::Replaced(other.to_owned()),
            None => CommitStanding::Gone,
        }
    }

    fn pinned(&self) -> Vec<CommitInfo> {
        let mut named = self.reachable.clone();
        named.retain(|commit| !commit.trailers.is_empty());
        named
    }

    fn bare(&self) -> Vec<String> {
        vec!["c0".to_owned()]
    }
}

fn check(tape: &Tape, stored: Vec<CommitInfo>, reachable: Vec<CommitInfo>) -> VerifyReport {
    let history = Commits {
        stored,
        reachable,
        ..Commits::default()
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
        parents: vec!["base".to_owned()],
        author: "A <a@example.com> 1".to_owned(),
        message: "m".to_owned(),
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
        ..Commits::default()
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
            replaced,
            ..Commits::default()
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

/// The recorded diff of the cases below: line `b` becomes `B`.
const DIFF: &str =
    "diff --git a/f b/f\nindex o1..o2 100644\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";

fn version(oid: &str) -> Option<FileVersion> {
    (!oid.is_empty()).then(|| FileVersion {
        oid: oid.to_owned(),
        mode: "100644".to_owned(),
    })
}

fn change(path: &str, old: &str, new: &str) -> FileChange {
    FileChange {
        path: path.to_owned(),
        old: version(old),
        new: version(new),
    }
}

fn files(changes: &[(&str, &str, &str)]) -> Value {
    let side = |oid: &str| (!oid.is_empty()).then(|| json!({ "oid": oid, "mode": "regular" }));
    changes
        .iter()
        .map(|(path, old, new)| json!({ "path": path, "old": side(old), "new": side(new) }))
        .collect()
}

/// Adds a landed run, whose commit is the given one; gives the hash that pins it.
fn add_landed(tape: &Tape, commit: &str, parent: &str, changes: &[(&str, &str, &str)]) -> String {
    let diff = tape.store.put_blob(DIFF.as_bytes()).unwrap();
    let diff = diff.strip_prefix("sha256:").unwrap();
    let plan = json!({ "tree": "t1", "parent": parent, "files": files(changes), "diff_sha256": diff });
    let intent = tape.add(RecordKind::Intent, json!({ "plan": plan }));
    let receipt = json!({
        "commit": commit, "tree": "t1", "parent": parent, "files": files(changes), "diff_sha256": diff,
    });
    tape.add(RecordKind::Receipt, receipt);
    intent.hash
}

type Change = (&'static str, &'static str, &'static str);
/// Name of the case, changes of the commit, contents that are there, and the judgement; no judgement is a fault.
type ClaimCase<'a> = (&'a str, &'a [Change], &'a [(&'a str, &'a str)], Option<MoveKind>);

/// A commit that carries the evidence of `c1`, which changed `f` from `o1` to `o2`, is judged by its own change.
#[test]
fn a_commit_that_claims_a_run_must_make_its_change() {
    let cases: [ClaimCase; 11] = [
        (
            "the same files",
            &[("f", "o1", "o2")],
            &[],
            Some(MoveKind::Reworded),
        ),
        (
            "another base",
            &[("f", "p", "q")],
            &[("p", "0\na\nb\nc\n"), ("q", "0\na\nB\nc\n")],
            Some(MoveKind::Reworded),
        ),
        (
            "other blanks",
            &[("f", "p", "q")],
            &[("p", "a\nb\nc\n"), ("q", "a\nB \nc\n")],
            None,
        ),
        (
            "more in the file",
            &[("f", "p", "q")],
            &[("p", "a\nb\nc\nd\n"), ("q", "a\nB\nc\nD\n")],
            None,
        ),
        ("content that is gone", &[("f", "p", "q")], &[], None),
        ("another file", &[("g", "o1", "o2")], &[], None),
        ("one file more", &[("f", "o1", "o2"), ("g", "", "g1")], &[], None),
        ("nothing", &[], &[], None),
        ("two runs", &[("f", "o1", "o3")], &[], Some(MoveKind::Squashed)),
        (
            "two runs and a file",
            &[("f", "o1", "o3"), ("g", "", "g1")],
            &[],
            None,
        ),
        ("only the other run", &[("f", "o2", "o3")], &[], None),
    ];
    for (name, made, contents, how) in cases {
        let tape = Tape::new();
        let pin = add_landed(&tape, "c1", "base", &[("f", "o1", "o2")]);
        let later = add_landed(&tape, "c2", "c1", &[("f", "o2", "o3")]);
        let history = Commits {
            stored: vec![commit("c1", "t1", &pin), commit("c2", "t1", &later)],
            reachable: vec![commit("new", "t9", &pin)],
            changes: BTreeMap::from([(
                "new",
                made.iter()
                    .map(|(path, old, new)| change(path, old, new))
                    .collect(),
            )]),
            contents: contents.iter().copied().collect(),
            ..Commits::default()
        };
        let report = tape
            .store
            .verify(&VerifyChecks {
                history: Some(&history),
                ..VerifyChecks::default()
            })
            .unwrap();
        let moved = report
            .moved
            .iter()
            .find(|moved| moved.commit == "c1")
            .map(|moved| moved.how);
        assert_eq!(moved, how, "{name}: {report:?}");
        assert_eq!(report.ok, how.is_some(), "{name}: {report:?}");
        let kind = report.findings.first().map(|finding| finding.tampering);
        assert_eq!(
            kind,
            how.is_none().then_some(Tampering::CommitRewritten),
            "{name}: {report:?}"
        );
    }
}

/// A commit that left the history is searched in commits that claim nothing. None of them can be a fault.
#[test]
fn a_commit_that_left_the_history_is_found_where_its_change_is() {
    let cases: [(&str, &[Change], Option<MoveKind>); 6] = [
        ("the same files", &[("f", "o1", "o2")], Some(MoveKind::Reworded)),
        (
            "with another file",
            &[("f", "o1", "o2"), ("g", "", "g1")],
            Some(MoveKind::Squashed),
        ),
        (
            "on another base",
            &[("f", "p", "o2"), ("g", "", "g1")],
            Some(MoveKind::Squashed),
        ),
        ("with a later run", &[("f", "o1", "o3")], Some(MoveKind::Squashed)),
        ("changed further", &[("f", "o1", "o9")], None),
        ("taken back", &[("f", "o2", "o1")], None),
    ];
    for (name, made, how) in cases {
        for is_stored in [true, false] {
            let tape = Tape::new();
            let pin = add_landed(&tape, "c1", "base", &[("f", "o1", "o2")]);
            add_landed(&tape, "c2", "c1", &[("f", "o2", "o3")]);
            let mut bare = commit("new", "t9", "");
            bare.trailers.clear();
            let mut base = bare.clone();
            base.id = "base".to_owned();
            let stored = if is_stored {
                vec![commit("c1", "t1", &pin), base]
            } else {
                vec![base]
            };
            let history = Commits {
                stored,
                reachable: vec![bare],
                changes: BTreeMap::from([(
                    "new",
                    made.iter()
                        .map(|(path, old, new)| change(path, old, new))
                        .collect(),
                )]),
                ..Commits::default()
            };
            let report = tape
                .store
                .verify(&VerifyChecks {
                    history: Some(&history),
                    ..VerifyChecks::default()
                })
                .unwrap();
            assert!(report.ok, "{name}: {report:?}");
            let moved = report.moved.iter().find(|moved| moved.commit == "c1");
            // What is not in the repository cannot be compared.
            let how = how.map(|how| {
                if is_stored || how == MoveKind::Squashed {
                    how
                } else {
                    MoveKind::Rebased
                }
            });
            assert_eq!(moved.map(|moved| moved.how), how, "{name}: {report:?}");
            assert_eq!(
                moved.is_some_and(|moved| moved.differs.is_some()),
                is_stored && how.is_some(),
                "{name}"
            );
        }
    }
}
