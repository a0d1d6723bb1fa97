//! Answers that come while another person still thinks about the same request.

use agentos_evidence::RecordKind;

use super::*;
use crate::OutcomeKind;
use crate::ports::{Clock, Evidence};
use crate::test_ports::{NoonClock, TestRepository, TestTape};
use crate::test_runs::Nobody;
use crate::test_runs::{WORKFLOW, land_answer, run_with_effects};

/// File that the requested change makes.
const WORKFLOW_FILE: &str = ".github/workflows/ci.yml";

/// What somebody else does with the request of the run `asks`.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Denies,
    Withdraws,
    Nothing,
}

/// A person who says yes, after somebody else has answered.
struct LatePerson<'a> {
    repo: &'a TestRepository,
    tape: &'a TestTape,
    meanwhile: Meanwhile,
}

impl LatePerson<'_> {
    fn answer_first(&self) {
        let (mut other, clock) = (self.tape.begin_run("other"), NoonClock::default());
        let mut effects = RunEffects {
            repo: self.repo,
            evidence: &mut other as &mut dyn Evidence,
            consent: &mut Nobody,
            clock: &clock,
            hooks: None,
            requests: None,
        };
        let reader = self.tape.reader();
        match self.meanwhile {
            Meanwhile::Denies => {
                drop(deny_request(&mut effects, (&reader, self.repo), "asks", "erin", Some("no")).unwrap())
            }
            Meanwhile::Withdraws => {
                let provider = read_open(&reader, "asks", &clock.now())
                    .unwrap()
                    .0
                    .request
                    .tool
                    .provider;
                withdraw_request(&mut effects, (&reader, self.repo), "asks", &provider).unwrap();
            }
            Meanwhile::Nothing => {}
        }
    }
}

impl ConsentPort for LatePerson<'_> {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        self.answer_first();
        let yes = Consent {
            who: "dana".to_owned(),
            when: NoonClock::default().now(),
            how: "test".to_owned(),
            hashes: question.hashes.clone(),
            proof: None,
            releases_withheld: false,
        };
        Box::pin(std::future::ready(Answer::Yes(yes)))
    }
}

#[test]
fn a_yes_lands_nothing_after_another_answer() {
    let cases = [
        (
            Meanwhile::Nothing,
            Ok(OutcomeKind::Landed),
            RequestState::Approved,
        ),
        (Meanwhile::Denies, Err("consent-answered"), RequestState::Denied),
        (Meanwhile::Withdraws, Err("consent-void"), RequestState::Void),
    ];
    for (meanwhile, end, state) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        let tape = TestTape::default();
        land_answer(&repo, &mut tape.begin_run("asks"), "asks", WORKFLOW);
        let mut person = LatePerson {
            repo: &repo,
            tape: &tape,
            meanwhile,
        };
        let order = ApprovalOrder {
            request: "asks",
            consent: ApprovalConsent::Asked,
            revision: None,
        };
        let mut late = tape.begin_run("late");
        let outcome = run_with_effects(&repo, &mut late, "late", async |effects, run, cancel| {
            let mut effects = RunEffects {
                repo: effects.repo,
                evidence: &mut *effects.evidence,
                consent: &mut person,
                clock: effects.clock,
                hooks: None,
                requests: None,
            };
            approve_request(&mut effects, &tape.reader(), run, &order, cancel).await
        });
        let outcome = outcome.unwrap();
        match end {
            Ok(kind) => assert_eq!(outcome.outcome, kind, "{meanwhile:?}: {}", outcome.message),
            Err(code) => assert_eq!(
                (outcome.code.as_deref(), outcome.written),
                (Some(code), false),
                "{meanwhile:?}: {}",
                outcome.message
            ),
        }
        let lands = end.is_ok();
        assert_eq!(repo.text(WORKFLOW_FILE).is_some(), lands, "{meanwhile:?}");
        let all = list_all(&tape.reader(), &NoonClock::default().now()).unwrap();
        assert_eq!(
            all.first().map(|request| request.state),
            Some(state),
            "{meanwhile:?}"
        );
    }
}

#[test]
fn a_landing_without_a_receipt_is_not_declined() {
    // What was recorded before the disk was full, whether the change is in the branch, and the state after a denial.
    let cases = [
        (Some(RecordKind::Receipt), true, RequestState::Approved),
        (Some(RecordKind::Intent), false, RequestState::Denied),
    ];
    for (fails_on, is_landed, state) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        let tape = TestTape::default();
        land_answer(&repo, &mut tape.begin_run("asks"), "asks", WORKFLOW);
        let order = ApprovalOrder {
            request: "asks",
            consent: ApprovalConsent::Named {
                who: "dana".to_owned(),
                releases_withheld: false,
            },
            revision: None,
        };
        let mut yes = TestTape {
            fails_on,
            ..tape.begin_run("yes")
        };
        let approved = run_with_effects(&repo, &mut yes, "yes", async |effects, run, cancel| {
            approve_request(effects, &tape.reader(), run, &order, cancel).await
        });
        assert_eq!(approved.unwrap().written, is_landed, "{fails_on:?}");
        let mut no = tape.begin_run("no");
        let denied = run_with_effects(&repo, &mut no, "no", async |effects, _, _| {
            deny_request(effects, (&tape.reader(), &repo), "asks", "erin", None)
        });
        let code = denied.err().map(|error| error.code);
        assert_eq!(
            code.as_deref(),
            is_landed.then_some("consent-answered"),
            "{fails_on:?}"
        );
        assert_eq!(repo.text(WORKFLOW_FILE).is_some(), is_landed);
        let all = list_all(&tape.reader(), &NoonClock::default().now()).unwrap();
        assert_eq!(
            all.first().map(|request| request.state),
            Some(state),
            "{fails_on:?}"
        );
    }
}
