//! Takes an answer through its stations: landing, decision, consent, approval, executor, receipt.
//!
//! Owns: the order of these stations and what happens when one refuses. Never: lets a change reach the
//! executor without `Approved`, or lets anything be written before its intent is durable.
//!
//! # The stations
//!
//! The answer is untrusted, the branch may move at any moment, and the process may be killed at any line. The order
//! of the stations keeps one promise in all these cases: every visible change was allowed by policy, and the tape
//! proves it.
//!
//! | station | record | on the disk | without it |
//! |---|---|---|---|
//! | begin: resolve target, read policy | `task` | with the next | a branch that the user switches to during the run would receive the change |
//! | keep the answer as it came | `answer` | with the next | the landing could not be replayed |
//! | place: find where the edits belong in the base | `landing` | with the next | policy would judge text instead of exact files |
//! | decide: ask policy | `decision` | with the next | a replay would judge by today's rules instead of the recorded ones |
//! | run the repository's hooks on a copy, if the user asks for them | `check` | with the next | a commit would land that git refuses |
//! | consent, if policy asks | `consent` | with the next, if it lands | a yes could be used for another change |
//! | approve: create `Approved` | none | – | the executor would accept a change that nobody allowed |
//! | intent, from the executor | `intent` | before the ref moves | after a crash, a commit would exist that no record explains |
//! | write, by the executor | none | by the executor | – |
//! | receipt, and the run's checkpoint | `receipt` | when the run ends | the commit stands; undo finds it by the intent and the commit's trailer |
//! | refusal, instead of the last three | `refusal` | at once | the tape would not say how the run ended |
//!
//! Nothing visible depends on the first records, so they reach the disk together with the intent: one wait for the
//! disk instead of several. If a station fails, no later one runs. If the executor finds that the branch moved, the order starts again at
//! `place`, on the new base; consent and decision are then made for the new base as well.

use std::collections::BTreeSet;

use agentos_api::{BranchChoice, NextStep};
use agentos_evidence::RecordKind;
use agentos_landing::{Change, LandOptions, LandedChange as Found, LandingReport, RefusalCode};
use agentos_policy::{Decision, Effect, NotApproved, PolicySet, ToolFacts, approve};

use crate::ports::{ActivePolicy, CancelSignal, EffectError, TargetInfo, Writes};
use crate::records::{self, DecisionBody, LandingBody, RefusalBody};
use crate::withheld::{WatchedLanding, land_watched, list_readers};
use crate::{Cause, EvidenceRef, Outcome, OutcomeKind};

/// The code of a change that was checked on another commit than the branch has now.
pub(crate) const CHECK_STALE: &str = "check-stale";

/// Most times that an answer is landed again because the branch moved. A limit, so that a run ends even if another
/// process moves the branch without pause.
const MAX_MOVES: u32 = 64;

/// Takes an answer to its end, on the branch that the run began with. Never fails: an error becomes the outcome and is
/// recorded.
pub async fn settle(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    begun: &TargetInfo,
    cancel: &mut CancelSignal<'_>,
) -> Outcome {
    settle_at(effects, proposal, begun, None, cancel).await
}

/// Settles on a target whose state is known. If it moved since, the executor finds out.
async fn settle_at(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    begun: &TargetInfo,
    known: Option<TargetInfo>,
    cancel: &mut CancelSignal<'_>,
) -> Outcome {
    let outcome = attempt_landing(effects, proposal, begun, known, cancel).await;
    let outcome = outcome.unwrap_or_else(|error| Outcome::from_effect(proposal.run, &error));
    close(effects, outcome)
}

/// Writes the last record of a run that did not land, and names the tape's head in the outcome.
pub(crate) fn close(effects: &mut RunEffects<'_>, mut outcome: Outcome) -> Outcome {
    // A change that was written is no refusal, whatever failed after it: the tape would deny a commit that exists.
    if outcome.is_done() || outcome.written {
        return outcome;
    }
    let intent = outcome.evidence.take().and_then(|evidence| evidence.intent);
    match records::record_now(
        effects.evidence,
        RecordKind::Refusal,
        &RefusalBody::from_outcome(&outcome),
    ) {
        Ok(head) => outcome.evidence = Some(EvidenceRef { head, intent }),
        Err(error) => mark_unrecorded(&mut outcome, &error),
    }
    outcome
}

/// Makes the failure to record a run's end its outcome, whatever the outcome was before.
fn mark_unrecorded(outcome: &mut Outcome, error: &EffectError) {
    outcome.message = format!(
        "{}; and this could not be recorded: {}",
        outcome.message, error.message
    );
    outcome.outcome = OutcomeKind::Failed;
    outcome.cause = error.cause;
    outcome.code = Some(error.code.clone());
    outcome.causes = error.causes().to_vec();
    if error.hint.is_some() || !error.next.is_empty() {
        outcome.hint.clone_from(&error.hint);
        outcome.next.clone_from(&error.next);
    }
}

