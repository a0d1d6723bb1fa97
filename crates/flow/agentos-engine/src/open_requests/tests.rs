//! When a request is open, and what an answer to it does.

use agentos_evidence::RecordKind;
use agentos_policy::ApprovalHashes;
use agentos_tool::Timestamp;
use serde_json::{Value, json};

use super::states::{ConsentEntry, RequestContext, RequestStep, StepKind, follow_steps};
use super::*;
use crate::OutcomeKind;
use crate::ports::{Clock as _, Durability, Evidence as _, TargetInfo};
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
        is_unplaced: false,
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
        void: None,
    };
    RequestStep {
        run: run.to_owned(),
        at: "then".to_owned(),
        kind: StepKind::Consent(Box::new(answer), RequestContext::default()),
    }
}

/// A run that found that the change of `r1` no longer lands.
fn voids() -> RequestStep {
    let mut found = step("r3", None, Some("r1"), false, false);
    if let StepKind::Consent(entry, _) = &mut found.kind {
        entry.void = Some("no longer lands".to_owned());
    }
    found
}

/// A run that came too late for `r1`.
fn expires() -> RequestStep {
    let mut found = step("r4", None, Some("r1"), false, false);
    if let StepKind::Consent(entry, _) = &mut found.kind {
        entry.void = Some("expired".to_owned());
    }
    found
}

#[test]
fn a_request_is_open_until_it_expires_is_denied_is_void_or_lands() {
    use RequestState::{Approved, Denied, Expired, Open, Void};
    let landed = || RequestStep {
        run: "r2".to_owned(),
        at: "then".to_owned(),
        kind: StepKind::Landed,
    };
    let answer = |given, by_person| step("r2", None, Some("r1"), given, by_person);
    let cases = [
        ("asked", vec![asked("r1", 100)], Open),
        ("expired", vec![asked("r1", 50)], Expired),
        ("denied", vec![asked("r1", 100), answer(false, true)], Denied),
        ("looked at", vec![asked("r1", 100), answer(false, false)], Open),
        (
            "yes, and it did not land",
            vec![asked("r1", 100), answer(true, true)],
            Open,
        ),
        (
            "yes, and landed",
            vec![asked("r1", 100), answer(true, true), landed()],
            Approved,
        ),
        ("another landed", vec![asked("r1", 100), landed()], Open),
        ("void", vec![asked("r1", 100), voids()], Void),
        (
            "too late, on the tape",
            vec![asked("r1", 100), expires()],
            Expired,
        ),
        (
            "too late, after a yes in time",
            vec![asked("r1", 100), answer(true, true), expires(), landed()],
            Approved,
        ),
        (
            "a yes in time, and then too late",
            vec![asked("r1", 100), answer(true, true), landed(), expires()],
            Approved,
        ),
        (
            "denied, and landed all the same",
            vec![
                asked("r1", 100),
                answer(false, true),
                answer(true, true),
                landed(),
            ],
            Approved,
        ),
        (
            "landed, and then denied and void",
            vec![
                asked("r1", 100),
                answer(true, true),
                landed(),
                answer(false, true),
                voids(),
            ],
            Approved,
        ),
        (
            "expired on the tape, and then denied",
            vec![asked("r1", 100), expires(), answer(false, true)],
            Denied,
        ),
        (
            "denied, and then void",
            vec![asked("r1", 100), answer(false, true), voids()],
            Denied,
        ),
        (
            "yes, did not land, and is void",
            vec![asked("r1", 100), answer(true, true), voids()],
            Void,
        ),
    ];
    for (what, steps, state) in cases {
        let found = follow_steps(steps, &Timestamp::from_unix_seconds(50));
        let states: Vec<_> = found
            .iter()
            .map(|request| (request.state, request.open, request.void.is_some()))
            .collect();
        let has_reason = state == Void || what == "too late, on the tape";
        assert_eq!(states, [(state, state == Open, has_reason)], "{what}");
    }
}

/// A change of a workflow that nobody could be asked about, in the run `asks`.
fn workflow_asked(repo: &TestRepository) -> TestTape {
    let tape = TestTape::default();
    let outcome = land_answer(repo, &mut tape.begin_run("asks"), "asks", WORKFLOW);
    assert_eq!(outcome.outcome, OutcomeKind::ConsentNeeded, "{}", outcome.message);
    tape
}

/// Answers the request of the run `asks`.
fn answer_request(
    repo: &TestRepository,
    tape: &TestTape,
    name: &str,
    consent: ApprovalConsent,
) -> Result<crate::Outcome, EffectError> {
    answer_revised(repo, tape, name, consent, None)
}

fn answer_revised(
    repo: &TestRepository,
    tape: &TestTape,
    name: &str,
    consent: ApprovalConsent,
    revision: Option<RevisedDiff>,
) -> Result<crate::Outcome, EffectError> {
    let order = ApprovalOrder {
        request: "asks",
        consent,
        revision,
    };
    run_with_effects(
        repo,
        &mut tape.begin_run(name),
        name,
        async |effects, run, cancel| approve_request(effects, &tape.reader(), run, &order, cancel).await,
    )
}

