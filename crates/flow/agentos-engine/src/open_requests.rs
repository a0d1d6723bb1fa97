//! Open requests: a person's later answer to a run that ended with a request for consent.
//!
//! Owns: finding the open requests on the tape, and the order of the steps when one is answered. Never: uses an answer
//! for another change: the consent is bound to the request's own change, base, policy and target.

use agentos_api::NextStep;
use agentos_evidence::RecordKind;
use agentos_policy::{Consent, ToolFacts};
use agentos_tool::{RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ports::{
    Answer, CancelSignal, ConsentFuture, ConsentPort, ConsentQuestion, EffectError, LandingPlace,
    RecordReader, Writes,
};
use crate::recorded::{explain_unfit, parse_record, usage_error};
use crate::settle::{self, ConsentRequest, Proposal, RunEffects};
use crate::{Cause, Outcome};

/// A change that waits for a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OpenRequest {
    /// The run that asked.
    pub run: String,
    /// Time of the request.
    pub asked: String,
    /// True if nobody has answered and the request has not expired.
    pub open: bool,
    /// The change and its target.
    pub request: ConsentRequest,
}

/// Lands the change for which an earlier run requested consent.
///
/// `approver` is a person who consents by naming the request. `None` if a person is asked through the consent port.
///
/// # Errors
/// If the request is not open, or its change is not on the tape.
pub async fn approve_request(
    effects: &mut RunEffects<'_>,
    tape: &dyn RecordReader,
    run: &RunId,
    id: &str,
    approver: Option<&str>,
    cancel: &mut CancelSignal<'_>,
) -> Result<Outcome, EffectError> {
    let (OpenRequest { request, .. }, diff) = read_open(tape, id, &effects.clock.now())?;
    effects.repo.aim(&place_of(&request))?;
    let proposal = Proposal {
        run,
        answer: &diff,
        // The canonical diff fits the base byte by byte, so it does not matter what the tool was shown.
        seen: Vec::new(),
        tool: ToolFacts {
            at: effects.clock.now(),
            ..request.tool.clone()
        },
        reported_model: request.reported_model.clone(),
        message: request.message.clone(),
        trailers: request.trailers.clone(),
        author: request.author.clone(),
        attempt: request.tool.attempt,
        partial: false,
        answers: Some(id.to_owned()),
        // No second check: the consent is bound to the same change and commit as the check was.
        source: None,
        proved: None,
    };
    let instruction = format!("Approve run {id}");
    let Some(who) = approver else {
        return Ok(settle::apply_answer(effects, "approve", &instruction, &proposal, cancel).await);
    };
    let mut given = GivenConsent(answer_by(who, "approve", effects, &request));
    // The person has answered already, so the run's own source of consent is not asked.
    let mut effects = RunEffects {
        repo: effects.repo,
        evidence: &mut *effects.evidence,
        consent: &mut given,
        clock: effects.clock,
    };
    Ok(settle::apply_answer(&mut effects, "approve", &instruction, &proposal, cancel).await)
}

/// Closes a request for good, because the person `who` declines it. Returns the recorded answer.
///
/// # Errors
/// If the request is not open, or the answer cannot be recorded.
pub fn deny_request(
    effects: &mut RunEffects<'_>,
    tape: &dyn RecordReader,
    id: &str,
    who: &str,
) -> Result<Consent, EffectError> {
    let asked = find_open(tape, id, &effects.clock.now())?.request;
    let no = answer_by(who, "deny", effects, &asked);
    settle::record_denial(effects, &asked, id, &no)?;
    Ok(no)
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

/// Finds the request of a run, if it can still be answered.
fn find_open(tape: &dyn RecordReader, run: &str, now: &Timestamp) -> Result<OpenRequest, EffectError> {
    let found = list_requests(tape, now)?;
    let Some(request) = found.into_iter().find(|request| request.run == run) else {
        let other = usage_error(format!("run `{run}` has no request for consent"))
            .suggest_steps([NextStep::ListRequests]);
        return Err(explain_unfit(tape, run, other)?);
    };
    if request.open {
        return Ok(request);
    }
    let (code, why) = if is_expired(&request.request, now) {
        ("consent-expired", "has expired")
    } else {
        ("consent-answered", "was answered already")
    };
    Err(
        EffectError::new(Cause::Consent, code, format!("the request of run `{run}` {why}"))
            .hint("run the task again for a new request"),
    )
}

fn is_expired(request: &ConsentRequest, now: &Timestamp) -> bool {
    request.expires.unix_seconds() <= now.unix_seconds()
}

/// Makes a person's answer, bound to the hashes of the request, with the current time.
fn answer_by(who: &str, how: &str, effects: &RunEffects<'_>, request: &ConsentRequest) -> Consent {
    Consent {
        who: who.to_owned(),
        when: effects.clock.now(),
        how: how.to_owned(),
        hashes: request.hashes.clone(),
    }
}

/// A consent to exactly one change, given before the question. `approve` checks that it fits the change.
struct GivenConsent(Consent);

impl ConsentPort for GivenConsent {
    fn ask<'a>(&'a mut self, _question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        Box::pin(std::future::ready(Answer::Yes(self.0.clone())))
    }
}