/// Runs the stations on the target, again from `place` each time the branch moved under them.
async fn attempt_landing(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    begun: &TargetInfo,
    mut known: Option<TargetInfo>,
    cancel: &mut CancelSignal<'_>,
) -> Result<Outcome, EffectError> {
    let mut moves = 0;
    loop {
        let target = match known.take() {
            Some(target) => target,
            None => effects.repo.target()?,
        };
        // The user named the branch by having it checked out. After a switch, the same words would mean another one.
        if target.refname != begun.refname {
            return Err(branch_switched(begun, &target));
        }
        let policy = effects.repo.policy(&target)?;
        let WatchedLanding { placed, opened } = place_answer(effects, proposal, &target, &policy)?;
        let found = match placed {
            Ok(found) => found,
            Err(_) if guarded::stays_open(proposal, &target, &opened) => {
                return guarded::request_unplaced(effects, proposal, (&target, &policy), &opened);
            }
            Err(report) => {
                let refused = guarded::mark_opened(refused_outcome(proposal, target, *report), &opened);
                return match &proposal.answers {
                    // A part that a person chose or edited says nothing about the requested change.
                    Some(request) if request.revision.is_none() => void_request(effects, request, refused),
                    Some(_) | None => Ok(refused),
                };
            }
        };
        match decide_and_land(effects, proposal, &target, (found, &opened), &policy, cancel).await {
            // Another run or the user committed meanwhile. The executor compares the ref before it writes, so nothing was
            // written, and the answer may have a place on the new commit.
            Err(error) if error.base_moved && moves < MAX_MOVES => moves += 1,
            other => return other.map(|outcome| guarded::mark_opened(outcome, &opened)),
        }
    }
}

/// Makes the error of a run during which another branch was checked out.
fn branch_switched(begun: &TargetInfo, now: &TargetInfo) -> EffectError {
    let [began, now] = [begun, now].map(|target| target.refname.trim_start_matches("refs/heads/"));
    let message = format!("`{began}` was checked out when this began, and now it is `{now}`");
    EffectError::new(Cause::Repository, "branch-switched", message).suggest_steps([
        NextStep::RunOnCheckedOut,
        NextStep::NameBranch {
            choice: BranchChoice::BeganWith,
        },
    ])
}

/// Places the answer on the target's base and records the report.
fn place_answer(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    policy: &ActivePolicy,
) -> Result<WatchedLanding, EffectError> {
    let base = effects.repo.base(target)?;
    let options = LandOptions {
        seen: proposal.seen.clone(),
        partial: proposal.partial,
    };
    let tool = proposal.tool_at(target);
    let readers = list_readers(&tool, proposal.reported_model.as_deref());
    let landing = land_watched(proposal.answer, base.as_ref(), &options, (&policy.set, &readers))?;
    drop(base);
    // A refused answer is recorded as well: the report says why, and a replay must refuse it in the same way.
    let (diff_sha256, diff_blob, report) = match &landing.placed {
        Ok(found) => {
            let blob = effects.evidence.store_blob(found.change.canonical_diff())?;
            (Some(found.change.sha256()), Some(blob), &found.report)
        }
        Err(report) => (None, None, report.as_ref()),
    };
    let record = LandingBody {
        attempt: proposal.attempt,
        base_commit: &target.base_commit,
        diff_sha256,
        partial: proposal.partial,
        diff_blob_sha256: diff_blob.as_deref(),
        report,
    };
    records::record_with_next(effects.evidence, RecordKind::Landing, &record)?;
    Ok(landing)
}

/// Makes the outcome of an answer that landing refused.
fn refused_outcome(proposal: &Proposal<'_>, target: TargetInfo, report: LandingReport) -> Outcome {
    let refusal = records::refusal_of(&report);
    // A diff without effect is no failure of the answer: the files already are as it wants them.
    let kind = if refusal.code == RefusalCode::Empty {
        OutcomeKind::NothingToDo
    } else {
        OutcomeKind::Refused
    };
    let mut outcome = Outcome::new(proposal.run, kind, Cause::Landing, refusal.message);
    outcome.code = Some(refusal.code.to_string());
    outcome.hint = refusal.hint;
    outcome.target = Some(target);
    outcome.files = report.files.iter().map(|file| file.path.clone()).collect();
    outcome.report = Some(report);
    outcome
}

