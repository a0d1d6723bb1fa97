//! What can be wrong with a profile.
//!
//! Owns: the errors and their hints. Never: repeats a URL's user part or a key.

use agentos_api::NextStep;
use agentos_tool::BaseUrlFault;

use crate::Origin;

/// A profile that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not JSON, an unknown field, or a value of the wrong kind.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// 1 is the first.
        line: usize,
        /// 1 is the first.
        column: usize,
        /// What is wrong.
        message: String,
        /// What was meant, where it can be guessed.
        hint: Option<String>,
        /// The field is one that would hold a key.
        is_key: bool,
    },
    /// A value outside its range.
    #[error("`{field}` ({origin}): {message}")]
    Value {
        /// The field.
        field: &'static str,
        /// Where the value comes from.
        origin: Origin,
        /// What it must be.
        message: String,
    },
    /// A base URL that is not one.
    #[error("`base_url` ({origin}): {fault}")]
    BaseUrl {
        /// Where the value comes from.
        origin: Origin,
        /// What is wrong with it.
        fault: BaseUrlFault,
    },
    /// A profile for one provider where another was wanted.
    #[error("the profile ({origin}) is for `{found}`, not for `{wanted}`")]
    OtherProvider {
        /// Where the profile comes from.
        origin: Origin,
        /// The provider it names.
        found: String,
        /// The provider that was asked for.
        wanted: String,
    },
    /// No layer knows the provider.
    #[error("there is no profile for `{provider}`")]
    Unknown {
        /// The provider that was asked for.
        provider: String,
        /// What was meant, where it can be guessed.
        hint: Option<String>,
    },
}

impl ProfileError {
    /// Returns what to do about it, where that is a sentence which names no flag of a front end.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Syntax { hint, .. } | Self::Unknown { hint, .. } => hint.as_deref(),
            Self::BaseUrl { .. } => Some("write something like `http://localhost:8080/v1`"),
            Self::OtherProvider { .. } => Some("name the file after the provider that it is for"),
            Self::Value { .. } => None,
        }
    }

    /// Returns what can be done about it, as alternatives that a front end words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::Syntax { is_key: true, .. } => vec![NextStep::SetKey {
                provider: None,
                in_file: false,
            }],
            Self::Syntax { is_key: false, .. }
            | Self::Value { .. }
            | Self::BaseUrl { .. }
            | Self::OtherProvider { .. }
            | Self::Unknown { .. } => Vec::new(),
        }
    }
}
