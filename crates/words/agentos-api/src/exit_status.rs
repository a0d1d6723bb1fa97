//! The exit statuses: one table for every program of the product.
//!
//! Owns: the numbers, their meaning, and which one a cause ends with. Never: decides a cause; the flow does.

use std::process::ExitCode;

use crate::Cause;

/// How a program of the product ends. 0 if and only if what was asked for happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Done as stated.
    Done = 0,
    /// A fault of ours.
    Internal = 1,
    /// The call is wrong.
    Usage = 2,
    /// Denied by policy.
    Denied = 3,
    /// A person's consent is needed.
    ConsentNeeded = 4,
    /// The tool is not available.
    ToolUnavailable = 5,
    /// The answer does not land.
    DoesNotLand = 6,
    /// Evidence is broken.
    EvidenceBroken = 7,
    /// The repository is not in a state to land.
    RepositoryState = 8,
    /// A limit or a time-out.
    Limit = 9,
    /// Stopped by the user.
    Interrupted = 130,
}

impl ExitStatus {
    /// Every status, for help texts and tests.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Internal,
        Self::Usage,
        Self::Denied,
        Self::ConsentNeeded,
        Self::ToolUnavailable,
        Self::DoesNotLand,
        Self::EvidenceBroken,
        Self::RepositoryState,
        Self::Limit,
        Self::Interrupted,
    ];

    /// Returns the meaning of the status.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done as stated",
            Self::Internal => "internal error",
            Self::Usage => "the call is wrong",
            Self::Denied => "denied by policy",
            Self::ConsentNeeded => "a person's consent is needed",
            Self::ToolUnavailable => "the tool is not available",
            Self::DoesNotLand => "the answer does not land",
            Self::EvidenceBroken => "evidence is broken",
            Self::RepositoryState => "the repository is not in a state to land",
            Self::Limit => "a limit or a time-out",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Cause> for ExitStatus {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Done => Self::Done,
            Cause::Internal => Self::Internal,
            Cause::Usage => Self::Usage,
            Cause::Policy => Self::Denied,
            Cause::Consent => Self::ConsentNeeded,
            Cause::Tool => Self::ToolUnavailable,
            Cause::Landing => Self::DoesNotLand,
            Cause::Evidence => Self::EvidenceBroken,
            Cause::Repository => Self::RepositoryState,
            Cause::Limit => Self::Limit,
            Cause::Interrupted => Self::Interrupted,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        Self::from(exit as u8)
    }
}