fn named() -> ApprovalConsent {
    ApprovalConsent::Named {
        who: "dana".to_owned(),
        releases_withheld: false,
    }
}

/// Returns the state of the only request, and the bodies of consent records that answer it.
fn state_of(tape: &TestTape) -> (RequestState, Vec<Value>) {
    let now = NoonClock::default().now();
    let state = list_all(&tape.reader(), &now).unwrap().remove(0).state;
    let records = tape.reader();
    let records = records.records().unwrap().map(Result::unwrap);
    let answers = records.filter(|record| record.body.get("answers").is_some_and(Value::is_string));
    (state, answers.map(|record| record.body).collect())
}

#[test]
fn an_approval_lands_the_change_that_was_asked_for_and_closes_the_request() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = workflow_asked(&repo);
    for (consent, name, expected, left) in [
        (
            ApprovalConsent::Asked,
            "looks",
            OutcomeKind::ConsentNeeded,
            RequestState::Open,
        ),
        (named(), "approves", OutcomeKind::Landed, RequestState::Approved),
    ] {
        let outcome = answer_request(&repo, &tape, name, consent).unwrap();
        assert_eq!(outcome.outcome, expected, "{}", outcome.message);
        assert_eq!(state_of(&tape).0, left, "{name}");
    }
    assert_eq!(
        repo.text(".github/workflows/ci.yml").as_deref(),
        Some("on: push\n")
    );
    assert_eq!(repo.aims(), [LandingPlace::CheckedOut, LandingPlace::CheckedOut]);
    // Nothing differs from the request, so the records say nothing about a difference.
    for answer in state_of(&tape).1 {
        assert_eq!(answer.get("drift"), None, "{answer}");
        assert_eq!(answer.get("request"), Some(&Value::Null), "{answer}");
    }
}

/// A workflow of twelve lines. Line 9 is about to change.
fn twelve_lines(first: &str) -> String {
    let lines = (2..=12).map(|number| format!("l{number}\n")).collect::<String>();
    format!("{first}\n{lines}")
}

const NINTH: &str = "--- a/.github/workflows/ci.yml\n+++ b/.github/workflows/ci.yml\n@@ -6,7 +6,7 @@\n l6\n l7\n l8\n-l9\n+L9\n l10\n l11\n l12\n";

/// A change of line 9 of a workflow that nobody could be asked about.
fn ninth_line_asked() -> (TestRepository, TestTape) {
    let repo = TestRepository::with_files(&[(".github/workflows/ci.yml", &twelve_lines("l1"))]);
    let tape = TestTape::default();
    let outcome = land_answer(&repo, &mut tape.begin_run("asks"), "asks", NINTH);
    assert_eq!(outcome.outcome, OutcomeKind::ConsentNeeded, "{}", outcome.message);
    (repo, tape)
}

#[test]
fn after_the_base_moved_a_name_counts_for_the_same_lines_and_rules_only() {
    const FILE: &str = ".github/workflows/ci.yml";
    let elsewhere = ("b.txt", "x\n".to_owned());
    let above = (FILE, twelve_lines("new\nl1"));
    let context = (FILE, twelve_lines("l1").replace("l10", "other"));
    let gone = (FILE, twelve_lines("l1").replace("l9\n", "nine\n"));
    let there = (FILE, twelve_lines("l1").replace("l9\n", "L9\n"));
    let cases = [
        (
            &elsewhere,
            OutcomeKind::Landed,
            "identical",
            RequestState::Approved,
        ),
        (
            &above,
            OutcomeKind::Landed,
            "line-numbers",
            RequestState::Approved,
        ),
        (&context, OutcomeKind::Refused, "", RequestState::Void),
        (&gone, OutcomeKind::Refused, "", RequestState::Void),
        (&there, OutcomeKind::NothingToDo, "", RequestState::Void),
    ];
    for ((path, text), expected, change, state) in cases {
        let (repo, tape) = ninth_line_asked();
        repo.commit_files(&[(path, text)]);
        let outcome = answer_request(&repo, &tape, "approves", named()).unwrap();
        assert_eq!(outcome.outcome, expected, "{text}: {}", outcome.message);
        let (found, answers) = state_of(&tape);
        assert_eq!(found, state, "{text}");
        let [answer] = answers.as_slice() else {
            panic!("{answers:?}")
        };
        if state == RequestState::Void {
            assert!(
                answer["void"].is_string() && !answer["given"].as_bool().unwrap(),
                "{answer}"
            );
            let again = answer_request(&repo, &tape, "again", named()).unwrap_err();
            assert_eq!(again.code, "consent-void");
            continue;
        }
        // The record has the hashes of the request, and the consent those of the state that landed.
        assert_eq!(answer["drift"]["change"], change, "{answer}");
        assert_eq!(answer["drift"]["commits"], 1, "{answer}");
        assert_eq!(answer["drift"]["rules"], "same", "{answer}");
        assert_eq!(answer["consent"]["hashes"], answer["hashes"], "{answer}");
        assert_ne!(
            answer["drift"]["request"]["base_commit"],
            answer["hashes"]["base_commit"]
        );
    }
}

