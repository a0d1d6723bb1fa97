//! Closing a request without a landing: a person's no, the proposer's withdrawal, and the end of its time.
//!
//! Owns: that a request whose change has landed is not declined. Never: lands a change.

use agentos_evidence::RecordKind;
use agentos_policy::Consent;
use serde_json::json;

use super::states::list_requests;
use super::{ConsentRequest, RequestState, find_open};
use crate::Cause;
use crate::ports::{EffectError, LandingHistory, LandingPause, RecordReader};
use crate::recorded::usage_error;
use crate::records;
use crate::settle::{self, RunEffects};

/// Most commits in which the landing of a request is looked for.
const MOST_COMMITS: usize = 10_000;

/// Closes a request for good, because the person `who` declines it, with the reason `comment` if one is given. Returns the recorded
/// answer.
///
/// # Errors
/// If the request is not open, or the answer cannot be recorded.
pub fn deny_request(
    effects: &mut RunEffects<'_>,
    (tape, history): (&dyn RecordReader, &dyn LandingHistory),
    id: &str,
    who: &str,
    comment: Option<&str>,
) -> Result<Consent, EffectError> {
    let _pause = pause_landings(effects)?;
    let asked = find_unlanded(effects, tape, history, id)?;
    let no = answer_by(who, "deny", effects, &asked);
    settle::record_denial(effects, &asked, id, &no, comment)?;
    Ok(no)
}

/// Keeps landings from beginning until the value is dropped, so that a request that is open stays so until its end is recorded.
///
/// # Errors
/// If they cannot be locked out, or an interrupted one cannot be recorded.
fn pause_landings(effects: &mut RunEffects<'_>) -> Result<LandingPause, EffectError> {
    let pause = effects.repo.pause_landings()?;
    if let Some(recovered) = &pause.recovered {
        records::record_now(effects.evidence, RecordKind::Recovered, recovered)?;
    }
    Ok(pause)
}

/// Finds a request that is open and whose change has not landed. A landing whose last record was lost, as on a full disk, is looked for
/// in the branches, and recorded if it is there.
///
/// # Errors
/// If the request is not open, its change has landed, or nobody can tell whether it has.
fn find_unlanded(
    effects: &mut RunEffects<'_>,
    tape: &dyn RecordReader,
    history: &dyn LandingHistory,
    id: &str,
) -> Result<ConsentRequest, EffectError> {
    let found = find_open(tape, id, &effects.clock.now())?;
    let Some(lost) = found.lost_end else {
        return Ok(found.request);
    };
    let run = &lost.run;
    if !lost.commits {
        let message =
            format!("run `{run}` may have written this change, and the end of its landing is not recorded");
        return Err(EffectError::new(Cause::Consent, "consent-answered", message)
            .hint("look at the files; an approval lands what is missing, or closes the request"));
    }
    let mut commits = history.landing_commits(MOST_COMMITS)?.into_iter();
    let Some(made) = commits.find(|commit| commit.run.as_ref() == Some(run)) else {
        return Ok(found.request);
    };
    let recovered = json!({ "run": run, "outcome": "finished", "commit": made.id, "kept": [] });
    records::record_now(effects.evidence, RecordKind::Recovered, &recovered)?;
    let message = format!("run `{run}` landed this change as {}", made.id);
    Err(EffectError::new(Cause::Consent, "consent-answered", message)
        .hint("the record of it had been lost, and is made now"))
}

/// Closes a request for good, because the tool that proposed its change takes it back. That is no answer of a person.
///
/// # Errors
/// If the request is not open, another provider proposed the change, or the record cannot be made.
pub fn withdraw_request(
    effects: &mut RunEffects<'_>,
    (tape, history): (&dyn RecordReader, &dyn LandingHistory),
    id: &str,
    provider: &str,
) -> Result<(), EffectError> {
    let _pause = pause_landings(effects)?;
    let asked = find_unlanded(effects, tape, history, id)?;
    // Else a tool could remove what another one, or a person, left to be decided.
    if asked.tool.provider != provider {
        return Err(usage_error(format!(
            "`{provider}` did not propose the change of run `{id}`"
        )));
    }
    settle::record_withdrawal(effects, &asked, id)
}

/// Closes a request whose time is over for good. Does nothing to a request in another state, or if that is on the tape already.
///
/// # Errors
/// If the tape cannot be read, or the record cannot be made.
pub fn close_expired(
    effects: &mut RunEffects<'_>,
    tape: &dyn RecordReader,
    id: &str,
) -> Result<(), EffectError> {
    let found = list_requests(tape, &effects.clock.now())?;
    let expired = found.into_iter().find(|request| {
        request.run == id && request.state == RequestState::Expired && request.void.is_none()
    });
    match expired {
        Some(expired) => settle::record_expiry(effects, &expired.request, id),
        None => Ok(()),
    }
}

/// Makes a person's answer, bound to the hashes of the request, with the current time.
fn answer_by(who: &str, how: &str, effects: &RunEffects<'_>, request: &ConsentRequest) -> Consent {
    Consent {
        who: who.to_owned(),
        when: effects.clock.now(),
        how: how.to_owned(),
        hashes: request.hashes.clone(),
        proof: None,
        releases_withheld: false,
    }
}
