//! Changes that open files which policy withholds from their proposer, or have text of such files.
//!
//! Owns: their reasons in the decision, and the request of a change that could not be placed. Never: shows the proposer whether a guess
//! about a withheld file was right.

use std::collections::BTreeSet;

use agentos_evidence::RecordKind;
use agentos_landing::LandedChange;
use agentos_policy::{ApprovalHashes, Decision, Effect, TakenText, opened_reason};

use super::consent::{answer_request, make_request};
use super::proposal::{Proposal, RunEffects};
use crate::ports::{ActivePolicy, EffectError, TargetInfo, Writes};
use crate::records::{self, ConsentBody, ConsentRequest};
use crate::withheld::{WITHHELD_FILE, find_withheld, list_readers};
use crate::{Cause, Outcome, OutcomeKind};

/// Returns true if an answer that could not be placed waits for a person all the same: a refusal would show its proposer that a guess about
/// a withheld file was wrong. A person who lands a recorded answer, or answers a request, is shown.
pub(super) fn stays_open(proposal: &Proposal<'_>, target: &TargetInfo, opened: &BTreeSet<String>) -> bool {
    !opened.is_empty()
        && proposal.answers.is_none()
        && proposal.source.is_none()
        && target.writes != Writes::Nothing
}

/// Leaves a request for an answer that could not be placed. It is placed again when a person looks at it.
///
/// # Errors
/// If the request cannot be recorded.
pub(super) fn request_unplaced(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    (target, policy): (&TargetInfo, &ActivePolicy),
    opened: &BTreeSet<String>,
) -> Result<Outcome, EffectError> {
    let blob = effects.evidence.store_blob(proposal.answer)?;
    let place = target.place();
    let hashes = ApprovalHashes {
        // No change exists yet, so the request is bound to the answer.
        diff_sha256: blob.trim_start_matches("sha256:").to_owned(),
        base_commit: place.base_commit.to_owned(),
        policy_sha256: policy.set.sha256().to_owned(),
        target_ref: place.target_ref.to_owned(),
        writes: place.writes.to_owned(),
    };
    let request = ConsentRequest {
        is_unplaced: true,
        ..make_request(effects, proposal, blob, target, &hashes)
    };
    let record = ConsentBody {
        given: false,
        hashes: &hashes,
        consent: None,
        request: Some(&request),
        answers: None,
        drift: None,
        void: None,
        comment: None,
    };
    records::record_with_next(effects.evidence, RecordKind::Consent, &record)?;
    let path = opened.first().map(String::as_str).unwrap_or_default();
    let reason = opened_reason(path, &proposal.tool.provider);
    let message = format!(
        "{}: `{path}`: {} (rule {})",
        ask_lead(target),
        reason.why,
        reason.rule
    );
    let mut outcome = Outcome::new(proposal.run, OutcomeKind::ConsentNeeded, Cause::Consent, message);
    outcome.code = Some(WITHHELD_FILE.to_owned());
    outcome.next = vec![answer_request(proposal)];
    outcome.target = Some(target.clone());
    Ok(outcome)
}

/// Begins the sentence about a change that waits because a rule asks.
pub(super) fn ask_lead(target: &TargetInfo) -> String {
    let place = target.refname.trim_start_matches("refs/heads/");
    format!("policy asks for a person's consent for `{place}`")
}

/// Words the state of a change that waits although no rule asks.
pub(super) fn describe_allowed(target: &TargetInfo) -> String {
    let place = target.refname.trim_start_matches("refs/heads/");
    format!("policy allows it, and it waits until a person lands it on `{place}`")
}

/// Words the state of a change that waits, for its proposer: as if no file were withheld.
#[must_use]
pub fn told_state(outcome: &Outcome) -> String {
    let (Some(decision), Some(target)) = (&outcome.decision, &outcome.target) else {
        return outcome.message.clone();
    };
    if !decision.is_about_withheld() {
        return outcome.message.clone();
    }
    let told = decision.without_withheld();
    match told.effect() {
        Effect::Allow => describe_allowed(target),
        Effect::Ask | Effect::Deny => {
            super::explain_decision(outcome.clone(), told, &ask_lead(target)).message
        }
    }
}

/// Gives the outcome of a change for which a withheld file was opened one code, whatever became of the change.
pub(super) fn mark_opened(mut outcome: Outcome, opened: &BTreeSet<String>) -> Outcome {
    let is_answered = matches!(
        outcome.code.as_deref(),
        Some("declined" | "interrupted" | "consent-void")
    );
    let is_judged = matches!(outcome.cause, Cause::Policy | Cause::Consent | Cause::Landing);
    if !opened.is_empty() && is_judged && !is_answered && !outcome.written {
        outcome.code = Some(WITHHELD_FILE.to_owned());
    }
    outcome
}

/// Adds to a decision what the change has to do with withheld files. Returns the text that the change takes as well.
///
/// # Errors
/// If the base or the tape cannot be read.
pub(super) fn add_withheld(
    effects: &RunEffects<'_>,
    proposal: &Proposal<'_>,
    (target, policy): (&TargetInfo, &ActivePolicy),
    (found, opened): (&LandedChange, &BTreeSet<String>),
    decision: Decision,
) -> Result<(Decision, Vec<TakenText>), EffectError> {
    let tool = proposal.tool_at(target);
    let readers = list_readers(&tool, proposal.reported_model.as_deref());
    // Also if another rule denies the change: the number of such changes counts, whatever became of them.
    if readers.is_empty() {
        return Ok((decision, Vec::new()));
    }
    let base = effects.repo.base(target)?;
    let mut findings = find_withheld(base.as_ref(), (&policy.set, &readers), &found.change, opened)?;
    // A change that waits anyway, or that a person answers, need not wait for this.
    if decision.effect() == Effect::Allow
        && proposal.answers.is_none()
        && !effects.consent.asks_always()
        && let Some(tape) = effects.requests
    {
        findings.add_often(tape, &effects.clock.now())?;
    }
    Ok((decision.with_reasons(findings.reasons), findings.taken))
}
