//! Error of a program that gave no answer.
//!
//! Owns: the error, and its conversion for the engine: code, category, hint and next steps. Never: quotes more than one
//! line of a program's output.

use std::io;
use std::path::PathBuf;

use agentos_api::{NextStep, list_causes};
use agentos_sandbox::SandboxError;
use agentos_tool::{ErrorCategory, HealthStatus, ToolAdvice, ToolError, ToolFailure};

use crate::quote::ProgramLack;

/// Reason why a program gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The program is not installed.
    #[error("program `{program}` not found on the search path")]
    NoProgram {
        /// Name of the program.
        program: String,
        /// Command that installs it. `None` if none is known.
        install_command: Option<String>,
    },
    /// The copy of the repository that the program works in could not be made.
    #[error("the tool's copy of the repository cannot be made: {0}")]
    Copy(String),
    /// The system refused the thread that would have waited for the program.
    #[error("the tool cannot be started: the system refused to create a thread")]
    Thread,
    /// The sandbox could not confine the program, or ended it, as after a timeout.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The program ended with an exit code other than 0.
    #[error("`{program}` ended with exit code {code}{}", quote_suffix(.said))]
    Failed {
        /// Name of the program.
        program: String,
        /// Exit code.
        code: u8,
        /// Last line of its output, untrusted. Empty if there was none.
        said: String,
        /// Thing that it probably lacked. `None` if its output does not say.
        lack: Option<ProgramLack>,
    },
    /// The process of a built-in adapter ended while requests were running. None of them was sent again.
    #[error("the confined process of `{program}` {how}{}", quote_suffix(.said))]
    ProcessEnded {
        /// Name of the provider.
        program: String,
        /// End of the process, in our words.
        how: String,
        /// Last lines of its standard error, untrusted. Empty if there were none.
        said: String,
    },
    /// The program reported that it has no answer.
    #[error("`{program}` gave no answer: {why}")]
    Said {
        /// Name of the program.
        program: String,
        /// Reason in its own words; untrusted.
        why: String,
    },
    /// The program's output does not follow the tool protocol.
    #[error("`{program}` broke the tool protocol: {how}")]
    Protocol {
        /// Name of the program.
        program: String,
        /// Rule that it broke.
        how: String,
    },
    /// The program's output does not follow the Agent Client Protocol.
    #[error("`{program}` broke the Agent Client Protocol: {how}")]
    Acp {
        /// Name of the program.
        program: String,
        /// Rule that it broke.
        how: String,
    },
    /// A file of the copy cannot be read or written.
    #[error("the tool's changes cannot be read at `{}`: {source}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A folder to share is not ignored by `.gitignore`, so it is part of the copy already.
    #[error("`{0}` cannot be shared with the tool, because the repository does not ignore it")]
    NotIgnored(String),
    /// A folder to share is a git directory or contains one.
    #[error(
        "`{0}` cannot be shared with the tool, because it is or contains a git directory: the tool would see all of its history"
    )]
    OfGit(String),
    /// The answer contains a key or token that the program was given to sign in with.
    #[error("the answer of `{0}` contains a key or token that it was given, so the answer was discarded")]
    Secret(String),
    /// The changed files exceed the limit in bytes.
    #[error("the tool changed more than {0} bytes")]
    TooLarge(u64),
    /// The program left too many files. The limit applies to the total length of their paths, in bytes.
    #[error("the tool left too many files: their paths together are longer than {0} bytes")]
    TooMany(u64),
    /// The program nested folders deeper than this crate reads them.
    #[error("the tool nested folders more than {0} levels deep, so its answer was discarded")]
    TooDeep(usize),
}

/// Words how a missing program is installed.
pub(crate) fn install_hint(command: Option<&str>) -> String {
    match command {
        // Installers such as npm put programs into a folder that a fresh shell does not have in its search path.
        Some(command) => format!("install it with `{command}`, and make sure that its folder is in `PATH`"),
        None => "install it, or name it by its absolute path".to_owned(),
    }
}

/// Formats the quoted last line as the end of a message. Empty if there is none.
fn quote_suffix(said: &str) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    }
}

impl AgentError {
    /// Returns a function that wraps an I/O error at `path`.
    pub(crate) fn unreadable_at(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }

    /// Converts the error for the engine. After a timeout, the reported latency is at least the time limit.
    pub(crate) fn into_tool_error(self, latency_ms: u64) -> ToolError {
        let category = self.error_category();
        let (fix, next) = self.suggest_advice();
        let health = matches!(category, ErrorCategory::Config).then_some(HealthStatus::NotConfigured);
        // A run that was killed returns no report, so `latency_ms` may still be 0.
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
            advice: ToolAdvice::new(fix, next),
            endpoint: None,
            latency_ms,
        }
    }

    /// Returns the error code, which `agentos-api` lists.
    fn code(&self) -> &'static str {
        match self {
            Self::NoProgram { .. } => "no-program",
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
            Self::Failed { .. } | Self::ProcessEnded { .. } => "exit-code",
            Self::Said { .. } => "no-answer",
            Self::Protocol { .. } | Self::Acp { .. } => "protocol",
            Self::NotIgnored(_) | Self::OfGit(_) => "not-ignored",
            Self::Secret(_) => "secret",
        }
    }

    fn error_category(&self) -> ErrorCategory {
        match self {
            Self::NoProgram { .. }
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
            | Self::ProcessEnded { .. }
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

    /// Returns what the user can do: a sentence and next steps. Both are empty if only a change of the program itself helps.
    fn suggest_advice(&self) -> (Option<String>, Vec<NextStep>) {
        let (fix, next) = match self {
            Self::NoProgram { install_command, .. } => {
                return (Some(install_hint(install_command.as_deref())), Vec::new());
            }
            Self::Sandbox(error) => (error.hint(), error.next_steps()),
            Self::NotIgnored(_) => (
                Some("share folders that `.gitignore` names; all others are in the copy"),
                Vec::new(),
            ),
            Self::OfGit(_) => (
                Some("share a folder of built or installed files, such as `target` or `node_modules`"),
                Vec::new(),
            ),
            Self::Secret(_) => (
                Some("add to the task that no key or token may be written into a file"),
                Vec::new(),
            ),
            // The sandbox may hide a folder that the program needs, and only the program's own output says which.
            Self::Failed { lack, .. } => {
                let remedy = lack.as_ref().map(|lack| match lack {
                    ProgramLack::File => NextStep::AllowReading,
                    // A host in the output is untrusted, and written in many forms. `LastRun::explain_failure` puts in those
                    // that the proxy refused.
                    ProgramLack::Network => NextStep::AllowHosts { hosts: Vec::new() },
                });
                (
                    None,
                    remedy.into_iter().chain([NextStep::ShowTranscript]).collect(),
                )
            }
            // Whether the server has worked on the request is not known, and a repetition may cost twice, so a person decides.
            Self::ProcessEnded { .. } => (
                Some("send the request again: nothing was repeated, and the next one gets a new process"),
                Vec::new(),
            ),
            Self::Protocol { .. } => (None, vec![NextStep::CheckProtocol]),
            Self::Said { .. }
            | Self::Acp { .. }
            | Self::Copy(_)
            | Self::Thread
            | Self::Unreadable { .. }
            | Self::TooLarge(_)
            | Self::TooMany(_)
            | Self::TooDeep(_) => (None, Vec::new()),
        };
        (fix.map(str::to_owned), next)
    }
}
