//! The way of an answer: landing, decision, consent, approval, executor, receipt, each with its record.
//!
//! Owns: the order of these stations and what happens when one says no. Never: lets a change reach the
//! executor without `Approved`, or lets anything be written before its intent is durable.

use agentos_api::{BranchChoice, NextStep};
use agentos_evidence::RecordKind;
use agentos_landing::{
    Change, LandError, LandOptions, LandedChange as Found, LandingReport, RefusalCode, land,
};
use agentos_policy::{Decision, NotApproved, PolicySet, ToolFacts, approve};

use crate::context::unreadable;
use crate::ports::{Cancel, EffectError, PolicyInForce, TargetInfo};
use crate::records::{self, Answered, Begin, DecisionBody, LandingBody, RefusalBody};
use crate::{Cause, EvidenceRef, Outcome, OutcomeKind};

/// The code of a change that was checked on another commit than the branch has now.
pub(crate) const CHECK_STALE: &str = "check-stale";

/// How often an answer is landed again because the branch moved.
const MAX_MOVES: u32 = 64;

/// Takes an answer to its end, on the branch that the run began with. Never fails: what goes wrong is the outcome, and
/// it is recorded.
pub async fn settle(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    begun: &TargetInfo,
    cancel: &mut Cancel<'_>,
) -> Outcome {
    settle_at(deps, proposal, begun, None, cancel).await
}

/// Settles on a target whose state is known. If it moved since, the executor finds out.
async fn settle_at(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    begun: &TargetInfo,
    known: Option<TargetInfo>,
    cancel: &mut Cancel<'_>,
) -> Outcome {
    let outcome = attempt(deps, proposal, begun, known, cancel).await;
    let outcome = outcome.unwrap_or_else(|error| Outcome::from_effect(proposal.run, &error));
    close(deps, outcome)
}

/// Writes the last record of a run that did not land, and names the tape's head in the outcome.
pub(crate) fn close(deps: &mut Deps<'_>, mut outcome: Outcome) -> Outcome {
    // What was written is no refusal, whatever failed after it.
    if outcome.is_done() || outcome.written {
        return outcome;
    }
    let intent = outcome.evidence.take().and_then(|evidence| evidence.intent);
    match records::record_now(deps.evidence, RecordKind::Refusal, &RefusalBody::of(&outcome)) {
        Ok(head) => outcome.evidence = Some(EvidenceRef { head, intent }),
        Err(error) => unrecorded(&mut outcome, &error),
    }
    outcome
}

