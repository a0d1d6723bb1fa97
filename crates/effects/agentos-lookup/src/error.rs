//! Failures of a search for a program.
//!
//! Owns: the errors; each begins with the name, so that a caller can put the kind of program before it. Never: a hint,
//! since only the caller knows where the name came from.

use std::path::PathBuf;

/// Reason why a program was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No folder that was searched has an executable file of this name, or no file is at the path that was named.
    #[error("`{0}` was not found")]
    Missing(String),
    /// The path depends on the current folder.
    #[error("`{0}` is a relative path")]
    RelativePath(String),
    /// The only programs of this name lie in the repository, which could have brought them.
    #[error("`{name}` is only in the repository, at `{}`", place.display())]
    OnlyInRepository {
        /// Name that was looked up.
        name: String,
        /// First program of that name in a skipped entry of `PATH`.
        place: PathBuf,
    },
}
