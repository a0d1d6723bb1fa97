//! Failures to show a text in a pager.
//!
//! Owns: the errors, their one hint and one step. Never: contains any part of the text.

use std::io;
use std::path::PathBuf;

use agentos_api::NextStep;
use agentos_lookup::LookupError;

/// Failure to show a text in a pager.
#[derive(Debug, thiserror::Error)]
pub enum PagerError {
    /// The pager program was not found.
    #[error("the pager {0}")]
    Program(#[source] LookupError),
    /// The user's command line has an opening quote without a closing one.
    #[error("the pager's command line `{0}` has a quote that is not closed")]
    Quotes(String),
    /// The pager could not be started, written to or waited for.
    #[error("cannot run the pager `{}`: {source}", program.display())]
    Start {
        /// Path of the pager.
        program: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
}

impl PagerError {
    /// Returns what the user can do next, as a sentence that names no flag of a front end.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Program(_) | Self::Quotes(_) | Self::Start { .. } => {
                "name a program in `AGENTOS_PAGER` or `PAGER`"
            }
        }
    }

    /// Returns what can be done next, as alternatives that a front end words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::Program(_) | Self::Quotes(_) | Self::Start { .. } => vec![NextStep::PrintAtOnce],
        }
    }
}
