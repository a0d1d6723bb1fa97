//! Why a process was not started or did not end by itself.
//!
//! Owns: the error and its hint. Never: holds a tool's output.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A bound on what a run may take of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskLimit {
    /// It wrote more than so many bytes.
    Written(u64),
    /// Fewer than so many bytes were left for everybody else.
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

/// A confined process that did not come to its own end.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This system has no confinement that we can use.
    #[error("this system cannot confine a tool: {0}")]
    Unsupported(String),
    /// A layer could not be put up; nothing was started.
    #[error("the tool was not started, because it could not be confined: {0}")]
    NotConfined(String),
    /// An overlay cannot be mounted where its folders lie, as in a container; nothing was started.
    #[error("the tool was not started, because its files cannot be overlaid: {0}")]
    NoOverlay(String),
    /// The helper process is not one of ours, or died before it reported.
    #[error("the process that confines the tool ended before it reported: {0}")]
    NoReport(String),
    /// The helper cannot be started or spoken to.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder for tools' work is one that somebody else may control; nothing was started.
    #[error("the folder for tools' work, `{}`, {why}", path.display())]
    UnsafeFolder {
        /// The folder.
        path: PathBuf,
        /// The reason, as the end of a sentence.
        why: &'static str,
    },
    /// Its time ran out, and it was killed.
    #[error("the tool was stopped after {} second{}", .0.as_secs(), if .0.as_secs() == 1 { "" } else { "s" })]
    OutOfTime(Duration),
    /// It wrote more than it may, and was killed.
    #[error("the tool was stopped, because it wrote more than {0} bytes of output")]
    TooMuchOutput(usize),
    /// It took too much of the disk, and was killed.
    #[error("the tool was stopped, because {0}")]
    TooMuchDisk(DiskLimit),
    /// Somebody stopped it.
    #[error("the tool was stopped")]
    Stopped,
    /// Its processes could not be ended, or nobody knows whether they have. Nothing that they could write may be read or removed.
    #[error(
        "processes of the tool may still be running, so that nothing of the run was read and its folder was left alone"
    )]
    NotEnded,
}

impl SandboxError {
    /// What failed while doing something with the helper.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// Why nothing would hold a tool, for a sentence that says already that it is so.
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

    /// What to do next, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unsupported(_) | Self::NotConfined(_) => {
                Some("Linux 5.13 or newer with Landlock, seccomp and user namespaces confines tools")
            }
            Self::UnsafeFolder { .. } => Some("move it away; the next run makes one of its own"),
            Self::OutOfTime(_) => Some("give it more time with --timeout SECONDS"),
            Self::NotEnded => {
                Some("see with `ps` what is left of it, and end that; the next run removes the folder")
            }
            Self::NoOverlay(_)
            | Self::NoReport(_)
            | Self::Io { .. }
            | Self::TooMuchOutput(_)
            | Self::TooMuchDisk(_)
            | Self::Stopped => None,
        }
    }
}