/// Records the decision, and the rules by which it was made.
fn record_decision(
    effects: &mut RunEffects<'_>,
    change: &Change,
    decision: &Decision,
    target: &TargetInfo,
    policy: &ActivePolicy,
) -> Result<(), EffectError> {
    let policy_blob = effects
        .evidence
        .store_blob(records::clean_json(&policy.sources)?.as_bytes())?;
    let record = DecisionBody {
        diff_sha256: change.sha256(),
        base_commit: &target.base_commit,
        target_ref: &target.refname,
        policy_blob_sha256: &policy_blob,
        decision,
    };
    records::record_with_next(effects.evidence, RecordKind::Decision, &record)?;
    Ok(())
}

/// Takes a placed change through decision, consent and approval to the executor.
async fn decide_and_land(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    (found, opened): (Found, &BTreeSet<String>),
    policy: &ActivePolicy,
    cancel: &mut CancelSignal<'_>,
) -> Result<Outcome, EffectError> {
    verify_checked(proposal, target, &found.change)?;
    let tool = proposal.tool_at(target);
    let decision = decide_change(&policy.set, &found, &tool, proposal.reported_model.as_deref());
    let (decision, taken) =
        guarded::add_withheld(effects, proposal, (target, policy), (&found, opened), decision)?;
    record_decision(effects, &found.change, &decision, target, policy)?;
    let Found { change, report, .. } = found;
    let mut outcome = Outcome {
        report: Some(report),
        ..describe_change(proposal, target, &change)
    };
    // Before anybody is asked: a change that a hook rejects is not worth a question.
    if decision.effect() != Effect::Deny
        && let Some(rejected) = hooks::run_hooks(effects, proposal, target, &change, cancel).await?
    {
        return Ok(Outcome {
            decision: Some(decision),
            report: outcome.report,
            files: outcome.files,
            diff_sha256: outcome.diff_sha256,
            ..rejected
        });
    }
    let consent = match request_consent(effects, proposal, (&change, &decision), target, cancel).await? {
        ConsentResult::NotNeeded => None,
        ConsentResult::Given(consent) => Some(consent),
        ConsentResult::Declined => return Ok(declined_outcome(outcome, decision, proposal)),
        ConsentResult::Stopped => return Ok(stopped_outcome(outcome, decision, proposal)),
        ConsentResult::Nobody { open, drift } => {
            let state = (open, drift.as_ref());
            return Ok(unanswered_outcome(outcome, decision, (proposal, target), state));
        }
    };
    let approved = match approve(change, &decision, &target.place(), consent.as_ref()) {
        Ok(approved) => approved,
        Err(NotApproved::Denied) => {
            outcome.outcome = OutcomeKind::Denied;
            outcome.cause = Cause::Policy;
            return Ok(explain_decision(outcome, decision, "policy denies it"));
        }
        // The branch or the change moved between question and answer: the yes belongs to something else.
        Err(void @ NotApproved::ConsentVoid { .. }) => {
            outcome.outcome = OutcomeKind::ConsentNeeded;
            outcome.cause = Cause::Consent;
            outcome.code = Some("consent-void".to_owned());
            outcome.message = void.to_string();
            outcome.hint =
                Some("nothing was landed; run the task again, and review the new change".to_owned());
            outcome.decision = Some(decision);
            return Ok(outcome);
        }
        Err(other) => {
            return Err(EffectError::new(
                Cause::Internal,
                "not-approved",
                other.to_string(),
            ));
        }
    };
    outcome.decision = Some(decision);
    // Before the change is visible, so that no moment comes in which the text is there and nothing withholds it.
    if target.writes != Writes::Nothing && !consent.is_some_and(|consent| consent.releases_withheld) {
        effects.repo.keep_withheld(&taken)?;
    }
    carry_out(effects, proposal, target, approved, outcome)
}

/// Makes an outcome that names the change and its target.
fn describe_change(proposal: &Proposal<'_>, target: &TargetInfo, change: &Change) -> Outcome {
    let mut outcome = Outcome::new(proposal.run, OutcomeKind::Landed, Cause::Done, String::new());
    outcome.files = change.files().iter().map(|file| file.path.to_string()).collect();
    let gone = change.files().iter().filter(|file| file.new.is_none());
    outcome.deleted = gone.map(|file| file.path.to_string()).collect();
    outcome.diff_sha256 = Some(change.sha256().to_owned());
    outcome.target = Some(target.clone());
    outcome
}

/// Checks that the change which passed the user's check is the one that lands, on the same commit.
///
/// # Errors
/// If either differs. A check proves nothing about another change or another base.
fn verify_checked(proposal: &Proposal<'_>, target: &TargetInfo, change: &Change) -> Result<(), EffectError> {
    let is_other =
        |of: &CheckedChange| of.base_commit != target.base_commit || of.diff_sha256 != change.sha256();
    if !proposal.proved.as_ref().is_some_and(is_other) {
        return Ok(());
    }
    let message = "the branch moved after the change was checked, so the check does not cover the new commit";
    let hint = "nothing was landed: run the task again, and the change is checked on the branch as it is now";
    Err(EffectError::new(Cause::Repository, CHECK_STALE, message).hint(hint))
}