/// The members of a consent record that are needed here.
#[derive(Deserialize)]
struct ConsentEntry {
    request: Option<ConsentRequest>,
    answers: Option<String>,
    given: bool,
    consent: Option<Value>,
}

/// A record that opens or closes a request.
struct RequestStep {
    run: String,
    at: String,
    kind: StepKind,
}

enum StepKind {
    /// The run lands the recorded answer of this run.
    Begun(String),
    Consent(Box<ConsentEntry>),
    Landed,
}

/// Lists every request on the tape, the oldest first.
fn list_requests(tape: &dyn RecordReader, now: &Timestamp) -> Result<Vec<OpenRequest>, EffectError> {
    let mut steps = Vec::new();
    for record in tape.records()? {
        let record = record?;
        let kind = match record.kind {
            RecordKind::Task => match record.body.pointer("/source/run").and_then(Value::as_str) {
                Some(source) => StepKind::Begun(source.to_owned()),
                None => continue,
            },
            // A dry run writes a receipt as well.
            RecordKind::Receipt if record.body.get("writes").and_then(Value::as_str) == Some("nothing") => {
                continue;
            }
            RecordKind::Consent => StepKind::Consent(Box::new(parse_record(tape, &record)?)),
            RecordKind::Receipt => StepKind::Landed,
            _ => continue,
        };
        steps.push(RequestStep {
            run: record.run,
            at: record.ts,
            kind,
        });
    }
    Ok(follow_steps(steps, now))
}

/// Follows the requests to their ends. A request is closed by a person's no, by the landing that a yes led to, or by a
/// landing of the same recorded answer. A yes that did not land leaves it open.
fn follow_steps(steps: Vec<RequestStep>, now: &Timestamp) -> Vec<OpenRequest> {
    let mut found: Vec<OpenRequest> = Vec::new();
    // The run that said yes, and the run that requested consent.
    let mut consents: Vec<(String, String)> = Vec::new();
    // The run that lands a recorded answer, and the run that recorded it.
    let mut sources: Vec<(String, String)> = Vec::new();
    let find = |pairs: &[(String, String)], run: &str| {
        let found = pairs.iter().find(|(by, _)| by == run);
        found.map(|(_, of)| of.clone())
    };
    for RequestStep { run, at, kind } in steps {
        let closed = match kind {
            StepKind::Begun(of) => {
                sources.push((run, of));
                continue;
            }
            StepKind::Landed => {
                let answered = find(&consents, &run);
                let source = find(&sources, answered.as_ref().unwrap_or(&run));
                close_request(&mut found, source.as_ref());
                answered
            }
            StepKind::Consent(said) => match (said.answers, said.request) {
                (Some(of), _) if said.given => {
                    consents.push((run, of));
                    None
                }
                // Without a consent in the record, nobody was asked: a run only looked at the request.
                (Some(of), _) => said.consent.map(|_| of),
                (None, Some(request)) => {
                    found.push(OpenRequest {
                        run,
                        asked: at,
                        open: !is_expired(&request, now),
                        request,
                    });
                    None
                }
                (None, None) => None,
            },
        };
        close_request(&mut found, closed.as_ref());
    }
    found
}

/// Closes the request of a run, if it left one.
fn close_request(found: &mut [OpenRequest], run: Option<&String>) {
    for request in found.iter_mut().filter(|request| Some(&request.run) == run) {
        request.open = false;
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
mod tests;
