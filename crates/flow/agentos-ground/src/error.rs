//! Errors that the product itself makes, and errors of other crates as the engine's.
//!
//! Owns: the error of a wrong call, of a repository, and of the catalogue. Never: words it for one front end.

use agentos_catalog::CatalogError;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::RepoError;

/// Makes the error of a wrong call: a wrong name, path or combination of options.
pub fn usage_error(message: impl Into<String>) -> EffectError {
    EffectError::new(Cause::Usage, "usage", message)
}

/// Converts the error of a repository that cannot be read or landed on to the engine's error.
pub fn repo_error(error: &RepoError) -> EffectError {
    let cause = match error {
        // Only these two errors are about names that the user typed. The others are about the repository's state.
        RepoError::BadBranchName(_) | RepoError::UnknownRevision(_) => Cause::Usage,
        // If the rules cannot be read, the change is denied.
        RepoError::UnreadablePolicy { .. } => Cause::Policy,
        _ => Cause::Repository,
    };
    let mut effect = EffectError::from_error(cause, error.code(), error);
    effect.hint = error.hint().map(str::to_owned);
    effect.next = error.next_steps();
    effect
}

/// Converts the error of the catalogue of models.
pub fn catalog_error(error: &CatalogError) -> EffectError {
    EffectError::from_source(Cause::Internal, "catalogue", error.to_string(), error)
}
