//! Reasons why a process was not started, or did not end by itself.
//!
//! Owns: the error, its hint and its steps. Never: holds a tool's output.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use agentos_api::{NextStep, RunLimit};

/// Limit on disk space that a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskLimit {
    /// The run wrote more than this many bytes.
    Written(u64),
    /// Fewer than this many bytes are free for everybody else.
    Free(u64),
}

impl fmt::Display for DiskLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(bytes) => write!(f, "it wrote more than {} MiB to the disk", bytes >> 20),
            Self::Free(bytes) => write!(f, "fewer than {} MiB are free on the disk", bytes >> 20),
        }
    }
}

/// Failure of a confined run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This system has no confinement that the sandbox can use.
    #[error("this system cannot confine a tool: {0}")]
    Unsupported(String),
    /// A layer could not be put up. Nothing was started.
    #[error("the tool was not started, because it could not be confined: {0}")]
    NotConfined(String),
    /// An overlay cannot be mounted, for example inside a container. Nothing was started.
    #[error("the tool was not started, because no overlay of its files can be mounted: {0}")]
    NoOverlay(String),
    /// The helper is not this program, or died before it reported.
    #[error("the process that confines the tool ended before it reported: {0}")]
    NoReport(String),
    /// An operation failed, usually on the helper.
    #[error("cannot {doing}: {source}")]
    Io {
        /// Operation that failed, as an infinitive.
        doing: &'static str,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The folder for tools' work may be controlled by somebody else. Nothing was started.
    #[error("the folder for tools' work, `{}`, {why}", path.display())]
    UnsafeFolder {
        /// Path of the folder.
        path: PathBuf,
        /// Reason, as the end of a sentence.
        why: &'static str,
    },
    /// The tool ran out of time and was killed.
    #[error("the tool was stopped after {} second{}", .0.as_secs(), if .0.as_secs() == 1 { "" } else { "s" })]
    OutOfTime(Duration),
    /// The tool wrote too much output and was killed.
    #[error("the tool was stopped, because it wrote more than {0} bytes of output")]
    TooMuchOutput(usize),
    /// The run reached a limit on disk space and was killed.
    #[error("the tool was stopped, because {0}")]
    TooMuchDisk(DiskLimit),
    /// The run was stopped from outside.
    #[error("the tool was stopped")]
    Stopped,
    /// Processes of the run may still be alive. Nothing that they could write may be read or removed.
    #[error(
        "processes of the tool may still be running, so nothing that the run wrote was read, and its folder was kept"
    )]
    NotEnded,
}

impl SandboxError {
    /// Adds the failed operation to an I/O error.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// Returns the reason alone, for a sentence that already says that nothing confines the tool.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Unsupported(why) | Self::NotConfined(why) | Self::NoOverlay(why) | Self::NoReport(why) => {
                why.clone()
            }
            Self::Io { .. }
            | Self::UnsafeFolder { .. }
            | Self::OutOfTime(_)
            | Self::TooMuchOutput(_)
            | Self::TooMuchDisk(_)
            | Self::Stopped
            | Self::NotEnded => self.to_string(),
        }
    }

    /// Returns what to do next, as a sentence that names no flag of a front end. `None` if there is nothing to suggest.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unsupported(_) | Self::NotConfined(_) => Some(
                "tools can be confined on Linux 5.13 or newer with Landlock, seccomp and user namespaces",
            ),
            Self::UnsafeFolder { .. } => Some("move the folder away; the next run creates a new one"),
            Self::NotEnded => {
                Some("find the remaining processes with `ps` and end them; the next run removes the folder")
            }
            Self::OutOfTime(_)
            | Self::NoOverlay(_)
            | Self::NoReport(_)
            | Self::Io { .. }
            | Self::TooMuchOutput(_)
            | Self::TooMuchDisk(_)
            | Self::Stopped => None,
        }
    }

    /// Returns what can be done next, as alternatives that a front end words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::OutOfTime(_) => vec![NextStep::RaiseLimit {
                limit: RunLimit::ToolTime,
            }],
            Self::Unsupported(_)
            | Self::NotConfined(_)
            | Self::NoOverlay(_)
            | Self::NoReport(_)
            | Self::Io { .. }
            | Self::UnsafeFolder { .. }
            | Self::TooMuchOutput(_)
            | Self::TooMuchDisk(_)
            | Self::Stopped
            | Self::NotEnded => Vec::new(),
        }
    }
}
