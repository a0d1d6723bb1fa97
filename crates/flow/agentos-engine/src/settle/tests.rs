//! What the flow says when an effect fails at each station: never more, and never less, than what happened.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use agentos_evidence::RecordKind;
use agentos_landing::{Base, Change, MemoryBase};
use agentos_policy::Approved;
use agentos_tool::RunId;
use serde_json::json;

use super::{RunEffects, apply_answer};
use crate::ports::{
    AccountedRuns, ActivePolicy, CancelSignal, ConsentFuture, ConsentPort, ConsentQuestion, EffectError,
    LandOrder, Landed, LandingPlace, LandingRecords, Measured, PastCommit, Repository, TargetInfo, Writes,
};
use crate::test_ports::{EffectLog, NoonClock, TestTape, UnchangedState, built_in_policy, failed};
use crate::test_runs::Nobody;
use crate::test_runs::{DIFF, WORKFLOW, no_pause, propose};
use crate::{Cause, Outcome, OutcomeKind};

/// How the executor behaves.
enum Behaviour {
    Lands,
    /// Lands what brings nothing else to the disk, so that the receipt is recorded afterwards.
    LandsWithoutReceipt,
    Refuses,
    Unfinished,
}

struct Repo(Behaviour, EffectLog);

impl Repository for Repo {
    fn keep_withheld(&self, _taken: &[agentos_policy::TakenText]) -> Result<(), EffectError> {
        Ok(())
    }

    fn pause_landings(&self) -> Result<crate::ports::LandingPause, EffectError> {
        Ok(no_pause())
    }

    fn aim(&self, _place: &LandingPlace) -> Result<(), EffectError> {
        Ok(())
    }

    fn open_index(&self) -> Option<Box<dyn crate::ports::ContextIndex>> {
        None
    }

    fn list_changed_paths(&self, _target: &TargetInfo, _limit: usize) -> Vec<PastCommit> {
        Vec::new()
    }

    fn target(&self) -> Result<TargetInfo, EffectError> {
        Ok(TargetInfo {
            refname: "refs/heads/main".to_owned(),
            base_commit: "2".repeat(40),
            base_tree: "3".repeat(40),
            creates_branch: false,
            writes: Writes::CommitAndWorkTree,
        })
    }

    fn base(&self, _target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError> {
        let mut base = MemoryBase::default();
        base.put("a.txt", Arc::from(&b"one\n"[..]));
        Ok(Box::new(base))
    }

    fn policy(&self, _target: &TargetInfo) -> Result<Rc<ActivePolicy>, EffectError> {
        built_in_policy()
    }

    fn check_named(&self, _target: &TargetInfo, _paths: &[String]) -> Result<(), EffectError> {
        Ok(())
    }

    fn count_commits(&self, _old: &str, _new: &str) -> Option<u64> {
        Some(0)
    }

    fn measure(&self) -> Result<Box<dyn Measured>, EffectError> {
        Ok(Box::new(UnchangedState))
    }

    fn account_for(&self, _before: &dyn Measured) -> Result<Option<AccountedRuns>, EffectError> {
        Ok(None)
    }

    fn land(
        &self,
        _approved: Approved<Change>,
        _target: &TargetInfo,
        _order: &LandOrder,
        records: &mut dyn LandingRecords,
    ) -> Result<Landed, EffectError> {
        records.intent(json!({ "tree": "4" }))?;
        let wait_for_disk = |_: &Path| {
            self.1.borrow_mut().push("the executor syncs".to_owned());
            Ok(())
        };
        records.durable(&mut { wait_for_disk })?;
        self.1.borrow_mut().push("the executor moves the ref".to_owned());
        let landed = Landed {
            commit: Some("5".repeat(40)),
            tree: "4".repeat(40),
            kept: Vec::new(),
            recovered: None,
            receipt: json!({}),
        };
        match self.0 {
            Behaviour::Lands => {
                records.receipt(json!({}), None, &mut { wait_for_disk });
                Ok(landed)
            }
            Behaviour::LandsWithoutReceipt => Ok(landed),
            Behaviour::Refuses => Err(failed(Cause::Repository, "dirty-overlap")),
            Behaviour::Unfinished => Err(EffectError {
                written: true,
                ..failed(Cause::Repository, "unfinished")
            }),
        }
    }
}

/// A person who does not answer.
struct Silent;

impl ConsentPort for Silent {
    fn ask<'a>(&'a mut self, _question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        Box::pin(std::future::pending())
    }
}

