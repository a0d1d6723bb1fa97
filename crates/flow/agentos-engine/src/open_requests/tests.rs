//! When a request is open, and what an answer to it does.

use agentos_policy::ApprovalHashes;
use serde_json::Value;

use super::*;
use crate::OutcomeKind;
use crate::ports::{Clock as _, TargetInfo};
use crate::settle::patch_facts;
use crate::test_ports::{NoonClock, TestRepository, TestTape};
use crate::test_runs::{WORKFLOW, land_answer, run_with_effects};

fn asked(run: &str, expires: u64) -> RequestStep {
    let request = ConsentRequest {
        hashes: ApprovalHashes {
            diff_sha256: "d".to_owned(),
            base_commit: "b".to_owned(),
            policy_sha256: "p".to_owned(),
            target_ref: "refs/heads/main".to_owned(),
            writes: "commit-only".to_owned(),
        },
        target: TargetInfo {
            refname: "refs/heads/main".to_owned(),
            base_commit: "b".to_owned(),
            base_tree: "t".to_owned(),
            creates_branch: false,
            writes: Writes::CommitOnly,
        },
        diff_blob_sha256: "x".to_owned(),
        tool: patch_facts(Timestamp::from_unix_seconds(0)),
        reported_model: None,
        message: "m".to_owned(),
        trailers: Vec::new(),
        author: None,
        expires: Timestamp::from_unix_seconds(expires),
    };
    step(run, Some(request), None, false, false)
}

fn step(
    run: &str,
    request: Option<ConsentRequest>,
    answers: Option<&str>,
    given: bool,
    by_person: bool,
) -> RequestStep {
    let answer = ConsentEntry {
        request,
        answers: answers.map(str::to_owned),
        given,
        consent: by_person.then_some(Value::Null),
    };
    RequestStep {
        run: run.to_owned(),
        at: "then".to_owned(),
        kind: StepKind::Consent(Box::new(answer)),
    }
}

#[test]
fn a_request_is_open_until_it_expires_is_denied_or_lands() {
    let landed = || RequestStep {
        run: "r2".to_owned(),
        at: "then".to_owned(),
        kind: StepKind::Landed,
    };
    let cases = [
        ("asked", vec![asked("r1", 100)], true),
        ("expired", vec![asked("r1", 50)], false),
        (
            "denied",
            vec![asked("r1", 100), step("r2", None, Some("r1"), false, true)],
            false,
        ),
        (
            "looked at",
            vec![asked("r1", 100), step("r2", None, Some("r1"), false, false)],
            true,
        ),
        (
            "yes, and it did not land",
            vec![asked("r1", 100), step("r2", None, Some("r1"), true, true)],
            true,
        ),
        (
            "yes, and landed",
            vec![
                asked("r1", 100),
                step("r2", None, Some("r1"), true, true),
                landed(),
            ],
            false,
        ),
        ("another landed", vec![asked("r1", 100), landed()], true),
    ];
    for (what, steps, open) in cases {
        let found = follow_steps(steps, &Timestamp::from_unix_seconds(50));
        assert_eq!(
            found.iter().map(|request| request.open).collect::<Vec<_>>(),
            [open],
            "{what}"
        );
    }
}

/// A change of a workflow that nobody could be asked about, in the run `asks`.
fn workflow_asked(repo: &TestRepository) -> TestTape {
    let tape = TestTape::default();
    let outcome = land_answer(repo, &mut tape.begin_run("asks"), "asks", WORKFLOW);
    assert_eq!(outcome.outcome, OutcomeKind::ConsentNeeded, "{}", outcome.message);
    tape
}

#[test]
fn an_approval_lands_the_change_that_was_asked_for_and_closes_the_request() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = workflow_asked(&repo);
    let now = NoonClock::default().now();
    let open = |tape: &TestTape| list_open(&tape.reader(), &now).unwrap().len();
    assert_eq!(open(&tape), 1);
    for (approver, expected, left) in [
        (None, OutcomeKind::ConsentNeeded, 1),
        (Some("dana"), OutcomeKind::Landed, 0),
    ] {
        let name = if approver.is_some() { "approves" } else { "looks" };
        let outcome = run_with_effects(
            &repo,
            &mut tape.begin_run(name),
            name,
            async |effects, run, cancel| {
                approve_request(effects, &tape.reader(), run, "asks", approver, cancel).await
            },
        );
        let outcome = outcome.unwrap();
        assert_eq!(outcome.outcome, expected, "{}", outcome.message);
        assert_eq!(open(&tape), left, "{name}");
    }
    assert_eq!(
        repo.text(".github/workflows/ci.yml").as_deref(),
        Some("on: push\n")
    );
    assert_eq!(repo.aims(), [LandingPlace::CheckedOut, LandingPlace::CheckedOut]);
}

#[test]
fn a_request_that_was_answered_or_never_made_cannot_be_answered() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = workflow_asked(&repo);
    let no = run_with_effects(
        &repo,
        &mut tape.begin_run("denies"),
        "denies",
        async |effects, _, _| deny_request(effects, &tape.reader(), "asks", "dana"),
    );
    assert_eq!(no.unwrap().who, "dana");
    let late = Timestamp::from_unix_seconds(u64::from(u32::MAX));
    let now = NoonClock::default().now();
    let cases = [
        ("asks", &now, "consent-answered", "was answered already"),
        ("asks", &late, "consent-expired", "has expired"),
        ("denies", &now, "usage", "has no request for consent"),
        ("nobody", &now, "usage", "there is no run `nobody`"),
    ];
    for (run, when, code, words) in cases {
        let error = read_open(&tape.reader(), run, when).unwrap_err();
        assert_eq!(error.code, code, "{run}");
        assert!(error.message.contains(words), "{}", error.message);
    }
}
