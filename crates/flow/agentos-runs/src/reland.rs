//! `agentos land`: lands the recorded answer of an earlier run, without a call of a tool.
//!
//! Owns: which run is meant, its commit message, and the notices about it. Never: decides whether an answer may land; see
//! [`recorded_answer`].

use agentos_api::{NextStep, Notice};
use agentos_engine::Cause;
use agentos_engine::ports::{CancelSignal, EffectError, TargetInfo};
use agentos_engine::recorded_answer::{self, RecordedAnswer, RelandOrder};
use agentos_evidence::RunSummary;
use agentos_tool::{RunId, short_run};

use crate::tasks::{FROM_STANDARD_INPUT, commit_message};
use agentos_ground::Ground;
use agentos_ground::answer_spec::RelandSpec;
use agentos_ground::clock;
use agentos_ground::run_end::RunEnd;
use agentos_ground::run_ref::find_summary;
use agentos_providers::session::Session;
use agentos_stories::run_log::{ResultKind, log_run};

/// Lands the last answer of an earlier run.
///
/// # Errors
/// If no one run is meant, it has no answer that may land, or it landed before and that is not expected.
pub(crate) async fn land_recorded(
    ground: &Ground,
    session: &mut Session,
    run: &RunId,
    spec: &RelandSpec,
    names_branch: bool,
    cancel: &mut CancelSignal<'_>,
) -> Result<RunEnd, EffectError> {
    let summary = find_summary(session.store(), &spec.run, Some(run))?;
    if !spec.again {
        refuse_landed(&summary)?;
    }
    let mut ports = session.revisit_ports();
    let found = recorded_answer::read_answer(ports.tape, &summary.run)?;
    if !spec.unchecked {
        refuse_unchecked(&found, &summary.run)?;
    }
    for notice in collect_notices(&found, &summary, names_branch, &ports.effects.repo.target()) {
        ground.notify(notice);
    }
    let message = spec.message.clone().or_else(|| found.message.clone());
    let order = RelandOrder {
        run,
        message: message.unwrap_or_else(|| default_message(&found, &summary)),
        partial: spec.partial,
    };
    let outcome = recorded_answer::land_recorded(&mut ports.effects, &found, order, cancel).await;
    Ok(outcome.into())
}

/// Makes the commit message of a run whose tape does not state one.
fn default_message(found: &RecordedAnswer, summary: &RunSummary) -> String {
    match summary.verb.as_deref() {
        Some("apply") if found.instruction == FROM_STANDARD_INPUT => String::new(),
        Some("apply") => format!("Apply {}", found.instruction),
        Some(_) | None => commit_message(&found.instruction),
    }
}

/// Refuses a run whose answer is in the repository already, unless the caller says that it should land once more.
fn refuse_landed(summary: &RunSummary) -> Result<(), EffectError> {
    let result = log_run(summary, &clock::now()).result;
    let short = short_run(&summary.run);
    let message = match (result.kind, &result.commit) {
        (ResultKind::Landed, Some(commit)) => {
            format!(
                "run `{short}` landed already, as commit `{}`",
                commit.get(..10).unwrap_or(commit)
            )
        }
        (ResultKind::Landed, None) => format!("run `{short}` landed already, without a commit"),
        (ResultKind::Approved, _) => format!("run `{short}` was approved, and another run landed its change"),
        (_, _) => return Ok(()),
    };
    // A person who names a landed run has undone it, wants it on another branch, or means another run.
    Err(EffectError::new(Cause::Usage, "already-landed", message)
        .suggest_steps([NextStep::LandAgain, NextStep::ListRuns]))
}

/// Refuses an answer that did not pass the check of its run. The check is not run here: the tool that could correct the answer is
/// not asked either, and `retry` does both.
fn refuse_unchecked(found: &RecordedAnswer, run: &str) -> Result<(), EffectError> {
    let Some(check) = &found.unpassed_check else {
        return Ok(());
    };
    let command = &check.command;
    let message = match check.has_failed {
        true => format!(
            "the answer of run `{}` failed its check `{command}`",
            short_run(run)
        ),
        false => format!(
            "the answer of run `{}` was not tried with its check `{command}`",
            short_run(run)
        ),
    };
    let retry = NextStep::RetryRun { run: run.to_owned() };
    Err(EffectError::new(Cause::Usage, "unchecked-answer", message)
        .suggest_steps([NextStep::LandUnchecked, retry]))
}

/// Returns what a person should know before the answer lands.
fn collect_notices(
    found: &RecordedAnswer,
    summary: &RunSummary,
    names_branch: bool,
    target: &Result<TargetInfo, EffectError>,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let short = short_run(&summary.run);
    let branch = |refname: &str| refname.trim_start_matches("refs/heads/").to_owned();
    if let (false, Ok(target)) = (names_branch, target)
        && target.refname != found.target.refname
    {
        let (then, now) = (branch(&found.target.refname), branch(&target.refname));
        let message = format!("run {short} was for the branch `{then}`; its answer lands on `{now}`");
        notices.push(Notice::new("other-branch", message));
    }
    if let Some(check) = &found.unpassed_check {
        let command = &check.command;
        let message = match check.has_failed {
            true => format!("the check `{command}` failed with this answer, and is not run again"),
            false => format!("the check `{command}` was not run with this answer, and is not run now"),
        };
        notices.push(Notice::new("check-not-run", message));
    }
    notices
}
