//! A person's consent to a change: requested, recorded, and left open if nobody can be asked.
//!
//! Owns: the consent's record, and the open request that a person may answer later, as with `agentos approve`. Never:
//! treats a missing answer as consent, or lands a change.

use agentos_api::NextStep;
use agentos_evidence::RecordKind;
use agentos_landing::Change;
use agentos_policy::{ApprovalHashes, Consent, Decision, Effect};
use agentos_tool::Timestamp;

use super::explain_decision;
use super::guarded::{ask_lead, describe_allowed};
use super::proposal::{Proposal, RunEffects};
use crate::ports::{Answer, CancelSignal, ConsentQuestion, EffectError, TargetInfo, Writes};
use crate::records::{self, ConsentBody, ConsentRequest};
use crate::request::await_or_cancel;
use crate::request_drift::{AnsweredRequest, RequestDrift};
use crate::{Cause, Outcome, OutcomeKind};

/// Reason of a record that closes a request because its time is over.
pub(crate) const EXPIRED: &str = "expired";
/// Reason in the record of a request that its proposer took back.
pub(crate) const WITHDRAWN: &str = "withdrawn";

/// The result of asking for consent.
pub(super) enum ConsentResult {
    /// Policy does not require consent: it allows the change, or denies it.
    NotNeeded,
    /// A person said yes.
    Given(Consent),
    /// A person said no.
    Declined,
    /// The run was stopped while a person was asked: the request stays open.
    Stopped,
    /// Nobody could be asked.
    Nobody {
        /// True if a request stays open, so that a person may still answer.
        open: bool,
        /// Differences from the request that the run was to answer. `None` if there are none.
        drift: Option<RequestDrift>,
    },
}

/// Asks for consent if policy requires it, and records the answer.
///
/// # Errors
/// If the answer cannot be recorded.
pub(super) async fn request_consent(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    (change, decision): (&Change, &Decision),
    target: &TargetInfo,
    cancel: &mut CancelSignal<'_>,
) -> Result<ConsentResult, EffectError> {
    match (decision.effect(), &proposal.answers) {
        // A person who answers a request saw that policy asks. That it allows the change now is another state, to which
        // they agree as well, and the record of that answer is what closes the request.
        (Effect::Ask, _) | (Effect::Allow, Some(_)) => {}
        (Effect::Allow, None) if effects.consent.asks_always() => {}
        (Effect::Allow, None) | (Effect::Deny, _) => return Ok(ConsentResult::NotNeeded),
    }
    let hashes = ApprovalHashes::of(change, decision, &target.place());
    let repo = effects.repo;
    let count_commits = |old: &str, new: &str| repo.count_commits(old, new);
    let answered = proposal.answers.as_ref();
    let drift = answered.and_then(|request| request.find_drift(change, decision, &hashes, count_commits));
    let question = ConsentQuestion {
        change,
        decision,
        hashes: &hashes,
        drift: drift.as_ref(),
    };
    let asked = await_or_cancel(effects.consent.ask(question), cancel).await;
    // `None`: the run was stopped while the person was asked. That is not an answer, so the request stays open.
    let is_stopped = asked.is_none();
    let answer = asked.unwrap_or(Answer::Nobody);
    // A person may think about a question for longer than the request is open. Decided here and not at the landing, so that a yes in time
    // counts however long the landing takes.
    if let (Some(request), Answer::Yes(_)) = (answered, &answer)
        && request.expires.unix_seconds() <= effects.clock.now().unix_seconds()
    {
        records::record_with_next(
            effects.evidence,
            RecordKind::Consent,
            &void_record(&request.hashes, &request.run, EXPIRED),
        )?;
        return Err(expired_request(&request.run));
    }
    let (given, consent) = match &answer {
        Answer::Yes(consent) => (true, Some(consent)),
        Answer::No | Answer::Nobody => (false, None),
    };
    let request = match (&answer, target.writes) {
        // The request that the run was to answer stays open. A second one for the same change would be asked twice.
        _ if answered.is_some() => None,
        // A dry run leaves no request, because an answer to it could not land anything.
        (Answer::Yes(_) | Answer::No, _) | (Answer::Nobody, Writes::Nothing) => None,
        (Answer::Nobody, _) => {
            // The diff is stored and not the tool's answer: a later approval must land exactly what was shown.
            let blob = effects.evidence.store_blob(change.canonical_diff())?;
            Some(make_request(effects, proposal, blob, target, &hashes))
        }
    };
    let record = ConsentBody {
        given,
        hashes: &hashes,
        consent,
        request: request.as_ref(),
        answers: answered.map(|request| request.run.as_str()),
        drift: drift.as_ref(),
        void: None,
        comment: None,
    };
    // Not synced here: the next record of the run is synced and makes this one durable too. It is the intent after a yes,
    // else the refusal.
    records::record_with_next(effects.evidence, RecordKind::Consent, &record)?;
    Ok(match answer {
        Answer::Yes(consent) => ConsentResult::Given(consent),
        Answer::No => ConsentResult::Declined,
        Answer::Nobody if is_stopped && (request.is_some() || answered.is_some()) => ConsentResult::Stopped,
        Answer::Nobody => ConsentResult::Nobody {
            open: request.is_some() || answered.is_some(),
            drift,
        },
    })
}

