//! Context that every verb is given: the host, the common flags and the output.
//!
//! Owns: the shared values of one command, and the display of results and failures. Never: does a verb's work.

use agentos_api::{ErrorBody, ErrorReport, unsaid_causes};
use agentos_host::{Cause, EffectError, Host, Outcome, RunEnd};
use agentos_landing::LandingReport;
use agentos_tool::RunId;
use anstream::{AutoStream, ColorChoice};

use crate::args::Common;
use crate::exit::Exit;
use crate::printer::{Printer, paint, style};
use crate::render::next_step::word_hint;
use crate::render::run_ids::shorten_runs;
use crate::terminal::signals::{Signals, StopSignal};
use crate::terminal::{Streams, screen};
use crate::{codes, escape, render};

/// Result of a verb: the exit status, or a failure that still has to be shown.
pub type Done = Result<Exit, EffectError>;

/// Context of one command.
#[derive(Debug, Clone)]
pub struct App {
    /// The product without a screen.
    pub host: Host,
    /// Standard streams that a person sees.
    pub streams: Streams,
    /// Output streams.
    pub printer: Printer,
    /// Signals that end the program.
    pub signals: Signals,
    /// Flags of every verb.
    pub common: Common,
}

impl App {
    /// Returns true if standard error is a terminal whose last line can be redrawn.
    pub fn can_redraw(&self) -> bool {
        let terminal = self.host.environment().get("TERM");
        self.streams.stderr_is_terminal && terminal.map_or(cfg!(windows), |name| name != "dumb")
    }

    /// Returns true if standard output is a terminal that shows styles.
    pub fn has_styles(&self) -> bool {
        let choice = AutoStream::choice(&std::io::stdout());
        self.streams.stdout_is_terminal && self.can_redraw() && choice != ColorChoice::Never
    }

