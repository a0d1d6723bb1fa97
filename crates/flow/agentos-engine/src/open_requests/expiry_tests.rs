//! What happens when the time of a request is over.

use std::cell::Cell;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::OutcomeKind;
use crate::ports::{Clock, IsOver};
use crate::test_ports::{NoonClock, TestRepository, TestTape};
use crate::test_runs::{WORKFLOW, land_answer, run_with_effects};

/// Seconds of a week.
const WEEK: u64 = 7 * 24 * 3600;
/// The time at which the clock of the other tests stands still.
const NOON: u64 = 43_200;

/// A clock that is set.
struct SetClock(Cell<u64>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_seconds(self.0.get())
    }

    fn start_timer(&self, limit: Duration) -> IsOver {
        NoonClock::default().start_timer(limit)
    }
}

/// A person who says yes, after so many seconds.
struct SlowPerson<'a> {
    clock: &'a SetClock,
    seconds: u64,
}

impl ConsentPort for SlowPerson<'_> {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        self.clock.0.set(self.clock.0.get() + self.seconds);
        let yes = Consent {
            who: "dana".to_owned(),
            when: self.clock.now(),
            how: "test".to_owned(),
            hashes: question.hashes.clone(),
            proof: None,
            releases_withheld: false,
        };
        Box::pin(std::future::ready(Answer::Yes(yes)))
    }
}

/// A change that nobody could be asked about, in the run `asks`.
fn asked(repo: &TestRepository) -> TestTape {
    let tape = TestTape::default();
    let outcome = land_answer(repo, &mut tape.begin_run("asks"), "asks", WORKFLOW);
    assert_eq!(outcome.outcome, OutcomeKind::ConsentNeeded, "{}", outcome.message);
    tape
}

/// Answers the request of the run `asks` with a person who thinks for so many seconds, from this time on.
fn answer(
    repo: &TestRepository,
    tape: &TestTape,
    run: &str,
    (from, seconds): (u64, u64),
) -> Result<Outcome, EffectError> {
    let clock = SetClock(Cell::new(from));
    let mut person = SlowPerson {
        clock: &clock,
        seconds,
    };
    let order = ApprovalOrder {
        request: "asks",
        consent: ApprovalConsent::Asked,
        revision: None,
    };
    run_with_effects(
        repo,
        &mut tape.begin_run(run),
        run,
        async |effects, run, cancel| {
            let mut effects = RunEffects {
                repo: effects.repo,
                evidence: &mut *effects.evidence,
                consent: &mut person,
                clock: &clock,
                hooks: None,
                requests: None,
            };
            let done = approve_request(&mut effects, &tape.reader(), run, &order, cancel).await;
            match done {
                // As the host does.
                Err(error) if error.code == "consent-expired" => {
                    close_expired(&mut effects, &tape.reader(), "asks")?;
                    Err(error)
                }
                other => other,
            }
        },
    )
}

/// Returns the state of the request at a time, and how many records say that its time is over.
fn state_at(tape: &TestTape, now: u64) -> (RequestState, usize) {
    let now = Timestamp::from_unix_seconds(now);
    let state = list_all(&tape.reader(), &now).unwrap().remove(0).state;
    let reader = tape.reader();
    let records = reader.records().unwrap().map(Result::unwrap);
    let over = records.filter(|record| record.body.get("void") == Some(&Value::from("expired")));
    (state, over.count())
}

#[test]
fn an_answer_counts_by_the_time_at_which_it_is_given() {
    let end = NOON + WEEK;
    // Begin, thinking, code of the refusal, state afterwards, records.
    let cases = [
        (end - 2, 1, None, RequestState::Approved, 0),
        (end - 1, 1, Some("consent-expired"), RequestState::Expired, 1),
        (end, 0, Some("consent-expired"), RequestState::Expired, 1),
    ];
    for (from, seconds, code, state, records) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        let tape = asked(&repo);
        let done = answer(&repo, &tape, "approves", (from, seconds));
        let found = match &done {
            Ok(outcome) => outcome.code.clone(),
            Err(error) => Some(error.code.clone()),
        };
        assert_eq!(found.as_deref(), code, "{from}+{seconds}");
        assert_eq!(state_at(&tape, end + 9), (state, records), "{from}+{seconds}");
        assert_eq!(repo.text(".github/workflows/ci.yml").is_some(), code.is_none());
    }
}

#[test]
fn a_clock_that_is_set_back_opens_nothing_again() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = asked(&repo);
    let late = answer(&repo, &tape, "late", (NOON + WEEK, 0)).unwrap_err();
    assert_eq!(late.code, "consent-expired");
    // The second one too late adds nothing.
    for (run, from) in [("later", NOON + WEEK), ("back", NOON)] {
        let error = answer(&repo, &tape, run, (from, 0)).unwrap_err();
        assert_eq!(error.code, "consent-expired", "{run}: {}", error.message);
        assert_eq!(state_at(&tape, from), (RequestState::Expired, 1), "{run}");
    }
    assert!(repo.text(".github/workflows/ci.yml").is_none());
}
