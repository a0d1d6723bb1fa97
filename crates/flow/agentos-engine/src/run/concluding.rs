//! The end of an attempt: the answer is checked, and landed if it passes.
//!
//! Owns: the check before the landing, and again if the branch moved meanwhile. Never: calls a tool.

use agentos_api::NextStep;
use agentos_policy::ToolFacts;
use agentos_tool::ProgressSink;

use super::unusable::find_unusable;
use super::{JudgedCall, attempt_facts};
use crate::ports::{CancelSignal, TargetInfo};
use crate::request::TaskRequest;
use crate::settle::{CHECK_STALE, Proposal, RunEffects, assisted_by, close, settle};
use crate::{Cause, Outcome, Tried, checking};

/// Adds to an outcome what the call of its attempt showed.
pub(super) fn add_call(outcome: &mut Outcome, proposed: &JudgedCall) {
    outcome.withheld.clone_from(&proposed.context.withheld);
    if !outcome.is_done() {
        outcome.output.clone_from(&proposed.output);
    }
    // Landing words its hints for the author of an answer, which is a tool here. A person reads the answer, and asks again.
    let is_unreadable = matches!(
        outcome.code.as_deref(),
        Some("no-diff" | "malformed" | "does-not-apply" | "ambiguous")
    );
    if outcome.cause == Cause::Landing && is_unreadable {
        let run = outcome.run.to_string();
        outcome.hint = None;
        outcome.next = vec![
            NextStep::ShowAnswer { run: run.clone() },
            NextStep::RetryRun { run },
        ];
    }
    // The repository is at fault and not the answer, which was paid for.
    if outcome.cause == Cause::Repository && proposed.candidate.is_some() {
        let run = outcome.run.to_string();
        outcome.next.push(NextStep::LandRecorded { run });
    }
}

/// Takes one answer to its end: runs the user's check if the run has one, then lands it. Returns the
/// failure on the base too, if the check fails there as well.
pub(super) async fn conclude_answer(
    effects: &mut RunEffects<'_>,
    request: &TaskRequest<'_>,
    proposed: &JudgedCall,
    (message, begun): (&str, &TargetInfo),
    attempt: u32,
    progress: &dyn ProgressSink,
    cancel: &mut CancelSignal<'_>,
) -> (Outcome, Option<Tried>) {
    if let Some(outcome) = find_unusable(request, proposed) {
        return (close(effects, outcome), None);
    }
    let mut moved = None;
    let mut trial = 1;
    loop {
        let candidate = moved.as_ref().or(proposed.candidate.as_ref());
        let candidate = candidate.map(|(target, change)| (target, change));
        let proof =
            match checking::check_candidate(effects, request, candidate, attempt, progress, cancel).await {
                Ok(proof) => proof,
                Err(error) => return (close(effects, Outcome::from_effect(request.run, &error)), None),
            };
        if let Some(failed) = proof.as_ref().filter(|proof| !proof.tried.passed) {
            let refused = checking::refuse_failed(request, &failed.tried, failed.base.as_ref());
            let outcome = close(effects, refused);
            let (tried, base) = proof.map_or((None, None), |proof| (Some(proof.tried), proof.base));
            return (with_check(outcome, tried), base);
        }
        let (of, tried) = proof.map(|proof| (proof.of, proof.tried)).unzip();
        let tool = ToolFacts {
            context_bytes: proposed.context.count_bytes().saturating_add(proposed.read_bytes),
            checked: tried.is_some(),
            ..attempt_facts(request, attempt, effects.clock.now())
        };
        let proposal = Proposal {
            proved: of,
            ..make_proposal(request, proposed, tool, message)
        };
        let outcome = settle(effects, &proposal, begun, cancel).await;
        let is_stale = outcome.code.as_deref() == Some(CHECK_STALE);
        if !is_stale || trial == checking::MAX_TRIALS {
            return (with_check(outcome, tried), None);
        }
        // Another run landed while the check ran: the change is placed on the branch as it is now, and checked there.
        // Asking the tool again would cost a call for an answer that is probably still right.
        moved = match checking::place_again(effects, &proposal) {
            Ok(Some(candidate)) => Some(candidate),
            Ok(None) => {
                return (with_check(outcome, tried), None);
            }
            Err(error) => return (close(effects, Outcome::from_effect(request.run, &error)), None),
        };
        trial += 1;
    }
}

/// Adds the result of the user's check to an outcome, unless it has that of a hook, which ran later.
fn with_check(outcome: Outcome, check: Option<Tried>) -> Outcome {
    Outcome {
        check: outcome.check.or(check),
        ..outcome
    }
}

fn make_proposal<'a>(
    request: &'a TaskRequest<'_>,
    proposed: &'a JudgedCall,
    tool: ToolFacts,
    message: &str,
) -> Proposal<'a> {
    let model = proposed.result.model_id.as_deref().or(request.model.as_deref());
    Proposal {
        run: request.run,
        answer: proposed
            .answer
            .as_ref()
            .map_or(b"", |answer| answer.text.as_bytes()),
        seen: proposed.context.seen.clone(),
        attempt: tool.attempt,
        tool,
        reported_model: proposed.result.model_id.clone(),
        message: message.to_owned(),
        trailers: vec![assisted_by(request.adapter.provider(), model)],
        // An answer is untrusted: a model that writes a mail must not choose who wrote the commit.
        author: None,
        partial: request.partial,
        answers: None,
        source: None,
        proved: None,
    }
}