    /// Reports a success: a sentence for a person, or a JSON document for a program.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub fn report_success<T: serde::Serialize>(&self, sentence: &str, document: &T) -> Done {
        if self.printer.json {
            self.printer
                .write_json(document)
                .map_err(|error| output_failed(&error))?;
        } else {
            self.printer.show_note(&shorten_runs(sentence));
        }
        Ok(Exit::Done)
    }

    /// Shows the outcome of a verb that lands. If the outcome contains no next step, adds the default one for its code.
    pub fn show_outcome(&self, outcome: &Outcome) -> Done {
        // The hint is filled in before the format is chosen, so that JSON and text always name the same next step.
        let outcome = &Outcome {
            hint: word_hint(outcome.hint.as_deref(), &outcome.next)
                .or_else(|| default_hint(outcome.code.as_deref()?)),
            ..outcome.clone()
        };
        if self.printer.json {
            self.printer
                .write_json(outcome)
                .map_err(|error| output_failed(&error))?;
        } else {
            let text =
                render::outcome::format_outcome(outcome, self.common.verbose > 0, screen::error_width(self));
            self.show_text(text.trim_end(), outcome.is_done());
        }
        Ok(Exit::from(outcome.cause))
    }

    /// Shows the end of a run that lands.
    pub fn show_end(&self, end: RunEnd) -> Done {
        let outcome = self.outcome_of(end)?;
        self.show_outcome(&outcome)
    }

    /// Returns the outcome of a run that lands.
    ///
    /// # Errors
    /// Fails if the run was one that lands nothing. No caller passes such a run.
    pub fn outcome_of(&self, end: RunEnd) -> Result<Outcome, EffectError> {
        match end {
            RunEnd::Outcome(ended) => Ok(ended.outcome),
            RunEnd::Verdict(_) => {
                let message = "a run that should land a change ended without an outcome";
                Err(EffectError::new(Cause::Internal, "run-lost", message))
            }
        }
    }

    /// Prints the complete report to standard output, even for a refusal, because the report is what was requested. Adds the
    /// diff if there is one.
    pub fn show_report(&self, outcome: &Outcome, diff: Option<&[u8]>) -> Done {
        if self.printer.json {
            return self.show_outcome(outcome);
        }
        let width = self.printer.out_width.unwrap_or(screen::USUAL_WIDTH);
        let text = render::outcome::format_outcome(&word_outcome(outcome), true, width);
        let mut text = self.printer.fit_report(&shorten_runs(&text));
        if let Some(diff) = diff {
            text.push('\n');
            text.push_str(&self.format_diff(diff, outcome.report.as_ref()));
        }
        self.print_exact(&text).map_err(|error| output_failed(&error))?;
        Ok(Exit::from(outcome.cause))
    }

    /// Reports that a signal stopped the verb, and what remains.
    pub fn show_stopped(&self, remains: &str) -> Exit {
        let name = self.signals.received().map_or("Ctrl-C", StopSignal::name);
        self.printer.show_error(&format!("{name}: {remains}"));
        Exit::Interrupted
    }

    /// Formats a diff for this screen. With a report, the margin shows how each hunk was placed.
    pub fn format_diff(&self, diff: &[u8], report: Option<&LandingReport>) -> String {
        let width = screen::output_width(self);
        render::diff::format_diff(diff, width, report)
    }

    /// Shows text. `--quiet` hides it only for a success: the reason for a refusal is always shown.
    fn show_text(&self, text: &str, done: bool) {
        let text = &shorten_runs(text);
        // With `--quiet` a refusal would otherwise end with an exit code and no reason.
        if done {
            self.printer.show_note(text);
        } else {
            self.printer.show_error(text);
        }
    }

    /// Shows a failure that happened before a run could begin. If it contains no next step, adds the default one for its code.
    pub fn show_failure(&self, run: Option<&RunId>, error: &EffectError) -> Exit {
        // Codes reach here from every layer, and only some of them come with a step. A failure without any step would
        // leave the person alone with the message.
        let hint = word_hint(error.hint.as_deref(), &error.next).or_else(|| default_hint(&error.code));
        let error = &EffectError {
            hint,
            ..error.clone()
        };
        if self.printer.json {
            // If standard output is closed, there is no other place for the document.
            let _ = match run {
                // A verb that lands prints the same document for every end, so a script needs one schema and finds the
                // id of the records.
                Some(run) => self.printer.write_json(&Outcome::from_effect(run, error)),
                None => self.printer.write_json(&report_error(error)),
            };
            return Exit::from(error.cause);
        }
        let mut text = format!(
            "{} {} {}",
            paint(style::BAD, "error"),
            paint(style::DIM, &format!("[{}]", error.code)),
            // Messages quote paths, servers and programs, whose text could contain terminal control sequences.
            escape::line(&error.message)
        );
        // Most messages already contain their first cause. Repeating it would hide the causes that add something.
        for cause in unsaid_causes(&error.message, error.causes()) {
            text.push_str(&format!("\n  caused by: {}", escape::line(cause)));
        }
        if let Some(hint) = &error.hint {
            text.push_str(&format!(
                "\n  {} {}",
                paint(style::BOLD, "next:"),
                escape::line(hint)
            ));
        }
        self.printer.show_error(&shorten_runs(&text));
        Exit::from(error.cause)
    }
}

/// Returns the exit status of an outcome, which is a success if there was nothing to do and the caller allows that.
pub fn allow_empty(exit: Exit, outcome: &Outcome, is_allowed: bool) -> Exit {
    match outcome.code.as_deref() {
        Some("empty") if is_allowed => Exit::Done,
        Some(_) | None => exit,
    }
}

/// Returns the default next step for a code. `None` if the code comes from a policy rule.
fn default_hint(code: &str) -> Option<String> {
    codes::default_step(code).map(str::to_owned)
}

/// Returns the outcome with its next steps worded as commands and flags.
pub fn word_outcome(outcome: &Outcome) -> Outcome {
    Outcome {
        hint: word_hint(outcome.hint.as_deref(), &outcome.next),
        ..outcome.clone()
    }
}

/// Returns the JSON document about the failure of a verb that lands nothing.
fn report_error(error: &EffectError) -> ErrorReport {
    ErrorReport {
        version: 1,
        error: ErrorBody {
            code: error.code.clone(),
            cause: error.cause,
            message: error.message.clone(),
            hint: error.hint.clone(),
            next: error.next.clone(),
            causes: error.causes().to_vec(),
        },
    }
}

/// Creates the failure for standard output that cannot be written.
pub fn output_failed(error: &std::io::Error) -> EffectError {
    EffectError::from_source(
        Cause::Internal,
        "output",
        format!("cannot write to standard output: {error}"),
        error,
    )
}

/// Creates the failure of a verb that a signal stopped before it wrote anything.
pub fn stopped_error() -> EffectError {
    EffectError::new(Cause::Interrupted, "interrupted", "stopped; nothing was written")
}

pub use agentos_host::usage_error;
