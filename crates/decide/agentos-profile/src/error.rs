//! The errors of a profile.
//!
//! Owns: the errors and their hints. Never: repeats a URL's user part or a key.

use agentos_api::NextStep;
use agentos_tool::BaseUrlFault;

use crate::Origin;

/// Reason why a profile cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The file is not JSON, or has an unknown field or a value of the wrong type.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// Name of the file.
        file: String,
        /// 1 is the first.
        line: usize,
        /// 1 is the first.
        column: usize,
        /// Description of the mistake.
        message: String,
        /// Suggested spelling. `None` if none is similar.
        hint: Option<String>,
        /// True if the unknown field looks like one for a key.
        is_key: bool,
    },
    /// A value is outside of its range.
    #[error("`{field}` ({origin}): {message}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Source of the value.
        origin: Origin,
        /// Requirement that the value does not meet.
        message: String,
    },
    /// The base URL is not valid.
    #[error("`base_url` ({origin}): {fault}")]
    BaseUrl {
        /// Source of the value.
        origin: Origin,
        /// Mistake in the URL.
        fault: BaseUrlFault,
    },
    /// The profile is for another provider.
    #[error("the profile ({origin}) is for `{found}`, not for `{wanted}`")]
    OtherProvider {
        /// Source of the profile.
        origin: Origin,
        /// Provider in the profile.
        found: String,
        /// Provider that was requested.
        wanted: String,
    },
    /// No layer has a profile for the provider.
    #[error("there is no profile for `{provider}`")]
    Unknown {
        /// Provider that was requested.
        provider: String,
        /// Suggested name. `None` if none is similar.
        hint: Option<String>,
    },
}

impl ProfileError {
    /// Returns a hint in words. `None` if the next steps of [`Self::next_steps`] say it, or there is none.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Syntax { hint, .. } | Self::Unknown { hint, .. } => hint.as_deref(),
            Self::BaseUrl { .. } => Some("write something like `http://localhost:8080/v1`"),
            Self::OtherProvider { .. } => Some("name the file after the provider that it is for"),
            Self::Value { .. } => None,
        }
    }

    /// Returns possible next steps, which a front end words.
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
