//! The repository's own hooks before a commit.
//!
//! Owns: when they run, their records, and the outcome of a commit that one rejects. Never: takes what a hook writes, or runs a hook
//! that the user did not ask for.
//!
//! | a hook | the change | why |
//! |---|---|---|
//! | passes and writes nothing | goes on to consent | |
//! | fails, or does not end in time | does not land; the tool may try again | git would not commit either |
//! | passes and changes a file | does not land | policy judged the change without that; git would commit it if the hook stages it |
//! | passes and changes the message | does not land | the person who reads the message would not know whose words it has |
//! | `commit-msg` fails | does not land, and no tool is asked again | the message is the user's, not the tool's |

use agentos_api::{NextStep, RunOption};
use agentos_evidence::RecordKind;
use agentos_landing::Change;

use super::proposal::{Proposal, RunEffects};
use crate::ports::{CancelSignal, EffectError, HookResult, HookedCommit, TargetInfo, Writes};
use crate::records::{self, CheckBody};
use crate::request::await_or_cancel;
use crate::{Cause, Outcome, OutcomeKind};

/// The code of a commit that a hook rejects.
const HOOK_FAILED: &str = "hook-failed";
/// The code of a commit that a hook would change.
const HOOK_CHANGED: &str = "hook-changed";
/// Most files that a message names.
const MOST_NAMED: usize = 5;

/// Runs the hooks on a change that policy does not deny, and records their results. Returns the outcome of a commit that a hook
/// rejects. `None` if all pass, there is none, the user did not ask for them, or no commit is made.
///
/// # Errors
/// If a hook could not be run, or the user stopped it.
pub(super) async fn run_hooks(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    change: &Change,
    cancel: &mut CancelSignal<'_>,
) -> Result<Option<Outcome>, EffectError> {
    let hooks = match (effects.hooks, target.writes) {
        // Nothing is committed, so git would run none.
        (None, _) | (_, Writes::WorkTreeOnly) => return Ok(None),
        (Some(hooks), Writes::CommitAndWorkTree | Writes::CommitOnly | Writes::Nothing) => hooks,
    };
    let commit = HookedCommit {
        change,
        run: proposal.run,
        attempt: proposal.attempt,
        message: &proposal.message,
        trailers: &proposal.trailers,
        author: proposal.author.as_ref(),
        tool: &proposal.tool,
    };
    let stopped = || {
        let message = "stopped by the user while a hook ran; the answer is kept in the evidence";
        EffectError::new(Cause::Interrupted, "interrupted", message)
    };
    let results = await_or_cancel(hooks.run_hooks(target, commit), cancel).await;
    let results = results.unwrap_or_else(|| Err(stopped()))?;
    for result in &results {
        record_hook(effects, (proposal, target, change), result)?;
    }
    let rejecting = results.into_iter().find(|result| !result.tried.passed);
    Ok(rejecting.map(|result| reject_commit(proposal, target, result)))
}

/// Records the result of a hook.
fn record_hook(
    effects: &mut RunEffects<'_>,
    (proposal, target, change): (&Proposal<'_>, &TargetInfo, &Change),
    result: &HookResult,
) -> Result<(), EffectError> {
    let tried = &result.tried;
    let output_sha256 = effects.evidence.store_blob(tried.said.as_bytes())?;
    let record = CheckBody {
        attempt: proposal.attempt,
        command: &tried.command,
        base_commit: &target.base_commit,
        diff_sha256: Some(change.sha256()),
        passed: tried.passed,
        code: tried.code,
        output_sha256: &output_sha256,
        elapsed_ms: tried.elapsed_ms,
        layers: &tried.layers,
        hook: Some(&result.hook),
        changed: &result.changed,
    };
    // Durable with the consent or the refusal that follows, or with the intent.
    records::record_with_next(effects.evidence, RecordKind::Check, &record)
}

/// Makes the outcome of a commit that a hook rejects, or would change.
fn reject_commit(proposal: &Proposal<'_>, target: &TargetInfo, result: HookResult) -> Outcome {
    let hook = &result.hook;
    let ended_well = result.tried.code == Some(0);
    // The message is the user's, and files that a hook changed are no fault that the tool was shown.
    let is_of_tool = !ended_well && hook != "commit-msg";
    let cause = match result.tried.code {
        None => Cause::Limit,
        Some(_) if is_of_tool => Cause::Landing,
        Some(_) => Cause::Repository,
    };
    let message = match (ended_well, result.tried.code) {
        (false, Some(code)) => {
            format!("the hook `{hook}` rejects the commit: it ended with exit code {code}")
        }
        (false, None) => format!("the hook `{hook}` did not end in time"),
        (true, _) => format!(
            "the hook `{hook}` changed {}, which is not taken",
            name_changed(&result)
        ),
    };
    let mut outcome = Outcome::new(proposal.run, OutcomeKind::Refused, cause, message);
    outcome.code = Some(if ended_well { HOOK_CHANGED } else { HOOK_FAILED }.to_owned());
    outcome.hint = Some(if ended_well && !result.changes_message {
        "a hook may check a change and not make one, because policy has judged it: run the formatter as the tool".to_owned()
    } else if ended_well {
        "a hook may check the message and not write it".to_owned()
    } else if hook == "commit-msg" {
        "give a message that it accepts".to_owned()
    } else {
        "fix what the hook shows".to_owned()
    });
    outcome.next = vec![
        NextStep::ShowRun {
            run: proposal.run.to_string(),
        },
        NextStep::LeaveOut {
            option: RunOption::Hooks,
        },
    ];
    outcome.target = Some(target.clone());
    outcome.check = Some(result.tried);
    outcome
}

/// Names what a hook changed, in words.
fn name_changed(result: &HookResult) -> String {
    if result.changes_message {
        return "the commit message".to_owned();
    }
    let named: Vec<String> = result
        .changed
        .iter()
        .take(MOST_NAMED)
        // The name of a file is the hook's: a control character must not reach a terminal.
        .map(|path| format!("`{}`", path.escape_debug()))
        .collect();
    match result.changed.len().saturating_sub(MOST_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more files", named.join(", ")),
    }
}
