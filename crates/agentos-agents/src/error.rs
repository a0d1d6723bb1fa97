//! Why a program gave no answer.
//!
//! Owns: the error, and what it means for the run. Never: quotes more of a program's output than one line.

use std::io;
use std::path::PathBuf;

use agentos_sandbox::SandboxError;
use agentos_tool::{ErrorCategory, HealthStatus, ToolError, ToolFailure};

/// A program that gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It is not installed.
    #[error("there is no program `{0}`")]
    NoProgram(String),
    /// The copy cannot be made.
    #[error("the tool's copy of the repository cannot be made: {0}")]
    Copy(String),
    /// It could not be confined, or did not end by itself.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// It says that it failed.
    #[error("`{program}` ended with exit code {code}{}", last_line(.said))]
    Failed {
        /// The program.
        program: String,
        /// Its exit code.
        code: u8,
        /// The last line it wrote; untrusted.
        said: String,
    },
    /// What it left cannot be read.
    #[error("the tool's changes cannot be read at `{}`: {source}", path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It changed more than an answer may hold.
    #[error("the tool changed more than {0} bytes")]
    TooLarge(u64),
}

fn last_line(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    }
}

impl AgentError {
    /// What failed while reading a place.
    pub(crate) fn unreadable(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }

    /// The same for the engine.
    pub(crate) fn into_tool_error(self, latency_ms: u64) -> ToolError {
        let (failure, category, detail) = match &self {
            Self::NoProgram(_) => (ToolFailure::Failed, ErrorCategory::Config, "no_program"),
            Self::Copy(_) | Self::Unreadable { .. } => (ToolFailure::Failed, ErrorCategory::Runtime, "copy"),
            Self::Sandbox(SandboxError::OutOfTime(_)) => {
                (ToolFailure::Timeout, ErrorCategory::Runtime, "out_of_time")
            }
            Self::Sandbox(SandboxError::TooMuchOutput(_)) | Self::TooLarge(_) => {
                (ToolFailure::Failed, ErrorCategory::Runtime, "too_large")
            }
            Self::Sandbox(SandboxError::Unsupported(_) | SandboxError::NotConfined(_)) => {
                (ToolFailure::Failed, ErrorCategory::Config, "not_confined")
            }
            Self::Sandbox(SandboxError::NoReport(_) | SandboxError::Io { .. } | SandboxError::Stopped) => {
                (ToolFailure::Failed, ErrorCategory::Runtime, "sandbox")
            }
            Self::Failed { .. } => (ToolFailure::Failed, ErrorCategory::Runtime, "exit_code"),
        };
        let fix = match &self {
            Self::NoProgram(_) => Some("install it, or name it by its absolute path"),
            Self::Sandbox(error) => error.hint(),
            Self::Failed { .. } => Some(
                "it works in a copy without your home folder and without network: show it what it needs with \
                 --read PATH, and see its output with `agentos evidence show`",
            ),
            Self::Copy(_) | Self::Unreadable { .. } | Self::TooLarge(_) => None,
        };
        let health = matches!(category, ErrorCategory::Config).then_some(HealthStatus::NotConfigured);
        ToolError {
            failure,
            category,
            detail: detail.to_owned(),
            health,
            message: self.to_string(),
            fix: fix.map(str::to_owned),
            endpoint: None,
            latency_ms,
        }
    }
}
