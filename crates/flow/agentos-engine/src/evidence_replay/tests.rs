//! How runs come out when they are derived again.

use std::cell::Cell;

use serde_json::json;

use super::*;
use crate::settle::{self, patch_facts};
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{land_answer, landed_once, run_with_effects};

fn replay(repo: &TestRepository, tape: &TestTape) -> ReplayReport {
    replay_runs(&tape.reader(), repo, None, &|| {}).unwrap()
}

#[test]
fn a_run_comes_out_as_recorded_wherever_the_branch_stands_now() {
    let (repo, tape) = landed_once();
    repo.commit_files(&[("a.txt", "three\n")]);
    let report = replay(&repo, &tape);
    let [run] = report.runs.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!(run.status, ReplayStatus::Identical, "{run:?}");
    assert_eq!(run.stations, ["landing", "decision", "tree"]);
}

#[test]
fn a_record_that_says_otherwise_is_a_difference() {
    let cases = [
        (RecordKind::Landing, "/diff_sha256", "landing"),
        (RecordKind::Landing, "/report/partial", "landing"),
        (RecordKind::Decision, "/decision/policy_sha256", "decision"),
        (RecordKind::Decision, "/decision/effect", "decision"),
        (RecordKind::Receipt, "/tree", "tree"),
    ];
    for (kind, pointer, station) in cases {
        let (repo, tape) = landed_once();
        let found = Cell::new(false);
        tape.rewrite(|record| {
            if record.kind == kind
                && let Some(value) = record.body.pointer_mut(pointer)
            {
                *value = json!("forged");
                found.set(true);
            }
        });
        assert!(found.get(), "{pointer}");
        let report = replay(&repo, &tape);
        let differences = &report.runs.first().unwrap().differences;
        assert_eq!((report.identical, report.different), (0, 1), "{pointer}");
        let stations: Vec<&str> = differences.iter().map(|other| other.station.as_str()).collect();
        assert_eq!(stations, [station], "{pointer}: {differences:?}");
    }
}

#[test]
fn what_cannot_be_derived_again_says_why() {
    let (repo, tape) = landed_once();
    tape.delete_blobs();
    let report = replay(&repo, &tape);
    assert_eq!(report.unavailable, 1, "{report:?}");
    let reason = report.runs.first().unwrap().reason.as_deref();
    assert_eq!(reason, Some("answer: the reason"));

    let (repo, tape) = landed_once();
    tape.rewrite(|record| {
        if record.kind == RecordKind::Landing {
            record.body["base_commit"] = json!("f".repeat(40));
        }
    });
    let report = replay(&repo, &tape);
    let reason = report
        .runs
        .first()
        .and_then(|run| run.reason.clone())
        .unwrap_or_default();
    assert!(reason.contains("is not in the repository"), "{reason}");
}

#[test]
fn a_run_without_an_answer_has_nothing_to_replay() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = TestTape::default();
    run_with_effects(
        &repo,
        &mut tape.begin_run("begins"),
        "begins",
        async |effects, _, _| {
            let facts = patch_facts(Timestamp::from_unix_seconds(0));
            let begin = settle::RunBegin {
                verb: "run",
                tool: &facts,
                instruction: "x",
                message: None,
                author: None,
                trailers: &[],
                options: None,
                follows: None,
                source: None,
            };
            settle::begin_run(effects, begin).unwrap();
        },
    );
    let report = replay(&repo, &tape);
    assert_eq!(report.without_answer, 1);
    let reason = report.runs.first().unwrap().reason.as_deref();
    assert_eq!(reason, Some("no answer was recorded"));
}

#[test]
fn one_run_is_replayed_if_it_is_named() {
    let (repo, tape) = landed_once();
    land_answer(&repo, &mut tape.begin_run("refused"), "refused", "prose");
    let report = replay_runs(&tape.reader(), &repo, Some("refused"), &|| {}).unwrap();
    let runs: Vec<&str> = report.runs.iter().map(|run| run.run.as_str()).collect();
    assert_eq!(runs, ["refused"]);
    let error = replay_runs(&tape.reader(), &repo, Some("nobody"), &|| {}).unwrap_err();
    assert_eq!(error.message, "there is no run `nobody` on the tape");
}
