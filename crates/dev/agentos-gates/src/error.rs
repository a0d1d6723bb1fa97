//! Errors because of which a gate cannot judge at all.
//!
//! Owns: the error type. Never: means that a check failed; that is a result.

use std::path::PathBuf;

use agentos_verdict::EvidenceError;

/// Failure of the gate itself, so that nothing was judged.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// Invalid arguments or environment, or a needed program that does not work.
    #[error("{0}")]
    Usage(String),
    /// Failure to start a program that the gate needs.
    #[error("`{program}` cannot be run: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Failure of git, which the gate uses to create and to measure repositories.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// The subcommand.
        command: String,
        /// Git's error output.
        said: String,
    },
    /// Failure to read or write a file or folder.
    #[error("`{path}` cannot be read or written: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Failure to write the evidence.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// Failure to express a value as JSON.
    #[error("a value cannot be expressed as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A table of the gates that does not have the expected shape.
    #[error("a table of the gates does not have the expected shape: {0}")]
    Table(#[from] toml::de::Error),
}

impl GateError {
    /// Adds the path to an error of the operating system.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
