//! Why a gate could not judge at all.
//!
//! Owns: the error type. Never: stands for a check that failed; that is a result.

use std::path::PathBuf;

use agentos_verdict::EvidenceError;

/// The gate itself broke, so nothing was judged.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The arguments or the environment are not understood.
    #[error("{0}")]
    Usage(String),
    /// A program that the gate needs cannot be started.
    #[error("`{program}` cannot be run: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Git, which makes the scratch repository and is the second witness, failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// The subcommand.
        command: String,
        /// Its own words.
        said: String,
    },
    /// A file or folder cannot be read or written.
    #[error("`{path}` cannot be used: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The evidence cannot be written.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A schema cannot be written as JSON.
    #[error("it cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A table of the gates is not understood.
    #[error("a table of the gates is not understood: {0}")]
    Table(#[from] toml::de::Error),
}

impl GateError {
    /// Turns an error of the system into one that names the file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
