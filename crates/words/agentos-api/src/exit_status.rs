//! Exit statuses: one table for every program of the product.
//!
//! Owns: the numbers, their meanings, and the status for each cause. Never: decides a cause; the flow does.

use std::process::ExitCode;

use crate::Cause;

/// Exit status of a program of the product. 0 if and only if the program did what was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// The program did what was requested.
    Done = 0,
    /// A fault in AgentOS itself.
    Internal = 1,
    /// The command or its input is wrong.
    Usage = 2,
    /// Denied by policy.
    Denied = 3,
    /// A person's consent is needed.
    ConsentNeeded = 4,
    /// The tool is not available or gave no usable answer.
    ToolUnavailable = 5,
    /// The answer does not land.
    DoesNotLand = 6,
    /// Evidence is broken or cannot be written.
    EvidenceBroken = 7,
    /// The state of the repository prevents landing.
    RepositoryState = 8,
    /// A limit or timeout was reached.
    Limit = 9,
    /// The terminal was closed (SIGHUP).
    // 128 + 1, as below.
    HungUp = 129,
    /// The user stopped the program.
    // 128 + 2: the status that a shell reports for a program that SIGINT (signal 2) ended, so that scripts
    // treat a stop during a run like one before it.
    Interrupted = 130,
    /// Another program ended this one (SIGTERM).
    // 128 + 15.
    Terminated = 143,
}

impl ExitStatus {
    /// Every status, for help texts and tests.
    // An array with its length: Rust cannot list the variants of an enum, and one that is missing here would be
    // missing in the help text and in the reference page.
    pub const ALL: [Self; 13] = [
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
        Self::HungUp,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Returns the meaning of the status.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done as requested",
            Self::Internal => "internal error",
            Self::Usage => "the command or its input is wrong",
            Self::Denied => "denied by policy",
            Self::ConsentNeeded => "a person's consent is needed",
            Self::ToolUnavailable => "the tool is not available or gave no usable answer",
            Self::DoesNotLand => "the answer does not land",
            Self::EvidenceBroken => "evidence is broken or cannot be written",
            Self::RepositoryState => "the state of the repository prevents landing",
            Self::Limit => "a limit or timeout was reached",
            Self::HungUp => "ended because the terminal was closed (SIGHUP)",
            Self::Interrupted => "interrupted by the user",
            Self::Terminated => "ended by SIGTERM",
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