/// Returns the outcome of a run whose change a person declined. It has the same kind as a run without an answer: policy
/// requires consent and there is none.
pub(super) fn declined_outcome(mut outcome: Outcome, decision: Decision, proposal: &Proposal<'_>) -> Outcome {
    outcome.outcome = OutcomeKind::ConsentNeeded;
    outcome.cause = Cause::Consent;
    outcome.code = Some("declined".to_owned());
    outcome.message = "declined; nothing was landed".to_owned();
    if let Some(request) = &proposal.answers {
        // A no to the question is not a no for good: another person may know more, and only `deny` closes a request.
        outcome.message.push_str(", and the request stays open");
        outcome.next = vec![
            NextStep::DenyRequest {
                run: request.run.clone(),
            },
            answer_request(proposal),
        ];
    }
    outcome.decision = Some(decision);
    outcome
}

/// Returns the next step by which a person answers the open request later: the one that the run was to answer, or its own.
pub(super) fn answer_request(proposal: &Proposal<'_>) -> NextStep {
    let run = match &proposal.answers {
        Some(request) => request.run.clone(),
        None => proposal.run.to_string(),
    };
    NextStep::AnswerRequest { run }
}

/// Returns the outcome of a run that was stopped while a person was asked. Its request stays open.
pub(super) fn stopped_outcome(mut outcome: Outcome, decision: Decision, proposal: &Proposal<'_>) -> Outcome {
    outcome.outcome = OutcomeKind::ConsentNeeded;
    outcome.cause = Cause::Interrupted;
    outcome.code = Some("interrupted".to_owned());
    outcome.message = "stopped before an answer; nothing was landed, and the request stays open".to_owned();
    outcome.next = vec![answer_request(proposal)];
    outcome.decision = Some(decision);
    outcome
}

