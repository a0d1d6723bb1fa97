//! Open requests: a person's later answer to a run that ended with a request for consent.
//!
//! Owns: which requests are open, and the order of the steps when one is answered. Never: uses an answer for another state
//! than the one that the person saw.
//!
//! # States of a request
//!
//! A request is never changed. Its state follows from later records, so a replay of the tape finds the same.
//!
//! | state | begins with | the record |
//! |---|---|---|
//! | open | a run asks, and nobody answers | `consent` with `request` |
//! | approved | a run that answers it lands | `consent` with `answers` and a yes, then `receipt` in the same run |
//! | approved | a run lands the same recorded answer | `task` with `source`, then `receipt` in the same run |
//! | denied | a person denies it | `consent` with `answers`, a no that names the person, and the person's `comment` if there is one |
//! | void | a run that answers it finds that its change no longer lands | `consent` with `answers` and `void` |
//! | void | the tool that proposed the change takes it back | `consent` with `answers` and `void`: `withdrawn` |
//! | expired | its time is over: a week, unless the user's settings say otherwise | none, or `consent` with `answers` and `void` by a run that came too late |
//!
//! Any other record of a run that answers it (a no to the question, a denied or failed landing, a yes that did not land)
//! leaves it open. An answer of any kind is accepted in the state open only.
//!
//! Of several answers the first one counts, whatever they are:
//!
//! | answer | checks that the request is open | while |
//! |---|---|---|
//! | a yes | when it begins, and again immediately before `intent` | the executor's lock keeps everybody else out, until the receipt is durable |
//! | a no, or the proposer's withdrawal | immediately before its record | landings are paused: none is under way, and an interrupted one has its end on the tape |
//! | void, expired | when it begins | nothing: such a record closes only what nobody has answered |
//!
//! A landing whose `receipt` or `recovered` was lost, as on a full disk, is looked for in the branches before a no is recorded.
//!
//! A change that has landed is a fact: it makes its request approved, also on a tape on which another answer came first. Recovery can
//! finish a landing; its `recovered` counts as the receipt.
//!
//! Time is the later one of the clock and of the last record on the tape, so a clock that is set back opens nothing again. An answer
//! counts by the time at which it was given: a yes in time lands however long the landing takes, and then the request is approved,
//! whatever a run that came too late has recorded in between.
//!
//! # What a consent is bound to
//!
//! The executor writes only what a consent to exactly this change, base, policy, target ref and kind of landing covers.
//! When a request is answered, its recorded diff is placed and decided on the branch as it is now, and the differences from
//! the request are found ([`RequestDrift`](crate::request_drift::RequestDrift)):
//!
//! | since the request | a person at a terminal | a consent without a look, as by `--yes` |
//! |---|---|---|
//! | nothing differs | is asked | counts |
//! | the base moved; the same lines change, the same rules decide | is asked, and shown the difference | counts, bound to the new hashes |
//! | other lines change, or other rules decide | is asked, and shown the difference | does not count; the request stays open |
//! | policy denies it now | sees the reason; the request stays open | the same |
//! | it no longer lands, or is there already | sees the reason; the request is void | the same |
//! | another branch is checked out | sees the reason; the request stays open | the same |
//! | something moves again before the landing | all of this again | all of this again |
//!
//! The consent in the record has the new hashes. Its record also contains the differences, with the hashes of the request.

use agentos_api::NextStep;
use agentos_policy::{Consent, Effect, ToolFacts};
use agentos_tool::{RunId, Timestamp};

use crate::ports::{
    Answer, CancelSignal, ConsentFuture, ConsentPort, ConsentQuestion, EffectError, LandingPlace,
    RecordReader, TargetInfo, Writes,
};
use crate::recorded::{explain_unfit, usage_error};
use crate::request_drift::{AnsweredRequest, DiffRevision};
use crate::settle::{self, CheckedChange, ConsentRequest, Proposal, RunEffects};
use crate::{Cause, Outcome};

mod closing;
mod preview;
mod states;

pub use closing::{close_expired, deny_request, withdraw_request};
pub use preview::{PlacedChange, PreviewedChange, RequestPreview, preview_request};
use states::list_requests;
pub use states::{OpenRequest, RequestState};

/// A person's answer to an open request.
#[derive(Debug, Clone)]
pub struct ApprovalOrder<'a> {
    /// The run that asked.
    pub request: &'a str,
    /// How the person consents.
    pub consent: ApprovalConsent,
    /// A diff of the person's own in place of the requested one. `None` if the requested one is to land.
    pub revision: Option<RevisedDiff>,
}

/// How a person consents to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalConsent {
    /// The person is asked through the consent port.
    Asked,
    /// The person named the request, and that is the consent. It counts only if the same change lands by the same rules.
    Named {
        /// Name of the person.
        who: String,
        /// True if the person releases text of withheld files that the change has.
        releases_withheld: bool,
    },
    /// The person saw exactly this state, and agreed to it.
    Seen(Box<Consent>),
}