/// A person who decides later about everything.
struct Later;

impl ConsentPort for Later {
    fn ask<'a>(&'a mut self, _question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        Box::pin(std::future::ready(crate::ports::Answer::Nobody))
    }

    fn asks_always(&self) -> bool {
        true
    }
}

#[test]
fn a_change_that_policy_allows_waits_if_a_person_decides_about_everything() {
    let never = || Box::pin(std::future::pending());
    let (outcome, tape) = asked(Behaviour::Lands, None, DIFF, &mut Later, never());
    insta::assert_snapshot!(
        format!("{:?} {:?} {:?}: {}", outcome.outcome, outcome.code, outcome.next, outcome.message),
        @r#"ConsentNeeded Some("consent-needed") [AnswerRequest { run: "run-1" }]: policy allows it, and it waits until a person lands it on `main`"#
    );
    use RecordKind::{Answer, Consent, Decision, Landing, Refusal, Task};
    assert_eq!(tape.kinds, [Task, Answer, Landing, Decision, Consent, Refusal]);
    // What policy denies is not asked about.
    let token = format!("ghp_{}", "Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5aZq7R");
    let answer = format!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+{token}\n");
    let (denied, tape) = asked(Behaviour::Lands, None, &answer, &mut Later, never());
    assert_eq!(denied.outcome, OutcomeKind::Denied, "{}", denied.message);
    assert!(!tape.kinds.contains(&Consent));
}

fn applied(behaviour: Behaviour, fails_on: Option<RecordKind>) -> (Outcome, Vec<RecordKind>) {
    let (outcome, tape) = apply_logged(behaviour, fails_on);
    (outcome, tape.kinds)
}

fn apply_logged(behaviour: Behaviour, fails_on: Option<RecordKind>) -> (Outcome, TestTape) {
    let never = Box::pin(std::future::pending());
    asked(behaviour, fails_on, DIFF, &mut Nobody, never)
}

