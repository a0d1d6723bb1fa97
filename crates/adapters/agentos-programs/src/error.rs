//! Why a program gave no answer.
//!
//! Owns: the error, and what it means for the run. Never: quotes more of a program's output than one line.

use std::io;
use std::path::PathBuf;

use agentos_api::{NextStep, list_causes};
use agentos_sandbox::SandboxError;
use agentos_tool::{ErrorCategory, HealthStatus, ToolAdvice, ToolError, ToolFailure};

/// A program that gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It is not installed.
    #[error("there is no program `{0}`")]
    NoProgram(String),
    /// The copy cannot be made.
    #[error("the tool's copy of the repository cannot be made: {0}")]
    Copy(String),
    /// There is nobody to wait for it.
    #[error("the tool cannot be started: the system refuses a thread")]
    Thread,
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
    /// It says that there is no answer.
    #[error("`{program}` gives no answer: {why}")]
    Said {
        /// The program.
        program: String,
        /// Its reason; untrusted.
        why: String,
    },
    /// It does not speak the tool protocol.
    #[error("`{program}` broke the tool protocol: {how}")]
    Protocol {
        /// The program.
        program: String,
        /// How.
        how: String,
    },
    /// It does not speak the Agent Client Protocol.
    #[error("`{program}` broke the Agent Client Protocol: {how}")]
    Acp {
        /// The program.
        program: String,
        /// How.
        how: String,
    },
    /// What it left cannot be read.
    #[error("the tool's changes cannot be read at `{}`: {source}", path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What was to be shared is part of the repository.
    #[error("`{0}` cannot be shared with the tool, because the repository does not ignore it")]
    NotIgnored(String),
    /// What was to be shared is git's own.
    #[error(
        "`{0}` cannot be shared with the tool, because it is a git directory, or holds one: the tool would see all of its history"
    )]
    OfGit(String),
    /// Its answer holds what it was handed to sign in with.
    #[error(
        "`{0}` wrote a key or token that it was handed into its answer, and nothing of the answer is kept"
    )]
    Secret(String),
    /// It changed more than an answer may hold.
    #[error("the tool changed more than {0} bytes")]
    TooLarge(u64),
    /// It left more files than are read; the limit is on the bytes of their paths.
    #[error("the tool left too many files: their paths come to more than {0} bytes")]
    TooMany(u64),
    /// It nested folders deeper than is read.
    #[error("the tool nested folders more than {0} deep, and nothing of its answer is kept")]
    TooDeep(usize),
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

    /// The same for the engine. A call that was ended for its time took that time, whatever is known of it.
    pub(crate) fn into_tool_error(self, latency_ms: u64) -> ToolError {
        let category = self.category();
        let health = matches!(category, ErrorCategory::Config).then_some(HealthStatus::NotConfigured);
        let (failure, latency_ms) = if let Self::Sandbox(SandboxError::OutOfTime(limit)) = &self {
            let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            (ToolFailure::Timeout, latency_ms.max(limit))
        } else {
            (ToolFailure::Failed, latency_ms)
        };
        ToolError {
            failure,
            category,
            detail: self.code().to_owned(),
            health,
            message: self.to_string(),
            causes: list_causes(&self),
            advice: ToolAdvice::new(self.fix().map(str::to_owned), self.next_steps()),
            endpoint: None,
            latency_ms,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NoProgram(_) => "no-program",
            Self::Copy(_) | Self::Unreadable { .. } => "copy",
            Self::Sandbox(SandboxError::OutOfTime(_)) => "out-of-time",
            Self::Sandbox(SandboxError::TooMuchOutput(_) | SandboxError::TooMuchDisk(_))
            | Self::TooLarge(_)
            | Self::TooMany(_)
            | Self::TooDeep(_) => "too-large",
            Self::Sandbox(
                SandboxError::Unsupported(_) | SandboxError::NotConfined(_) | SandboxError::NoOverlay(_),
            ) => "not-confined",
            Self::Thread
            | Self::Sandbox(
                SandboxError::NoReport(_)
                | SandboxError::Io { .. }
                | SandboxError::UnsafeFolder { .. }
                | SandboxError::Stopped
                | SandboxError::NotEnded,
            ) => "sandbox",
            Self::Failed { .. } => "exit-code",
            Self::Said { .. } => "no-answer",
            Self::Protocol { .. } | Self::Acp { .. } => "protocol",
            Self::NotIgnored(_) | Self::OfGit(_) => "not-ignored",

            Self::Secret(_) => "secret",
        }
    }

    fn category(&self) -> ErrorCategory {
        match self {
            Self::NoProgram(_)
            | Self::NotIgnored(_)
            | Self::OfGit(_)
            | Self::Sandbox(
                SandboxError::Unsupported(_) | SandboxError::NotConfined(_) | SandboxError::NoOverlay(_),
            ) => ErrorCategory::Config,
            Self::Protocol { .. } | Self::Acp { .. } => ErrorCategory::Schema,
            Self::Copy(_)
            | Self::Unreadable { .. }
            | Self::Thread
            | Self::TooLarge(_)
            | Self::TooMany(_)
            | Self::TooDeep(_)
            | Self::Secret(_)
            | Self::Failed { .. }
            | Self::Said { .. }
            | Self::Sandbox(
                SandboxError::OutOfTime(_)
                | SandboxError::TooMuchOutput(_)
                | SandboxError::TooMuchDisk(_)
                | SandboxError::NoReport(_)
                | SandboxError::Io { .. }
                | SandboxError::UnsafeFolder { .. }
                | SandboxError::Stopped
                | SandboxError::NotEnded,
            ) => ErrorCategory::Runtime,
        }
    }

    fn fix(&self) -> Option<&'static str> {
        match self {
            Self::NoProgram(_) => Some("install it, or name it by its absolute path"),
            Self::Sandbox(error) => error.hint(),
            Self::NotIgnored(_) => Some("share folders that `.gitignore` names; all others are in the copy"),
            Self::OfGit(_) => {
                Some("share a folder of built or installed files, such as `target` or `node_modules`")
            }
            Self::Secret(_) => Some("say in the task that no key may be written into a file"),
            Self::Failed { .. }
            | Self::Protocol { .. }
            | Self::Said { .. }
            | Self::Acp { .. }
            | Self::Copy(_)
            | Self::Thread
            | Self::Unreadable { .. }
            | Self::TooLarge(_)
            | Self::TooMany(_)
            | Self::TooDeep(_) => None,
        }
    }

    fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::Sandbox(error) => error.next_steps(),
            Self::Failed { .. } => vec![NextStep::AllowReading, NextStep::ShowTranscript],
            Self::Protocol { .. } => vec![NextStep::CheckProtocol],
            Self::NoProgram(_)
            | Self::NotIgnored(_)
            | Self::OfGit(_)
            | Self::Secret(_)
            | Self::Said { .. }
            | Self::Acp { .. }
            | Self::Copy(_)
            | Self::Thread
            | Self::Unreadable { .. }
            | Self::TooLarge(_)
            | Self::TooMany(_)
            | Self::TooDeep(_) => Vec::new(),
        }
    }
}