/// Without its record the end of a run is the failure to record it, whatever it was before.
fn unrecorded(outcome: &mut Outcome, error: &EffectError) {
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

/// Records the beginning of a run.
///
/// # Errors
/// When the target cannot be resolved, policy cannot be read, or the record cannot be made durable.
pub fn begin(
    deps: &mut Deps<'_>,
    verb: &str,
    tool: &ToolFacts,
    instruction: &str,
) -> Result<TargetInfo, EffectError> {
    let target = deps.repo.target()?;
    let policy = deps.repo.policy(&target)?;
    let record = Begin {
        verb,
        provider: &tool.provider,
        model: tool.model.as_deref(),
        execution_mode: tool.execution_mode,
        instruction,
        target: &target,
        policy_sha256: policy.set.sha256(),
    };
    records::record_with_next(deps.evidence, RecordKind::Task, &record)?;
    Ok(target)
}

/// Records an answer as it came.
///
/// # Errors
/// When it cannot be made durable.
pub fn record_answer(deps: &mut Deps<'_>, answer: &[u8], attempt: u32) -> Result<(), EffectError> {
    let answer_sha256 = deps.evidence.store_blob(answer)?;
    let record = Answered {
        attempt,
        answer_sha256: &answer_sha256,
        bytes: answer.len(),
    };
    records::record_with_next(deps.evidence, RecordKind::Answer, &record)?;
    Ok(())
}

/// Lands an untrusted answer that a person brought: records the beginning and the answer, and takes it to the end.
pub async fn apply(
    deps: &mut Deps<'_>,
    verb: &str,
    instruction: &str,
    proposal: &Proposal<'_>,
    cancel: &mut Cancel<'_>,
) -> Outcome {
    let begun = begin(deps, verb, &proposal.tool, instruction)
        .and_then(|target| record_answer(deps, proposal.answer, proposal.attempt).map(|()| target));
    match begun {
        Ok(target) => settle_at(deps, proposal, &target, Some(target.clone()), cancel).await,
        Err(error) => {
            let outcome = Outcome::from_effect(proposal.run, &error);
            close(deps, outcome)
        }
    }
}

async fn attempt(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    begun: &TargetInfo,
    mut known: Option<TargetInfo>,
    cancel: &mut Cancel<'_>,
) -> Result<Outcome, EffectError> {
    let mut moves = 0;
    loop {
        let target = match known.take() {
            Some(target) => target,
            None => deps.repo.target()?,
        };
        if target.refname != begun.refname {
            return Err(switched(begun, &target));
        }
        let found = match locate(deps, proposal, &target)? {
            Ok(found) => found,
            Err(report) => return Ok(refused(proposal, target, *report)),
        };
        let policy = deps.repo.policy(&target)?;
        match decide_and_land(deps, proposal, &target, found, &policy, cancel).await {
            Err(error) if error.base_moved && moves < MAX_MOVES => moves += 1,
            other => return other,
        }
    }
}

/// Whoever asked for one branch did not ask for another.
fn switched(begun: &TargetInfo, now: &TargetInfo) -> EffectError {
    let [began, now] = [begun, now].map(|target| target.refname.trim_start_matches("refs/heads/"));
    let message = format!("`{began}` was checked out when this began, and now it is `{now}`");
    EffectError::new(Cause::Repository, "branch-switched", message).suggest_steps([
        NextStep::RunOnCheckedOut,
        NextStep::NameBranch {
            choice: BranchChoice::BeganWith,
        },
    ])
}

fn locate(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
) -> Result<Result<Found, Box<LandingReport>>, EffectError> {
    let base = deps.repo.base(target)?;
    let options = LandOptions {
        seen: proposal.seen.clone(),
        partial: proposal.partial,
        ..LandOptions::default()
    };
    let found = match land(proposal.answer, base.as_ref(), &options) {
        Ok(found) => Ok(found),
        Err(LandError::Refused(report)) => Err(report),
        Err(LandError::Base(error)) => return Err(unreadable(&error)),
    };
    drop(base);
    let (diff_sha256, diff_blob, report) = match &found {
        Ok(found) => {
            let blob = deps.evidence.store_blob(found.change.canonical_diff())?;
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
    records::record_with_next(deps.evidence, RecordKind::Landing, &record)?;
    Ok(found)
}

fn refused(proposal: &Proposal<'_>, target: TargetInfo, report: LandingReport) -> Outcome {
    let refusal = records::refusal_of(&report);
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

/// The decision, and the rules it was made by.
fn record_decision(
    deps: &mut Deps<'_>,
    change: &Change,
    decision: &Decision,
    target: &TargetInfo,
    policy: &PolicyInForce,
) -> Result<(), EffectError> {
    let policy_blob = deps
        .evidence
        .store_blob(records::clean_json(&policy.sources)?.as_bytes())?;
    let record = DecisionBody {
        diff_sha256: change.sha256(),
        base_commit: &target.base_commit,
        target_ref: &target.refname,
        policy_blob_sha256: &policy_blob,
        decision,
    };
    records::record_with_next(deps.evidence, RecordKind::Decision, &record)?;
    Ok(())
}

async fn decide_and_land(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    found: Found,
    policy: &PolicyInForce,
    cancel: &mut Cancel<'_>,
) -> Result<Outcome, EffectError> {
    proved(proposal, target, &found.change)?;
    let tool = ToolFacts {
        target_ref: Some(target.refname.clone()),
        ..proposal.tool.clone()
    };
    let decision = judged(&policy.set, &found, &tool, proposal.reported_model.as_deref());
    record_decision(deps, &found.change, &decision, target, policy)?;
    let Found { change, report, .. } = found;
    let mut outcome = Outcome {
        report: Some(report),
        ..about(proposal, target, &change)
    };
    let consent = match consent(deps, proposal, (&change, &decision), target, cancel).await? {
        Consented::NotNeeded => None,
        Consented::Given(consent) => Some(consent),
        Consented::Declined => return Ok(declined(outcome, decision)),
        Consented::Stopped => return Ok(stopped(outcome, decision, proposal.run)),
        Consented::Nobody { open } => {
            outcome.outcome = OutcomeKind::ConsentNeeded;
            outcome.cause = Cause::Consent;
            outcome.next = vec![if open {
                answer_request(proposal.run)
            } else {
                NextStep::ConsentAtOnce
            }];
            let place = target.refname.trim_start_matches("refs/heads/");
            let lead = format!("policy asks for a person's consent for `{place}`");
            return Ok(explained(outcome, decision, &lead));
        }
    };
    let approved = match approve(change, &decision, &target.place(), consent.as_ref()) {
        Ok(approved) => approved,
        Err(NotApproved::Denied) => {
            outcome.outcome = OutcomeKind::Denied;
            outcome.cause = Cause::Policy;
            return Ok(explained(outcome, decision, "policy denies it"));
        }
        Err(void @ NotApproved::ConsentVoid { .. }) => {
            outcome.outcome = OutcomeKind::ConsentNeeded;
            outcome.cause = Cause::Consent;
            outcome.code = Some("consent-void".to_owned());
            outcome.message = void.to_string();
            outcome.hint =
                Some("nothing was landed; run the task again, and look at what it gives now".to_owned());
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
    carry_out(deps, proposal, target, approved, outcome)
}

/// An outcome that says what the change is and where it goes.
fn about(proposal: &Proposal<'_>, target: &TargetInfo, change: &Change) -> Outcome {
    let mut outcome = Outcome::new(proposal.run, OutcomeKind::Landed, Cause::Done, String::new());
    outcome.files = change.files().iter().map(|file| file.path.to_string()).collect();
    outcome.diff_sha256 = Some(change.sha256().to_owned());
    outcome.target = Some(target.clone());
    outcome
}

/// What was tried is what lands, or nothing does.
fn proved(proposal: &Proposal<'_>, target: &TargetInfo, change: &Change) -> Result<(), EffectError> {
    let is_other = |of: &Proved| of.base_commit != target.base_commit || of.diff_sha256 != change.sha256();
    if !proposal.proved.as_ref().is_some_and(is_other) {
        return Ok(());
    }
    let message = "the branch moved after the change was checked, and on the new commit it was not";
    let hint = "nothing was landed: run it again, and it is checked on the branch as it is now";
    Err(EffectError::new(Cause::Repository, CHECK_STALE, message).hint(hint))
}

/// The executor's part, and what is said of it.
fn carry_out(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    approved: agentos_policy::Approved<Change>,
    mut outcome: Outcome,
) -> Result<Outcome, EffectError> {
    let written = landing::write(deps, proposal, target, approved);
    let intent = written.intent;
    let (landed, recorded) = match written.landed {
        Ok(landed) => landed,
        Err(error) if error.written => return Ok(unfinished(outcome, &error, intent)),
        Err(error) => return Err(error),
    };
    outcome.message = landing::told(target, &landed, &outcome.files);
    if outcome.report.as_ref().is_some_and(|report| report.partial) {
        outcome.message.push_str("; a part of the answer was left out");
    }
    outcome.written = true;
    outcome.commit.clone_from(&landed.commit);
    outcome.tree = Some(landed.tree.clone());
    outcome.kept.clone_from(&landed.kept);
    match recorded {
        Ok(head) => outcome.evidence = Some(EvidenceRef { head, intent }),
        Err(error) => {
            let head = intent.clone().unwrap_or_default();
            outcome.evidence = Some(EvidenceRef { head, intent });
            unrecorded(&mut outcome, &error);
        }
    }
    Ok(outcome)
}

/// The change is made, and what follows it was cut short: the next command finishes it.
fn unfinished(mut outcome: Outcome, error: &EffectError, intent: Option<String>) -> Outcome {
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

/// The decision; where the tool said it was another model than the one configured, the stricter of both.
#[must_use]
pub fn judged(
    policy: &PolicySet,
    landed: &Found,
    tool: &ToolFacts,
    reported_model: Option<&str>,
) -> Decision {
    let decision = policy.decide(&landed.change, &landed.facts, tool);
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

fn explained(mut outcome: Outcome, decision: Decision, lead: &str) -> Outcome {
    let reason = decision.deciding().next();
    outcome.message = match reason {
        Some(reason) => {
            let place = reason
                .path
                .as_ref()
                .map(|path| format!("`{path}`: "))
                .unwrap_or_default();
            format!("{lead}: {place}{} (rule {})", reason.why, reason.rule)
        }
        None => format!("{lead}: no rule allows it"),
    };
    outcome.hint = reason.and_then(|reason| reason.fix.clone());
    outcome.code = decision.code().map(|code| code.to_string());
    outcome.decision = Some(decision);
    outcome
}

mod consent;
mod landing;
mod proposal;

pub use crate::records::ConsentRequest;
pub(crate) use consent::deny;
pub use proposal::{Deps, Proposal, Proved, patch_facts};

use consent::{Consented, answer_request, consent, declined, stopped};

#[cfg(test)]
mod tests;