/// Lands an answer, with somebody to ask and somebody who may stop it.
fn asked(
    behaviour: Behaviour,
    fails_on: Option<RecordKind>,
    answer: &str,
    consent: &mut dyn ConsentPort,
    mut cancel: CancelSignal<'_>,
) -> (Outcome, TestTape) {
    let run = RunId::parse("run-1").unwrap();
    let mut tape = TestTape {
        fails_on,
        ..TestTape::default()
    };
    let repo = Repo(behaviour, Rc::clone(&tape.log));
    let mut effects = RunEffects {
        repo: &repo,
        evidence: &mut tape,
        consent,
        clock: &NoonClock::default(),
        hooks: None,
        requests: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let outcome = runtime.block_on(apply_answer(
        &mut effects,
        "apply",
        "x",
        &propose(&run, answer),
        &mut cancel,
    ));
    (outcome, tape)
}

#[test]
fn a_run_that_is_stopped_at_its_question_leaves_the_request_open() {
    let stopped = Box::pin(std::future::ready(()));
    let (outcome, tape) = asked(Behaviour::Lands, None, WORKFLOW, &mut Silent, stopped);
    assert_eq!(
        (outcome.outcome, outcome.cause, outcome.code.as_deref()),
        (
            OutcomeKind::ConsentNeeded,
            Cause::Interrupted,
            Some("interrupted")
        ),
        "{}",
        outcome.message
    );
    use RecordKind::{Answer, Consent, Decision, Landing, Refusal, Task};
    assert_eq!(tape.kinds, [Task, Answer, Landing, Decision, Consent, Refusal]);
}

#[test]
fn a_landing_leaves_every_station_on_the_tape_in_order() {
    let (outcome, kinds) = applied(Behaviour::Lands, None);
    assert_eq!(
        (outcome.outcome, outcome.cause),
        (OutcomeKind::Landed, Cause::Done),
        "{}",
        outcome.message
    );
    use RecordKind::{Answer, Decision, Intent, Landing, Receipt, Task};
    assert_eq!(kinds, [Task, Answer, Landing, Decision, Intent, Receipt]);
}

#[test]
fn the_intent_is_durable_before_anything_is_visible_and_receipt_and_end_share_one_wait() {
    let (_, tape) = apply_logged(Behaviour::Lands, None);
    insta::assert_snapshot!(tape.log.borrow().join("\n"), @r"
    Task: WithNext
    Answer: WithNext
    Landing: WithNext
    Decision: WithNext
    Intent: AtSync
    make durable, the run Continues
    the executor syncs
    the executor moves the ref
    Receipt: AtSync
    make durable, the run Ends
    the executor syncs
    ");
    let (_, tape) = apply_logged(Behaviour::LandsWithoutReceipt, None);
    insta::assert_snapshot!(tape.log.borrow().join("\n"), @r"
    Task: WithNext
    Answer: WithNext
    Landing: WithNext
    Decision: WithNext
    Intent: AtSync
    make durable, the run Continues
    the executor syncs
    the executor moves the ref
    Receipt: AtSync
    make durable, the run Ends
    ");
}

#[test]
fn without_a_durable_record_nothing_goes_on() {
    use RecordKind::{Answer, Decision, Intent, Landing, Task};
    for kind in [Task, Answer, Landing, Decision, Intent] {
        let (outcome, kinds) = applied(Behaviour::Lands, Some(kind));
        assert_eq!(
            (outcome.outcome, outcome.cause),
            (OutcomeKind::Failed, Cause::Evidence),
            "{kind:?}"
        );
        assert_eq!(outcome.commit, None, "{kind:?}");
        assert!(!kinds.contains(&RecordKind::Receipt), "{kind:?}");
    }
}

#[test]
fn a_commit_whose_receipt_is_lost_is_named_and_is_no_refusal() {
    for behaviour in [Behaviour::Lands, Behaviour::LandsWithoutReceipt] {
        let (outcome, kinds) = applied(behaviour, Some(RecordKind::Receipt));
        assert_eq!(
            (outcome.outcome, outcome.cause),
            (OutcomeKind::Failed, Cause::Evidence)
        );
        assert_eq!(outcome.commit, Some("5".repeat(40)));
        assert!(
            outcome.message.contains("landed") && outcome.message.contains("the disk is full"),
            "{}",
            outcome.message
        );
        assert!(!kinds.contains(&RecordKind::Refusal));
    }
}

#[test]
fn a_change_that_was_cut_short_after_it_was_made_is_no_refusal() {
    let (outcome, kinds) = applied(Behaviour::Unfinished, None);
    assert_eq!(
        (outcome.outcome, outcome.code.as_deref()),
        (OutcomeKind::Failed, Some("unfinished"))
    );
    assert!(!kinds.contains(&RecordKind::Refusal));
}

#[test]
fn a_refusal_that_cannot_be_recorded_is_an_evidence_failure() {
    let (outcome, _) = applied(Behaviour::Refuses, None);
    assert_eq!(
        (outcome.outcome, outcome.cause),
        (OutcomeKind::Refused, Cause::Repository)
    );
    let (outcome, _) = applied(Behaviour::Refuses, Some(RecordKind::Refusal));
    assert_eq!(
        (outcome.outcome, outcome.cause),
        (OutcomeKind::Failed, Cause::Evidence)
    );
    assert!(outcome.message.contains("the reason"), "{}", outcome.message);
}
