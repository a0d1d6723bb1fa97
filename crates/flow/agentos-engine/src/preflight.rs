//! The station before a call: what refuses every answer is found before a tool is paid for one.
//!
//! | question | asked of | refuses with | asked again after the call |
//! |---|---|---|---|
//! | can the branch take a commit now, and who makes it? | [`Repository::target`](crate::ports::Repository::target) | the executor's code | yes, it may change |
//! | does policy deny every change of this tool, on this branch, in this attempt? | [`agentos_policy::PolicySet::deny_ahead`] | the rule's code | yes, by the real change |
//! | does policy deny every change of the named files? | the same | the rule's code | yes |
//! | is uncommitted work in the way of every change of the named files? | [`Repository::check_named`](crate::ports::Repository::check_named) | the executor's code | yes, by the real change |
//!
//! Only certain answers count: a rule about the size, the time or the content of a change is asked when there is one. Named files
//! count only if the caller expects the change to be about them: a task may name a file just to show it.
//!
//! Owns: these questions and the outcome of a run that they end. Never: allows anything.

use agentos_policy::ToolFacts;

use crate::ports::{EffectError, TargetInfo};
use crate::request::TaskRequest;
use crate::settle::{RunEffects, explain_decision};
use crate::{Cause, Outcome, OutcomeKind};

/// Returns the outcome that no answer of this attempt could avoid. `None` if an answer may land.
///
/// # Errors
/// If policy or the repository cannot be read, or nothing can land in its present state.
pub(crate) fn refuse_ahead(
    effects: &RunEffects<'_>,
    request: &TaskRequest<'_>,
    target: &TargetInfo,
    tool: ToolFacts,
) -> Result<Option<Outcome>, EffectError> {
    // A recorded answer costs nothing, and its record is complete only with the decision about its change.
    if request.mock.is_some() {
        return Ok(None);
    }
    let named = if request.changes_named { request.files } else { &[] };
    let named: Vec<String> = named.iter().map(|file| file.path.clone()).collect();
    let paths: Vec<&str> = named.iter().map(String::as_str).collect();
    let tool = ToolFacts {
        target_ref: Some(target.refname.clone()),
        // A change that fails its check is never decided about.
        checked: request.check.is_some(),
        ..tool
    };
    if let Some(decision) = effects.repo.policy(target)?.set.deny_ahead(&paths, &tool) {
        let mut outcome = Outcome::new(request.run, OutcomeKind::Denied, Cause::Policy, String::new());
        outcome.target = Some(target.clone());
        let lead = "policy denies every change that could come of this, so no tool was called";
        return Ok(Some(explain_decision(outcome, decision, lead)));
    }
    // Only once: a later attempt is made for the same files, and work that a person begins meanwhile is found at the landing.
    if tool.attempt == 1 && !named.is_empty() {
        effects.repo.check_named(target, &named)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