#[test]
fn a_consent_that_was_seen_counts_for_exactly_that_state() {
    let (repo, tape) = ninth_line_asked();
    let request = list_all(&tape.reader(), &NoonClock::default().now())
        .unwrap()
        .remove(0)
        .request;
    let seen = ApprovalConsent::Seen(Box::new(Consent {
        who: "dana".to_owned(),
        when: NoonClock::default().now(),
        how: "terminal".to_owned(),
        hashes: request.hashes,
        proof: None,
        releases_withheld: false,
    }));
    // Somebody commits between the look and the answer.
    repo.commit_files(&[("b.txt", "x\n")]);
    let outcome = answer_request(&repo, &tape, "late", seen.clone()).unwrap();
    assert_eq!(
        outcome.code.as_deref(),
        Some("consent-void"),
        "{}",
        outcome.message
    );
    assert!(
        outcome
            .message
            .contains("the base moved by 1 commit; the change is the same"),
        "{}",
        outcome.message
    );
    assert_eq!(state_of(&tape).0, RequestState::Open);
}

#[test]
fn what_a_person_made_of_a_change_needs_a_look_of_its_own() {
    for (revision, word) in [(DiffRevision::Chosen, "chosen"), (DiffRevision::Edited, "edited")] {
        let (repo, tape) = ninth_line_asked();
        let revised = |text: &str| {
            Some(RevisedDiff {
                revision,
                text: text.as_bytes().to_vec(),
            })
        };
        let other = NINTH.replace("+L9", "+NINE");
        let outcome = answer_revised(&repo, &tape, "names", named(), revised(&other)).unwrap();
        assert_eq!(
            outcome.code.as_deref(),
            Some("consent-void"),
            "{}",
            outcome.message
        );
        let (state, answers) = state_of(&tape);
        assert_eq!(
            (state, &answers[0]["drift"]["change"]),
            (RequestState::Open, &Value::from(word))
        );
        // A text that does not land says nothing about the request.
        let refused = answer_revised(&repo, &tape, "breaks", named(), revised("no diff")).unwrap();
        assert_eq!(refused.outcome, OutcomeKind::Refused, "{}", refused.message);
        assert_eq!(state_of(&tape).0, RequestState::Open);
        let seen = ApprovalConsent::Seen(Box::new(Consent {
            who: "dana".to_owned(),
            when: NoonClock::default().now(),
            how: "terminal".to_owned(),
            hashes: serde_json::from_value(answers[0]["hashes"].clone()).unwrap(),
            proof: None,
            releases_withheld: false,
        }));
        let landed = answer_revised(&repo, &tape, "lands", seen, revised(&other)).unwrap();
        assert_eq!(landed.outcome, OutcomeKind::Landed, "{}", landed.message);
        assert_eq!(state_of(&tape).0, RequestState::Approved);
        assert!(repo.text(".github/workflows/ci.yml").unwrap().contains("NINE"));
    }
}

#[test]
fn a_landing_that_recovery_finished_closes_its_request() {
    let cases = [
        (json!({ "what": "torn-line" }), RequestState::Open),
        (
            json!({ "run": "yes", "outcome": "rolled-back", "kept": [] }),
            RequestState::Open,
        ),
        (
            json!({ "run": "other", "outcome": "finished", "kept": [] }),
            RequestState::Open,
        ),
        (
            json!({ "run": "yes", "outcome": "finished", "kept": [] }),
            RequestState::Approved,
        ),
    ];
    for (recovered, state) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        let tape = workflow_asked(&repo);
        let yes = json!({ "given": true, "answers": "asks", "consent": {}, "request": null });
        let add = |run: &str, kind, body| {
            tape.begin_run(run).record(kind, body, Durability::Now).unwrap();
        };
        add("yes", RecordKind::Consent, yes);
        add("finds", RecordKind::Recovered, recovered.clone());
        let all = list_all(&tape.reader(), &NoonClock::default().now()).unwrap();
        assert_eq!(
            all.first().map(|request| request.state),
            Some(state),
            "{recovered}"
        );
    }
}

#[test]
fn a_request_that_was_answered_or_never_made_cannot_be_answered() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = workflow_asked(&repo);
    let no = run_with_effects(
        &repo,
        &mut tape.begin_run("denies"),
        "denies",
        async |effects, _, _| deny_request(effects, (&tape.reader(), &repo), "asks", "dana", None),
    );
    assert_eq!(no.unwrap().who, "dana");
    let late = Timestamp::from_unix_seconds(u64::from(u32::MAX));
    let now = NoonClock::default().now();
    let cases = [
        ("asks", &now, "consent-answered", "was answered already"),
        // What was declined is not offered again after its time.
        ("asks", &late, "consent-answered", "was answered already"),
        ("denies", &now, "usage", "has no request for consent"),
        ("nobody", &now, "usage", "there is no run `nobody`"),
    ];
    for (run, when, code, words) in cases {
        let error = read_open(&tape.reader(), run, when).unwrap_err();
        assert_eq!(error.code, code, "{run}");
        assert!(error.message.contains(words), "{}", error.message);
    }
}
