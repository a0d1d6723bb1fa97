//! What can be wrong with a policy. Any of it stops the run: a policy that is half loaded would allow too much.
//!
//! Owns: the errors, their places and hints. Never: carries on.

/// A policy file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not TOML, an unknown field, or a value of the wrong kind.
    #[error("{source_name}:{line}:{column}: {message}")]
    Syntax {
        /// The file.
        source_name: String,
        /// 1 is the first.
        line: u32,
        /// 1 is the first.
        column: u32,
        /// What is wrong.
        message: String,
        /// The name that was meant, where one is near.
        hint: Option<String>,
    },
    /// A version that this program does not know.
    #[error("{source_name}:{line}:{column}: `version` is `{found}`, and only 1 is known")]
    Version {
        /// The file.
        source_name: String,
        /// 1 is the first.
        line: u32,
        /// 1 is the first.
        column: u32,
        /// What it says.
        found: u32,
    },
    /// A rule that says something impossible.
    #[error("{source_name}:{line}:{column}: rule `{rule}`: {message}")]
    Rule {
        /// The file.
        source_name: String,
        /// 1 is the first.
        line: u32,
        /// 1 is the first.
        column: u32,
        /// The rule's id.
        rule: String,
        /// What is wrong.
        message: String,
        /// What to write instead.
        hint: Option<String>,
    },
    /// A rule that fails one of its own examples.
    #[error("{source_name}:{line}:{column}: rule `{rule}` {} its example {number} of `{}`",
        if *.matched { "matches" } else { "does not match" },
        if *.matched { "no_match" } else { "match" })]
    Example {
        /// The file.
        source_name: String,
        /// 1 is the first.
        line: u32,
        /// 1 is the first.
        column: u32,
        /// The rule's id.
        rule: String,
        /// 1 is the first of its list.
        number: usize,
        /// True when it matched and must not.
        matched: bool,
    },
    /// The globs together are too large to use.
    #[error("the policy's globs cannot be compiled together: {message}")]
    Globs {
        /// What the glob library says.
        message: String,
    },
}

impl PolicyError {
    /// What to do about it.
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
