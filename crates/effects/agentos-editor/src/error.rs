//! Failures to edit a text.
//!
//! Owns: the errors and their hint. Never: contains any part of the text.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use agentos_lookup::LookupError;

/// Failure to edit a text.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The user chose no editor, and the usual one cannot be started here.
    #[error("no editor is chosen")]
    NotChosen,
    /// The editor program was not found.
    #[error("the editor {0}")]
    Program(#[source] LookupError),
    /// The user's command line has an opening quote without a closing one.
    #[error("the editor's command line `{0}` has a quote that is not closed")]
    Quotes(String),
    /// The editor could not be started or waited for.
    #[error("cannot run the editor `{}`: {source}", program.display())]
    Start {
        /// Path of the editor.
        program: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The editor ended with a failure, so the text is not used.
    #[error("the editor `{}` ended with a failure ({status}); its text is not used", program.display())]
    Ended {
        /// Path of the editor.
        program: PathBuf,
        /// Status with which it ended.
        status: ExitStatus,
    },
    /// The temporary file could not be written or read.
    #[error("cannot {action} the file for the editor, `{}`: {source}", path.display())]
    TempFile {
        /// Action that failed: `write` or `read`.
        action: &'static str,
        /// Path of the file, or of the folder that should contain it.
        path: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The saved text is longer than the limit.
    #[error("the edited text has more than {limit} bytes")]
    TooLong {
        /// Most bytes that the text may have.
        limit: usize,
    },
    /// The saved text is not UTF-8.
    #[error("the edited text is not UTF-8")]
    NotUtf8,
}

impl EditorError {
    /// Returns what the user can do next, as a sentence that names no flag of a front end.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotChosen | Self::Program(_) | Self::Quotes(_) | Self::Start { .. } => {
                "name a program in `VISUAL` or `EDITOR`"
            }
            Self::Ended { .. } => "save the text and leave the editor without a failure",
            Self::TempFile { .. } => "check the folder for temporary files, `TMPDIR`",
            Self::TooLong { .. } => "shorten the text",
            Self::NotUtf8 => "save the text as UTF-8",
        }
    }
}
