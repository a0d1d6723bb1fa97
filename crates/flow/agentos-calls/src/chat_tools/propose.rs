//! `propose_change`: an answer on its way through landing and policy, up to the request for a person.
//!
//! Owns: the result for the model. Never: consents.

use agentos_chat::ToolAnswer;
use agentos_engine::feedback::write_feedback;
use agentos_engine::ports::EffectError;
use agentos_engine::settle::told_state;
use agentos_engine::withheld::WITHHELD_FILE;
use agentos_engine::{Outcome, OutcomeKind};
use agentos_landing::LandingReport;
use agentos_tool::RunId;

use super::base_reader::{BaseReader, ShownText, with_base};
use super::{CallArguments, StopSlot, ToolContext, describe_error, no_tool};
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::control::RunControl;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ProposalSpec;

/// Makes the runs of proposals. The crate of runs implements it, so that reading a repository needs no run.
pub trait ProposalRuns: std::fmt::Debug + Send + Sync {
    /// Prepares the run of a proposal, which begins with [`PreparedProposal::finish`].
    fn prepare(
        &self,
        ground: &Ground,
        run: RunId,
        session: SessionOptions,
        proposal: ProposalSpec,
    ) -> PreparedProposal;
}

/// The run of a proposal that has not begun.
pub struct PreparedProposal {
    /// Stops the run.
    pub control: RunControl,
    /// Does the work of the run on the calling thread, and returns its outcome.
    pub finish: Box<dyn FnOnce() -> Result<Option<Outcome>, EffectError> + Send>,
}

/// Proposes a change.
pub(super) fn propose_change(
    context: &ToolContext,
    arguments: &CallArguments<'_>,
    stop: &StopSlot,
) -> ToolAnswer {
    let spec = &context.spec;
    let Some(runs) = &spec.proposals else {
        return no_tool("propose_change");
    };
    let id = clock::new_run();
    let proposal = ProposalSpec {
        answer: arguments.text("answer").unwrap_or_default().as_bytes().to_vec(),
        message: arguments.text("message").map(str::to_owned),
        instruction: spec.conversation.clone(),
        author: spec.author.clone(),
    };
    let PreparedProposal { control, finish } =
        runs.prepare(&context.ground, id.clone(), spec.session.clone(), proposal);
    // Stored under the lock under which the call is abandoned, so that a stop between the two is not lost.
    if let Ok(mut state) = stop.lock() {
        if state.is_stopped {
            return ToolAnswer::from_error("The call was stopped.");
        }
        state.control = Some(control);
    }
    let answer = match finish() {
        Ok(Some(outcome)) => describe_outcome(context, &outcome),
        Ok(None) => ToolAnswer::from_error("The proposal has no outcome."),
        Err(error) => ToolAnswer::from_error(describe_error(&error)).with_code(error.code),
    };
    ToolAnswer {
        runs: vec![id],
        ..answer
    }
}

/// Words an outcome for the model: what happened, what was left to a person, and what to correct.
fn describe_outcome(context: &ToolContext, outcome: &Outcome) -> ToolAnswer {
    let request = outcome.run.short_id();
    let files = outcome.files.join(", ");
    if outcome.code.as_deref() == Some(WITHHELD_FILE) {
        // One answer for every such change. Whether it can be placed, and what policy says about it, would show what is in the file.
        return ToolAnswer::from_text(format!(
            "The change is about a file that the user's policy withholds from you. It is left to the user as request {request}, and \
             whether it can be placed is not shown to you. Nothing is written yet."
        ));
    }
    let text = match outcome.outcome {
        OutcomeKind::ConsentNeeded
            if outcome.report.is_some() && outcome.code.as_deref() != Some("interrupted") =>
        {
            return ToolAnswer::from_text(format!(
                "The change can be placed, and waits for the user as request {request}. Nothing is written yet, and no tool can \
                 consent to it. Files: {files}. State: {}.",
                told_state(outcome)
            ));
        }
        OutcomeKind::Landed => {
            let commit = outcome.commit.as_deref().unwrap_or("no commit");
            return ToolAnswer::from_text(format!("The change landed ({commit}). Files: {files}."));
        }
        OutcomeKind::NothingToDo => {
            return ToolAnswer::from_text(format!("Nothing to do: {}.", outcome.message));
        }
        OutcomeKind::Refused | OutcomeKind::Denied | OutcomeKind::ConsentNeeded | OutcomeKind::Failed => {
            describe_refusal(context, outcome)
        }
    };
    let code = outcome.code.as_deref().unwrap_or("failed");
    ToolAnswer::from_error(text).with_code(code)
}

/// Records that the model is shown lines of the files of a report. Returns false if policy does not let it read that much.
fn record_quotes(
    reader: &BaseReader<'_>,
    report: &LandingReport,
    feedback: &str,
) -> Result<bool, EffectError> {
    for file in &report.files {
        let blobs = reader.find_blob(&file.path)?;
        // The feedback quotes no line of a file that policy withholds, or that the base does not have.
        if blobs.is_empty() || !reader.allows_name(&file.path) {
            continue;
        }
        let quotes = ShownText {
            by: "propose_change",
            path: &file.path,
            lines: Vec::new(),
            commit: None,
            blobs,
            text: feedback.as_bytes(),
        };
        if !reader.admit_text(quotes) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn describe_refusal(context: &ToolContext, outcome: &Outcome) -> String {
    let code = outcome.code.as_deref().unwrap_or("failed");
    // The report has the message, the hint and the real lines. A placed answer has a report that only says that it lands.
    if let Some(report) = outcome.report.as_ref().filter(|report| report.refusal.is_some()) {
        let feedback = with_base(context, |reader| {
            let mut all = reader.list_facts().into_iter();
            let word = |facts| write_feedback(report, reader.base, reader.policy, &facts);
            let model = all.next().map(word).transpose()?.unwrap_or_default();
            for facts in all {
                // It quotes lines that a receiver may not see.
                if word(facts)? != model {
                    return Ok(
                        "It quotes lines of files that policy withholds from a program you can call"
                            .to_owned(),
                    );
                }
            }
            if !record_quotes(reader, report, &model)? {
                return Ok("It quotes more lines than policy lets this provider read".to_owned());
            }
            Ok(model)
        });
        return match feedback {
            Ok(feedback) => format!("Code: {code}. {feedback}"),
            Err(error) => format!("Nothing was changed ({code}). {}", describe_error(&error)),
        };
    }
    let hint = outcome
        .hint
        .as_ref()
        .map(|hint| format!(" {hint}."))
        .unwrap_or_default();
    format!("Nothing was changed ({code}): {}.{hint}", outcome.message)
}
