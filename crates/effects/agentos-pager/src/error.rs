//! Why a text cannot be paged.
//!
//! Owns: the errors and the one hint. Never: holds a word of the text.

use std::io;
use std::path::PathBuf;

use agentos_lookup::LookupError;

/// A text cannot be paged.
#[derive(Debug, thiserror::Error)]
pub enum PagerError {
    /// The program was not found.
    #[error("the pager {0}")]
    Program(#[source] LookupError),
    /// The command line cannot be read.
    #[error("the quotes in `{0}` do not close")]
    Quotes(String),
    /// It could not be started or heard.
    #[error("cannot run the pager `{}`: {source}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl PagerError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Program(_) | Self::Quotes(_) | Self::Start { .. } => {
                "name a program in `AGENTOS_PAGER` or `PAGER`, or switch paging off with `--no-pager`"
            }
        }
    }
}
