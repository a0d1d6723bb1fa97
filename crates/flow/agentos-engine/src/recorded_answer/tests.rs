//! Which recorded answers land again, and how.

use agentos_api::ReplayStatus;
use serde_json::json;

use super::*;
use crate::OutcomeKind;
use crate::evidence_replay::replay_runs;
use crate::open_requests::list_open;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, WORKFLOW, land_answer, landed_once, run_with_effects};

fn land_again(repo: &TestRepository, tape: &TestTape, run: &str, of: &str) -> Outcome {
    let found = read_answer(&tape.reader(), of).unwrap();
    run_with_effects(
        repo,
        &mut tape.begin_run(run),
        run,
        async |effects, run, cancel| {
            let order = RelandOrder {
                run,
                message: "again".to_owned(),
                partial: false,
            };
            land_recorded(effects, &found, order, cancel).await
        },
    )
}

#[test]
fn a_refused_answer_lands_once_the_base_fits_and_replays_to_the_same() {
    let repo = TestRepository::with_files(&[("a.txt", "zero\n")]);
    let tape = TestTape::default();
    let refused = land_answer(&repo, &mut tape.begin_run("refused"), "refused", DIFF);
    assert_eq!(refused.outcome, OutcomeKind::Refused);
    repo.commit_files(&[("a.txt", "one\n")]);
    let landed = land_again(&repo, &tape, "lands", "refused");
    assert_eq!(landed.outcome, OutcomeKind::Landed, "{}", landed.message);
    let found = read_answer(&tape.reader(), "lands").unwrap();
    assert_eq!(found.source.run, "refused", "the first run is named");
    assert_eq!(
        (found.message.as_deref(), found.instruction.as_str()),
        (Some("again"), "x")
    );
    let report = replay_runs(&tape.reader(), &repo, None, &|| {}).unwrap();
    assert!(
        report
            .runs
            .iter()
            .all(|run| run.status == ReplayStatus::Identical),
        "{report:?}"
    );
}

#[test]
fn landing_a_waiting_answer_closes_its_request_and_a_refusal_leaves_it_open() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = TestTape::default();
    land_answer(&repo, &mut tape.begin_run("asks"), "asks", WORKFLOW);
    let now = agentos_tool::Timestamp::from_unix_seconds(0);
    let open = || -> Vec<String> {
        let requests = list_open(&tape.reader(), &now).unwrap();
        requests.into_iter().map(|request| request.run).collect()
    };
    assert_eq!(open(), ["asks"]);
    let asked = land_again(&repo, &tape, "asks-again", "asks");
    assert_eq!(asked.outcome, OutcomeKind::ConsentNeeded);
    assert_eq!(open(), ["asks", "asks-again"]);
    // As if policy allowed it now: the receipt of a run that lands the same answer.
    let mut lands = tape.begin_run("asks-again");
    let body = json!({ "run": "asks-again", "writes": "nothing" });
    let record = |tape: &mut TestTape, body| {
        crate::records::record_now(tape, RecordKind::Receipt, &body).unwrap();
    };
    record(&mut lands, body);
    assert_eq!(open(), ["asks", "asks-again"], "a dry run closes nothing");
    record(
        &mut lands,
        json!({ "run": "asks-again", "writes": "commit-only" }),
    );
    assert_eq!(open(), ["asks-again"]);
}

#[test]
fn an_answer_that_is_not_complete_or_not_the_runs_own_is_refused() {
    let (_, tape) = landed_once();
    assert!(read_answer(&tape.reader(), "lands").is_ok());
    let code = |of: &str| {
        read_answer(&tape.reader(), of)
            .map(drop)
            .map_err(|error| error.code)
    };
    assert_eq!(code("nobody"), Err("usage".to_owned()));
    for verb in ["approve", "undo"] {
        let (_, tape) = landed_once();
        tape.rewrite(|record| {
            if record.kind == RecordKind::Task {
                record.body["verb"] = json!(verb);
            }
        });
        let error = read_answer(&tape.reader(), "lands").unwrap_err();
        assert_eq!(error.code, "usage", "{verb}");
    }
}

#[test]
fn only_a_finished_answer_of_a_tool_is_complete() {
    let cut = json!({ "finish": "length", "result": { "status": "failed", "diff_validation": { "code": "stale" } } });
    let done =
        json!({ "finish": "stop", "result": { "status": "failed", "diff_validation": { "code": null } } });
    // Tapes of earlier versions.
    let landed = json!({ "result": { "status": "partial_success", "diff_validation": { "code": null } } });
    let refused = json!({ "result": { "status": "failed", "diff_validation": { "code": "stale" } } });
    let unknown = json!({ "result": { "status": "failed", "diff_validation": { "code": null } } });
    for (called, expected) in [
        (cut, false),
        (done, true),
        (landed, true),
        (refused, true),
        (unknown, false),
    ] {
        assert_eq!(RunBodies(Vec::new()).is_finished(&called), expected, "{called}");
    }
}

#[test]
fn an_answer_passed_only_the_check_of_its_own_change() {
    let check = |attempt: u32, diff: Option<&str>, passed: bool| json!({ "attempt": attempt, "command": "make test", "diff_sha256": diff, "passed": passed });
    let base = |passed| check(1, None, passed);
    let own = |passed| check(1, Some("d"), passed);
    let mut hook = own(false);
    hook["hook"] = json!("pre-commit");
    // The records of checks, whether the run asked for one, and what the answer did not pass: whether the check failed.
    let cases = [
        ("none was asked for", vec![], false, None),
        ("stopped before it ended", vec![base(true)], true, Some(false)),
        ("stopped while the base was checked", vec![], true, Some(false)),
        ("passed", vec![base(true), own(true)], true, None),
        ("failed", vec![own(false)], true, Some(true)),
        (
            "failed, and the base is green",
            vec![own(false), base(true)],
            true,
            Some(true),
        ),
        (
            "failed, and so does the base",
            vec![own(false), base(false)],
            true,
            Some(true),
        ),
        (
            "failed once, then passed on a new base",
            vec![own(false), own(true)],
            true,
            None,
        ),
        (
            "another attempt passed",
            vec![check(2, Some("e"), true)],
            true,
            Some(false),
        ),
        ("a hook alone rejects", vec![own(true), hook], true, None),
    ];
    for (name, records, is_asked, expected) in cases {
        let tape = TestTape::default();
        let mut run = tape.begin_run("run");
        crate::records::record_now(&mut run, RecordKind::Task, &json!({})).unwrap();
        for body in &records {
            crate::records::record_now(&mut run, RecordKind::Check, body).unwrap();
        }
        let bodies = RunBodies::read(&tape.reader(), "run").unwrap();
        let found = bodies.unpassed_check(1, is_asked.then(|| "make test".to_owned()));
        assert_eq!(found.map(|check| check.has_failed), expected, "{name}");
    }
}