/// A diff that a person made from a requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisedDiff {
    /// How it was made.
    pub revision: DiffRevision,
    /// Text of the diff, which is placed and decided like any other answer.
    pub text: Vec<u8>,
}

/// Lands the change for which an earlier run requested consent.
///
/// # Errors
/// If the request is not open, its change is not on the tape, or another branch is checked out.
pub async fn approve_request(
    effects: &mut RunEffects<'_>,
    tape: &dyn RecordReader,
    run: &RunId,
    order: &ApprovalOrder<'_>,
    cancel: &mut CancelSignal<'_>,
) -> Result<Outcome, EffectError> {
    let (open, diff) = read_open(tape, order.request, &effects.clock.now())?;
    effects.repo.aim(&place_of(&open.request))?;
    let target = effects.repo.target()?;
    require_target(&open.request, &target)?;
    let revised = order.revision.as_ref();
    let answer = revised.map_or(diff.as_slice(), |revised| revised.text.as_slice());
    let proposal = propose_request(
        run,
        answer,
        (&open, &diff),
        &target,
        revised.map(|revised| revised.revision),
        effects.clock.now(),
    );
    let instruction = format!("Approve run {}", order.request);
    let mut given = GivenConsent {
        consent: &order.consent,
        now: effects.clock.now(),
    };
    // A person who has answered already is not asked again.
    let consent: &mut dyn ConsentPort = match order.consent {
        ApprovalConsent::Asked => &mut *effects.consent,
        ApprovalConsent::Named { .. } | ApprovalConsent::Seen(_) => &mut given,
    };
    let mut effects = RunEffects {
        repo: effects.repo,
        evidence: &mut *effects.evidence,
        consent,
        clock: effects.clock,
        hooks: effects.hooks,
        requests: Some(tape),
    };
    Ok(settle::apply_answer(&mut effects, "approve", &instruction, &proposal, cancel).await)
}

/// Makes the proposal that lands a requested diff, or what a person made of it.
fn propose_request<'a>(
    run: &'a RunId,
    answer: &'a [u8],
    (open, diff): (&OpenRequest, &[u8]),
    target: &TargetInfo,
    revision: Option<DiffRevision>,
    now: Timestamp,
) -> Proposal<'a> {
    let request = &open.request;
    // A check proves something about one change on one base only. On another, the rules that want a check must ask again.
    let is_checked =
        request.tool.checked && revision.is_none() && target.base_commit == request.hashes.base_commit;
    Proposal {
        run,
        answer,
        // The diff is placed by its own lines alone: the files that the tool was shown were those of the old base.
        seen: Vec::new(),
        tool: ToolFacts {
            at: now,
            checked: is_checked,
            ..request.tool.clone()
        },
        reported_model: request.reported_model.clone(),
        message: request.message.clone(),
        trailers: request.trailers.clone(),
        author: request.author.clone(),
        attempt: request.tool.attempt,
        partial: false,
        answers: Some(AnsweredRequest {
            run: open.run.clone(),
            hashes: request.hashes.clone(),
            diff: diff.to_owned(),
            reasons: (!open.reasons.is_empty()).then(|| open.reasons.clone()),
            expires: request.expires.clone(),
            revision,
            is_unplaced: request.is_unplaced,
        }),
        source: None,
        proved: is_checked.then(|| CheckedChange {
            base_commit: request.hashes.base_commit.clone(),
            diff_sha256: request.hashes.diff_sha256.clone(),
        }),
    }
}

/// Checks that the change would land where it was requested to.
///
/// # Errors
/// If another branch is checked out.
fn require_target(request: &ConsentRequest, now: &TargetInfo) -> Result<(), EffectError> {
    let requested = &request.target;
    if requested.refname == now.refname && requested.writes == now.writes {
        return Ok(());
    }
    let [wanted, found] = [requested, now].map(|target| target.refname.trim_start_matches("refs/heads/"));
    let message = format!("the request is for `{wanted}`, and `{found}` is checked out; nothing was landed");
    Err(
        EffectError::new(Cause::Consent, "consent-void", message).suggest_steps([NextStep::RunGit {
            command: format!("git switch {wanted}"),
        }]),
    )
}

/// Lists the changes that wait for a person, the oldest first.
///
/// # Errors
/// If the tape cannot be read.
pub fn list_open(tape: &dyn RecordReader, now: &Timestamp) -> Result<Vec<OpenRequest>, EffectError> {
    let mut requests = list_requests(tape, now)?;
    requests.retain(|request| request.open);
    Ok(requests)
}

