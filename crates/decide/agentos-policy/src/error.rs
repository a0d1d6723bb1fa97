//! Errors of a policy file. Each of them stops the run: a policy that is loaded in part would allow too much.
//!
//! Owns: the errors, their positions and hints. Never: continues after one.

/// A policy file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The file is not TOML, has an unknown field, or a value of the wrong type.
    #[error("{source_name}:{line}:{column}: {message}")]
    Syntax {
        /// Name of the file.
        source_name: String,
        /// Line; the first is 1.
        line: u32,
        /// Column; the first is 1.
        column: u32,
        /// Description of the mistake.
        message: String,
        /// Suggestion. `None` if no known name is similar.
        hint: Option<String>,
    },
    /// The file has a version that this program does not support.
    #[error(
        "{source_name}:{line}:{column}: `version` is `{found}`, and this agentos supports only version 1"
    )]
    Version {
        /// Name of the file.
        source_name: String,
        /// Line; the first is 1.
        line: u32,
        /// Column; the first is 1.
        column: u32,
        /// Version in the file.
        found: u32,
    },
    /// A rule contradicts itself or can never match.
    #[error("{source_name}:{line}:{column}: rule `{rule}`: {message}")]
    Rule {
        /// Name of the file.
        source_name: String,
        /// Line; the first is 1.
        line: u32,
        /// Column; the first is 1.
        column: u32,
        /// Id of the rule.
        rule: String,
        /// Description of the mistake.
        message: String,
        /// Suggestion. `None` if the message says enough.
        hint: Option<String>,
    },
    /// A rule fails one of its own examples.
    #[error("{source_name}:{line}:{column}: rule `{rule}` {} its example {number} of `{}`",
        if *.matched { "matches" } else { "does not match" },
        if *.matched { "no_match" } else { "match" })]
    Example {
        /// Name of the file.
        source_name: String,
        /// Line; the first is 1.
        line: u32,
        /// Column; the first is 1.
        column: u32,
        /// Id of the rule.
        rule: String,
        /// Number of the example in its list; the first is 1.
        number: usize,
        /// True if the rule matches an example of `no_match`; false if it does not match one of `match`.
        matched: bool,
    },
    /// The globs of all rules together are too large for the glob library.
    #[error("the policy's globs cannot be compiled together: {message}")]
    Globs {
        /// Message of the glob library.
        message: String,
    },
}

impl PolicyError {
    /// Returns what to do about the error. `None` if nothing more than the message is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Syntax { hint, .. } | Self::Rule { hint, .. } => hint.as_deref(),
            Self::Version { .. } => Some("write `version = 1`, or use a newer agentos"),
            Self::Example { .. } => Some("correct the rule or the example; they contradict each other"),
            Self::Globs { .. } => Some("write fewer or simpler globs"),
        }
    }
}
