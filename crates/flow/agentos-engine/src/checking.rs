//! Trying a candidate before anybody is asked about it, and what the tool is told when it fails.
//!
//! Owns: the order of trial, record and feedback. Never: runs anything itself, or takes a candidate's word for how it went:
//! the port says what exit code was seen.

use agentos_api::{NextStep, RunLimit, TaskPart};
use agentos_evidence::RecordKind;
use agentos_landing::{Change, LandOptions, land};
use agentos_tool::ProgressSink;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ports::{Cancel, Check, EffectError, TargetInfo};
use crate::records::{self, CheckBody};
use crate::request::{Request, race};
use crate::settle::{Deps, Proposal, Proved};
use crate::{Cause, Outcome, OutcomeKind};

/// Characters of a failed check's output that the tool is told: its end says what failed.
const TOLD: usize = 4000;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tried {
    /// The command.
    pub command: String,
    /// It ended by itself with exit code 0.
    pub passed: bool,
    /// Its exit code; none where it was ended.
    pub code: Option<u8>,
    /// The end of what it wrote; untrusted.
    pub said: String,
    /// From start to end.
    pub elapsed_ms: u64,
    /// The layers that held it.
    pub layers: Vec<String>,
}

/// Tries the candidate of a call; none where no check is asked for.
///
/// # Errors
/// When it could not be tried, or the user stopped it.
pub(crate) async fn tried(
    deps: &mut Deps<'_>,
    request: &Request<'_>,
    candidate: Option<(&TargetInfo, &Change)>,
    attempt: u32,
    progress: &dyn ProgressSink,
    cancel: &mut Cancel<'_>,
) -> Result<Option<Proof>, EffectError> {
    let (Some(check), Some((target, change))) = (request.check, candidate) else {
        return Ok(None);
    };
    let tried = once(check, target, change, attempt, progress, cancel).await?;
    let output_sha256 = deps.evidence.store_blob(tried.said.as_bytes())?;
    let record = CheckBody {
        attempt,
        command: &tried.command,
        base_commit: &target.base_commit,
        diff_sha256: change.sha256(),
        passed: tried.passed,
        code: tried.code,
        output_sha256: &output_sha256,
        elapsed_ms: tried.elapsed_ms,
        layers: &tried.layers,
    };
    records::record_now(deps.evidence, RecordKind::Check, &record)?;
    Ok(Some(Proof {
        of: Proved {
            base_commit: target.base_commit.clone(),
            diff_sha256: change.sha256().to_owned(),
        },
        tried,
    }))
}

/// A candidate that was tried.
pub(crate) struct Proof {
    /// Which.
    pub(crate) of: Proved,
    /// What came of it.
    pub(crate) tried: Tried,
}

async fn once(
    check: &dyn Check,
    target: &TargetInfo,
    change: &Change,
    attempt: u32,
    progress: &dyn ProgressSink,
    cancel: &mut Cancel<'_>,
) -> Result<Tried, EffectError> {
    race(check.check(target, change, attempt, progress), cancel)
        .await
        .unwrap_or_else(|| {
            Err(EffectError::new(
                Cause::Interrupted,
                "interrupted",
                "stopped by the user while the change was checked",
            ))
        })
}

/// The end of an attempt whose candidate failed its check.
pub(crate) fn refused(request: &Request<'_>, tried: &Tried) -> Outcome {
    let message = format!("the change does not pass `{}`: {}", tried.command, ending(tried));
    let cause = match tried.code {
        Some(_) => Cause::Landing,
        None => Cause::Limit,
    };
    let mut outcome = Outcome::new(request.run, OutcomeKind::Refused, cause, message);
    outcome.code = Some("check-failed".to_owned());
    outcome.next = match tried.code {
        None => vec![
            NextStep::RaiseLimit {
                limit: RunLimit::CheckTime,
            },
            NextStep::GiveLess {
                part: TaskPart::Check,
            },
        ],
        Some(_) if request.answers_once => {
            let sentence = "the same call gives the same change: mend what the check shows, or give another answer or program";
            outcome.hint = Some(sentence.to_owned());
            Vec::new()
        }
        Some(_) => vec![
            NextStep::ShowRun {
                run: request.run.to_string(),
            },
            NextStep::RaiseLimit {
                limit: RunLimit::Attempts,
            },
            NextStep::ChangeTask {
                advice: "what the check wants".to_owned(),
            },
        ],
    };
    outcome
}

fn ending(tried: &Tried) -> String {
    match tried.code {
        Some(code) => format!("it ended with exit code {code}"),
        None => "it did not end in time".to_owned(),
    }
}

/// What the tool is told of it.
pub(crate) fn feedback(tried: &Tried) -> String {
    let clean: Vec<char> = tried
        .said
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
        .collect();
    let from = clean.len().saturating_sub(TOLD);
    let end: String = clean.iter().skip(from).collect();
    format!(
        "Your last change was placed, and then `{}` was run on the result: {}. The end of its output:\n\n{end}\n\n\
         Give the whole change again, made for the files as they were shown.",
        tried.command,
        ending(tried),
    )
}

/// How often a change is checked because the branch moved while its check ran.
pub(crate) const MAX_TRIALS: u32 = 5;

/// Places an answer on the target as it is now. `None` if it does not land there.
pub(crate) fn place_again(
    deps: &Deps<'_>,
    proposal: &Proposal<'_>,
) -> Result<Option<(TargetInfo, Change)>, EffectError> {
    let target = deps.repo.target()?;
    let options = LandOptions {
        seen: proposal.seen.clone(),
        partial: proposal.partial,
        ..LandOptions::default()
    };
    let landed = land(proposal.answer, deps.repo.base(&target)?.as_ref(), &options);
    Ok(landed.ok().map(|found| (target, found.change)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_told_the_end_of_a_failure_and_nothing_that_moves_a_cursor() {
        let tried = Tried {
            command: "cargo test".to_owned(),
            passed: false,
            code: Some(101),
            said: format!("{}\u{1b}[31mtest a ... FAILED\n", "x".repeat(2 * TOLD)),
            elapsed_ms: 1,
            layers: Vec::new(),
        };
        let told = feedback(&tried);
        assert!(
            told.contains("`cargo test` was run on the result: it ended with exit code 101"),
            "{told}"
        );
        assert!(
            told.contains("[31mtest a ... FAILED") && !told.contains('\u{1b}'),
            "{told}"
        );
        assert!(told.chars().count() < TOLD + 300);
        let late = Tried { code: None, ..tried };
        assert!(feedback(&late).contains("it did not end in time"));
    }
}