/// Lists every request that was made, the oldest first, in whatever state it is.
///
/// # Errors
/// If the tape cannot be read.
pub fn list_all(tape: &dyn RecordReader, now: &Timestamp) -> Result<Vec<OpenRequest>, EffectError> {
    list_requests(tape, now)
}

/// Reads a request that is open, with its canonical diff.
///
/// # Errors
/// If it is not open, or its change is not on the tape.
pub fn read_open(
    tape: &dyn RecordReader,
    id: &str,
    now: &Timestamp,
) -> Result<(OpenRequest, Vec<u8>), EffectError> {
    let found = find_open(tape, id, now)?;
    let diff = tape.load_blob(&found.request.diff_blob_sha256)?;
    Ok((found, diff))
}

/// Checks that nobody has answered the request of a run in another way. Its time may be over: a yes in time counts, however long the
/// landing takes.
///
/// # Errors
/// If somebody has, or the tape cannot be read.
pub(crate) fn require_unanswered(
    tape: &dyn RecordReader,
    run: &str,
    now: &Timestamp,
) -> Result<(), EffectError> {
    let request = find_request(tape, run, now)?;
    match request.state {
        RequestState::Open | RequestState::Expired => Ok(()),
        RequestState::Approved | RequestState::Denied | RequestState::Void => Err(explain_closed(&request)),
    }
}

/// Finds the request of a run, if it can still be answered.
fn find_open(tape: &dyn RecordReader, run: &str, now: &Timestamp) -> Result<OpenRequest, EffectError> {
    let request = find_request(tape, run, now)?;
    match request.open {
        true => Ok(request),
        false => Err(explain_closed(&request)),
    }
}

/// Finds the request of a run, in whatever state it is.
fn find_request(tape: &dyn RecordReader, run: &str, now: &Timestamp) -> Result<OpenRequest, EffectError> {
    let found = list_requests(tape, now)?;
    found.into_iter().find(|request| request.run == run).map_or_else(
        || {
            let other = usage_error(format!("run `{run}` has no request for consent"))
                .suggest_steps([NextStep::ListRequests]);
            Err(explain_unfit(tape, run, other)?)
        },
        Ok,
    )
}

/// Makes the error of a request that can no longer be answered.
fn explain_closed(request: &OpenRequest) -> EffectError {
    let run = &request.run;
    let (code, why) = match request.state {
        RequestState::Void => {
            let why = request.void.as_deref().unwrap_or("no reason is recorded");
            ("consent-void", format!("is void: {why}"))
        }
        // A denied change is not offered again, also after its time.
        RequestState::Approved | RequestState::Denied => {
            ("consent-answered", "was answered already".to_owned())
        }
        RequestState::Open | RequestState::Expired => return settle::expired_request(run),
    };
    EffectError::new(Cause::Consent, code, format!("the request of run `{run}` {why}"))
        .hint("run the task again for a new request")
}

/// A consent that was given before the question.
struct GivenConsent<'a> {
    consent: &'a ApprovalConsent,
    now: Timestamp,
}

impl GivenConsent<'_> {
    /// Returns the consent to the state in question. `None` if the person did not agree to this state.
    fn consent_to(&self, question: &ConsentQuestion<'_>) -> Option<Consent> {
        match self.consent {
            ApprovalConsent::Asked => None,
            ApprovalConsent::Named {
                who,
                releases_withheld,
            } => {
                let allows = question.decision.effect() == Effect::Allow;
                let is_same = question.drift.is_none_or(|drift| drift.is_same_act(allows));
                is_same.then(|| Consent {
                    who: who.clone(),
                    when: self.now.clone(),
                    how: "approve".to_owned(),
                    hashes: question.hashes.clone(),
                    proof: None,
                    releases_withheld: *releases_withheld,
                })
            }
            ApprovalConsent::Seen(consent) => {
                (consent.hashes == *question.hashes).then(|| (**consent).clone())
            }
        }
    }
}

impl ConsentPort for GivenConsent<'_> {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        let consent = self.consent_to(&question);
        Box::pin(std::future::ready(consent.map_or(Answer::Nobody, Answer::Yes)))
    }
}

/// Returns the place for which the request was made.
fn place_of(request: &ConsentRequest) -> LandingPlace {
    let target = &request.target;
    match target.writes {
        Writes::CommitAndWorkTree => LandingPlace::CheckedOut,
        Writes::WorkTreeOnly => LandingPlace::WorkTree,
        Writes::CommitOnly => {
            LandingPlace::Branch(target.refname.trim_start_matches("refs/heads/").to_owned())
        }
        // Not expected: a run that writes nothing leaves no request.
        Writes::Nothing => LandingPlace::AtHead,
    }
}

#[cfg(test)]
mod expiry_tests;
#[cfg(test)]
mod meanwhile_tests;
#[cfg(test)]
mod tests;