/// Has the executor write the change, and describes the result.
fn carry_out(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    approved: agentos_policy::Approved<Change>,
    mut outcome: Outcome,
) -> Result<Outcome, EffectError> {
    let written = landing::write_change(effects, proposal, target, approved);
    let intent = written.intent;
    let (landed, recorded) = match written.landed {
        Ok(landed) => landed,
        // An outcome instead of an error: an error would be recorded as a refusal, but the change is there.
        Err(error) if error.written => return Ok(unfinished_outcome(outcome, &error, intent)),
        Err(error) => return Err(error),
    };
    outcome.message = landing::describe_landed(target, &landed, &outcome.files);
    if outcome.report.as_ref().is_some_and(|report| report.partial) {
        // The user allowed it, but the message must not read as if everything had landed.
        outcome.message.push_str("; a part of the answer was left out");
    }
    outcome.written = true;
    outcome.commit.clone_from(&landed.commit);
    outcome.tree = Some(landed.tree.clone());
    outcome.kept.clone_from(&landed.kept);
    match recorded {
        Ok(head) => outcome.evidence = Some(EvidenceRef { head, intent }),
        Err(error) => {
            // The receipt is lost, so the intent is the last record that certainly exists.
            let head = intent.clone().unwrap_or_default();
            outcome.evidence = Some(EvidenceRef { head, intent });
            mark_unrecorded(&mut outcome, &error);
        }
    }
    Ok(outcome)
}

/// Makes the outcome of a change that is visible, but whose last steps failed. The next command finishes them.
fn unfinished_outcome(mut outcome: Outcome, error: &EffectError, intent: Option<String>) -> Outcome {
    outcome.outcome = OutcomeKind::Failed;
    outcome.cause = error.cause;
    outcome.code = Some(error.code.clone());
    outcome.message.clone_from(&error.message);
    outcome.hint.clone_from(&error.hint);
    outcome.next.clone_from(&error.next);
    outcome.causes = error.causes().to_vec();
    outcome.written = true;
    outcome.evidence = intent.map(|intent| EvidenceRef {
        head: intent.clone(),
        intent: Some(intent),
    });
    outcome
}

/// Returns the decision. If the tool reported another model than the configured one, returns the stricter of the
/// decisions for both: a server could otherwise answer with a model that policy denies.
#[must_use]
pub fn decide_change(
    policy: &PolicySet,
    landed: &Found,
    tool: &ToolFacts,
    reported_model: Option<&str>,
) -> Decision {
    let decision = policy.decide(&landed.change, &landed.facts, tool);
    // The usual case. Each decision tests every rule on every path, so it is not made twice without need.
    if reported_model.is_none() || reported_model == tool.model.as_deref() {
        return decision;
    }
    let reported = ToolFacts {
        model: reported_model.map(str::to_owned),
        ..tool.clone()
    };
    let other = policy.decide(&landed.change, &landed.facts, &reported);
    if other.effect() > decision.effect() {
        other
    } else {
        decision
    }
}

/// Completes an outcome with the rule that decided, after the words of `lead`.
pub(crate) fn explain_decision(mut outcome: Outcome, decision: Decision, lead: &str) -> Outcome {
    let reason = decision.deciding().next();
    outcome.message = match reason {
        Some(reason) => {
            let place = reason
                .path
                .as_ref()
                .map(|path| format!("`{path}`: "))
                .unwrap_or_default();
            format!("{lead}: {place}{} (rule {})", reason.sentence(), reason.rule)
        }
        None => format!("{lead}: no rule allows it"),
    };
    // The rule's own advice, because only its author knows what to do instead.
    outcome.hint = reason.and_then(|reason| reason.fix.clone());
    outcome.code = decision.code().map(|code| code.to_string());
    outcome.decision = Some(decision);
    outcome
}

mod beginning;
mod consent;
mod guarded;
mod hooks;
mod landing;
mod proposal;

pub use crate::records::ConsentRequest;
pub use crate::tool_facts::{PATCH_PROVIDER, UNDO_PROVIDER, patch_facts};
pub use beginning::{RunBegin, apply_answer, begin_run, record_answer};
pub(crate) use consent::{EXPIRED, expired_request, record_denial, record_expiry, record_withdrawal};
pub use guarded::told_state;
pub use proposal::{CheckedChange, Proposal, RunEffects, assisted_by};

use consent::{
    ConsentResult, declined_outcome, request_consent, stopped_outcome, unanswered_outcome, void_request,
};

#[cfg(test)]
mod tests;