/// Returns the outcome of a run for whose change nobody gave a consent that counts.
pub(super) fn unanswered_outcome(
    mut outcome: Outcome,
    decision: Decision,
    (proposal, target): (&Proposal<'_>, &TargetInfo),
    (open, drift): (bool, Option<&RequestDrift>),
) -> Outcome {
    outcome.outcome = OutcomeKind::ConsentNeeded;
    outcome.cause = Cause::Consent;
    // A dry run leaves no request to answer: `open` is false, and consent must be given with the run.
    outcome.next = vec![if open {
        answer_request(proposal)
    } else {
        NextStep::ConsentAtOnce
    }];
    if let Some(drift) = drift {
        outcome.code = Some("consent-void".to_owned());
        outcome.message = format!(
            "a consent to the request does not cover the change as it would land now: {}; nothing was landed, and the \
             request stays open until a person has seen this",
            drift.describe()
        );
        outcome.decision = Some(decision);
        return outcome;
    }
    if decision.effect() == Effect::Allow {
        // No rule asks, so there is none to quote.
        outcome.code = Some("consent-needed".to_owned());
        outcome.message = describe_allowed(target);
        outcome.decision = Some(decision);
        return outcome;
    }
    explain_decision(outcome, decision, &ask_lead(target))
}

/// Closes the request that a run was to answer, because its change no longer lands, and says so in the outcome.
///
/// # Errors
/// If the record cannot be made.
pub(super) fn void_request(
    effects: &mut RunEffects<'_>,
    request: &AnsweredRequest,
    mut outcome: Outcome,
) -> Result<Outcome, EffectError> {
    let why = match outcome.outcome {
        OutcomeKind::NothingToDo => "the change is there already".to_owned(),
        OutcomeKind::Landed
        | OutcomeKind::Refused
        | OutcomeKind::Denied
        | OutcomeKind::ConsentNeeded
        | OutcomeKind::Failed => format!("no longer lands: {}", outcome.message),
    };
    let record = ConsentBody {
        given: false,
        hashes: &request.hashes,
        consent: None,
        request: None,
        answers: Some(&request.run),
        drift: None,
        void: Some(&why),
        comment: None,
    };
    // Durable with the refusal, which follows.
    records::record_with_next(effects.evidence, RecordKind::Consent, &record)?;
    outcome.message = format!("the request of run `{}` is void: {why}", request.run);
    outcome.hint = Some("run the task again for a change that fits".to_owned());
    Ok(outcome)
}

/// Makes the request that stays open, with everything that a later approval needs to land the change. `diff_blob_sha256` is the blob of its
/// diff.
pub(super) fn make_request(
    effects: &RunEffects<'_>,
    proposal: &Proposal<'_>,
    diff_blob_sha256: String,
    target: &TargetInfo,
    hashes: &ApprovalHashes,
) -> ConsentRequest {
    let now = effects.clock.now().unix_seconds();
    let expires = match effects.consent.open_seconds() {
        Some(seconds) => {
            let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
            // With a clock before 1970 the time is negative. The expiry becomes 0, so the request counts as expired.
            u64::try_from(now.saturating_add(seconds)).unwrap_or_default()
        }
        // Becomes the last second that a record can state.
        None => u64::MAX,
    };
    ConsentRequest {
        hashes: hashes.clone(),
        target: target.clone(),
        diff_blob_sha256,
        is_unplaced: false,
        tool: proposal.tool.clone(),
        reported_model: proposal.reported_model.clone(),
        message: proposal.message.clone(),
        trailers: proposal.trailers.clone(),
        author: proposal.author.clone(),
        expires: Timestamp::from_unix_seconds(expires),
    }
}

/// Makes the error of a request whose time is over.
pub(crate) fn expired_request(run: &str) -> EffectError {
    let message = format!("the request of run `{run}` has expired");
    EffectError::new(Cause::Consent, "consent-expired", message)
        .hint("nothing was landed; run the task again for a new request")
        .suggest_steps([NextStep::LandRecorded { run: run.to_owned() }])
}

fn void_record<'a>(hashes: &'a ApprovalHashes, run: &'a str, why: &'a str) -> ConsentBody<'a> {
    ConsentBody {
        given: false,
        hashes,
        consent: None,
        request: None,
        answers: Some(run),
        drift: None,
        void: Some(why),
        comment: None,
    }
}

/// Records that whoever proposed the change of an earlier run takes it back. `run` is that earlier run.
///
/// # Errors
/// If the record cannot be made durable.
pub(crate) fn record_withdrawal(
    effects: &mut RunEffects<'_>,
    request: &ConsentRequest,
    run: &str,
) -> Result<(), EffectError> {
    let record = void_record(&request.hashes, run, WITHDRAWN);
    // Synced here, because no other record of this run follows.
    records::record_now(effects.evidence, RecordKind::Consent, &record)?;
    Ok(())
}

/// Records that the time of the request of an earlier run is over. `run` is that earlier run.
///
/// # Errors
/// If the record cannot be made durable.
pub(crate) fn record_expiry(
    effects: &mut RunEffects<'_>,
    request: &ConsentRequest,
    run: &str,
) -> Result<(), EffectError> {
    // Synced here, because no other record of this run follows.
    records::record_now(
        effects.evidence,
        RecordKind::Consent,
        &void_record(&request.hashes, run, EXPIRED),
    )?;
    Ok(())
}

/// Records that a person declined the request of an earlier run. `run` is that earlier run, and
/// `comment` the reason that the person gave.
///
/// # Errors
/// If the record cannot be made durable.
pub(crate) fn record_denial(
    effects: &mut RunEffects<'_>,
    request: &ConsentRequest,
    run: &str,
    no: &Consent,
    comment: Option<&str>,
) -> Result<(), EffectError> {
    let record = ConsentBody {
        given: false,
        hashes: &request.hashes,
        consent: Some(no),
        request: None,
        answers: Some(run),
        drift: None,
        void: None,
        comment,
    };
    // Synced here, because no other record of this run follows.
    records::record_now(effects.evidence, RecordKind::Consent, &record)?;
    Ok(())
}
