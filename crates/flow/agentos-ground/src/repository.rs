//! The repository of a call.
//!
//! Owns: opening it, and the translation of its targets and errors to the engine's. Never: reads or writes one of its files.

use agentos_engine::Cause;
use agentos_engine::ports::{EffectError, TargetInfo, Writes};
use agentos_executor::{ExecError, RepoError, Repository, Target};

use crate::Ground;
use crate::error::repo_error;

/// Opens the repository of the call.
///
/// # Errors
/// If there is no repository, or its configuration cannot be read.
pub fn open(ground: &Ground) -> Result<Repository, EffectError> {
    if ground.is_outside() {
        return Err(repo_error(&RepoError::NotARepository(ground.repository_dir())));
    }
    let found = Repository::discover(&ground.repository_dir()).map_err(|error| repo_error(&error))?;
    let found = found
        .with_config(ground.environment().git_config())
        .map_err(|error| repo_error(&error))?
        .with_fail_points(ground.environment().fail_points());
    Ok(if ground.is_attended() {
        found
    } else {
        // With a queue, landings whose base moved take turns. Not if a person is asked before the next attempt: the others
        // would wait for the answer, perhaps for hours.
        found.queueing()
    })
}

impl Ground {
    /// Reads the editor that the user's own git configuration names. `None` if it does not name an editor, or the call has no repository.
    #[must_use]
    pub fn git_editor(&self) -> Option<String> {
        open(self).ok()?.user_editor()
    }
}

/// Converts the error of an executor that wrote nothing, or could not finish, to the engine's error.
pub fn exec_error(error: &ExecError) -> EffectError {
    let cause = match error {
        ExecError::EvidenceNotDurable(_) => Cause::Evidence,
        ExecError::Interrupted => Cause::Interrupted,
        other if other.is_internal() => Cause::Internal,
        _ => Cause::Repository,
    };
    let mut effect = EffectError::from_error(cause, error.code(), error);
    effect.hint = error.hint().map(str::to_owned);
    effect.next = error.next_steps();
    effect.base_moved = matches!(error, ExecError::BaseMoved { .. });
    effect.written = matches!(error, ExecError::Unfinished(_));
    effect
}

/// Converts a target to the engine's type.
pub fn to_target_info(target: &Target) -> TargetInfo {
    TargetInfo {
        refname: target.refname.clone(),
        base_commit: target.base_commit.clone(),
        base_tree: target.base_tree.clone(),
        creates_branch: target.creates_branch,
        writes: match target.writes {
            agentos_executor::Writes::CommitAndWorkTree => Writes::CommitAndWorkTree,
            agentos_executor::Writes::CommitOnly => Writes::CommitOnly,
            agentos_executor::Writes::WorkTreeOnly => Writes::WorkTreeOnly,
            agentos_executor::Writes::Nothing => Writes::Nothing,
        },
    }
}

/// Converts a target to the executor's type.
pub fn to_exec_target(target: &TargetInfo) -> Target {
    Target {
        refname: target.refname.clone(),
        base_commit: target.base_commit.clone(),
        base_tree: target.base_tree.clone(),
        creates_branch: target.creates_branch,
        writes: match target.writes {
            Writes::CommitAndWorkTree => agentos_executor::Writes::CommitAndWorkTree,
            Writes::CommitOnly => agentos_executor::Writes::CommitOnly,
            Writes::WorkTreeOnly => agentos_executor::Writes::WorkTreeOnly,
            Writes::Nothing => agentos_executor::Writes::Nothing,
        },
    }
}
