//! What every command gets: the environment, the common flags and the way out.
//!
//! Owns: the shared values of one call, and how a failed effect is shown. Never: does a command's work.

use agentos_api::{NextStep, unsaid_causes};
use agentos_host::{Cause, EffectError, Host, Outcome, RunEnd};
use agentos_landing::LandingReport;
use agentos_tool::RunId;

use crate::args::Common;
use crate::exit::Exit;
use crate::printer::{Printer, paint, style};
use crate::render::next_step::word_hint;
use crate::terminal::{Streams, screen};
use crate::{codes, escape, render};

/// How a command ends when it does not end with an outcome of its own.
pub type Done = Result<Exit, EffectError>;

/// One call of the program.
#[derive(Debug, Clone)]
pub struct App {
    /// The product without a screen.
    pub host: Host,
    /// Which streams a person looks at.
    pub streams: Streams,
    /// Where output goes.
    pub printer: Printer,
    /// Flags of every verb.
    pub common: Common,
}

impl App {
    /// Says that something was done: a sentence for a person, a document for a program.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn say<T: serde::Serialize>(&self, sentence: &str, document: &T) -> Done {
        if self.printer.json {
            self.printer
                .json(document)
                .map_err(|error| output_failed(&error))?;
        } else {
            self.printer.note(sentence);
        }
        Ok(Exit::Done)
    }

    /// Shows the end of a verb that lands. Where it does not say what to do next, its code does.
    pub fn finish(&self, outcome: &Outcome) -> Done {
        let outcome = &Outcome {
            hint: word_hint(outcome.hint.as_deref(), &outcome.next)
                .or_else(|| default_hint(outcome.code.as_deref()?)),
            ..outcome.clone()
        };
        if self.printer.json {
            self.printer
                .json(outcome)
                .map_err(|error| output_failed(&error))?;
        } else {
            let text = render::outcome::outcome(outcome, self.common.verbose > 0);
            self.show(text.trim_end(), outcome.is_done());
        }
        Ok(Exit::from(outcome.cause))
    }

    /// Shows the end of a run that lands.
    pub fn end(&self, end: RunEnd) -> Done {
        let outcome = self.outcome(end)?;
        self.finish(&outcome)
    }

    /// Returns the outcome of a run that lands.
    ///
    /// # Errors
    /// If the run was a question, which no caller asks here.
    pub fn outcome(&self, end: RunEnd) -> Result<Outcome, EffectError> {
        match end {
            RunEnd::Outcome(ended) => Ok(ended.outcome),
            RunEnd::Verdict(_) => {
                let message = "a question was asked where a change was to land";
                Err(EffectError::new(Cause::Internal, "run-lost", message))
            }
        }
    }

    /// Shows the whole report as data, whatever the end: it is what was asked for. Below it the diff, where one is known.
    pub fn explain(&self, outcome: &Outcome, diff: Option<&[u8]>) -> Done {
        if self.printer.json {
            return self.finish(outcome);
        }
        let mut text = render::outcome::outcome(&worded(outcome), true);
        if let Some(diff) = diff {
            text.push('\n');
            text.push_str(&self.diff(diff, outcome.report.as_ref()));
        }
        self.page(&text).map_err(|error| output_failed(&error))?;
        Ok(Exit::from(outcome.cause))
    }

    /// A diff as text for this screen; with a report, how each hunk was placed stands in the margin.
    pub fn diff(&self, diff: &[u8], report: Option<&LandingReport>) -> String {
        let width = screen::width(self);
        render::diff::diff(&String::from_utf8_lossy(diff), width, report)
    }

    /// Quiet silences a success; why something did not land is always said.
    fn show(&self, text: &str, done: bool) {
        if done {
            self.printer.note(text);
        } else {
            self.printer.error(text);
        }
    }

    /// Shows a failure that happened before a run could begin. Where it does not say what to do next, its code does.
    pub fn fail(&self, run: Option<&RunId>, error: &EffectError) -> Exit {
        let hint = word_hint(error.hint.as_deref(), &error.next).or_else(|| default_hint(&error.code));
        let error = &EffectError {
            hint,
            ..error.clone()
        };
        if self.printer.json {
            // Nothing more can be said when standard output is gone.
            let _ = match run {
                Some(run) => self.printer.json(&Outcome::from_effect(run, error)),
                None => self.printer.json(&Failure::of(error)),
            };
            return Exit::from(error.cause);
        }
        let mut text = format!(
            "{} {} {}",
            paint(style::BAD, "error"),
            paint(style::DIM, &format!("[{}]", error.code)),
            escape::line(&error.message)
        );
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
        self.printer.error(&text);
        Exit::from(error.cause)
    }
}

/// Returns the words for what the code of a failure suggests. Returns `None` for a code that a policy rule brought.
fn default_hint(code: &str) -> Option<String> {
    codes::next(code).map(str::to_owned)
}

/// Returns the outcome with its steps in the words of this command line.
pub fn worded(outcome: &Outcome) -> Outcome {
    Outcome {
        hint: word_hint(outcome.hint.as_deref(), &outcome.next),
        ..outcome.clone()
    }
}

/// What a program gets when a verb that lands nothing fails.
#[derive(serde::Serialize)]
struct Failure<'a> {
    version: u32,
    error: FailureBody<'a>,
}

#[derive(serde::Serialize)]
struct FailureBody<'a> {
    code: &'a str,
    cause: Cause,
    message: &'a str,
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "<[NextStep]>::is_empty")]
    next: &'a [NextStep],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    causes: &'a [String],
}

impl<'a> Failure<'a> {
    fn of(error: &'a EffectError) -> Self {
        let (code, message) = (&error.code, &error.message);
        Self {
            version: 1,
            error: FailureBody {
                code,
                cause: error.cause,
                message,
                hint: error.hint.as_deref(),
                next: &error.next,
                causes: error.causes(),
            },
        }
    }
}

/// Standard output could not be written.
pub fn output_failed(error: &std::io::Error) -> EffectError {
    EffectError::from_source(
        Cause::Internal,
        "output",
        format!("cannot write to standard output: {error}"),
        error,
    )
}

pub use agentos_host::usage;
