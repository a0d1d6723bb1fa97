//! Implements the engine's port for earlier landings with the executor.
//!
//! Owns: reading the commits of earlier landings and their changes. Never: writes.

use agentos_engine::ports::{EffectError, LandingCommit, LandingHistory, RecordedLanding};
use agentos_executor::{RUN_TRAILER, TargetSpec};
use agentos_landing::Change;

use crate::error::repo_error;
use crate::repository::exec_error;
use crate::repository_port::{RepositoryPort, receipt_files};

impl LandingHistory for RepositoryPort {
    fn landing_commits(&self, limit: usize) -> Result<Vec<LandingCommit>, EffectError> {
        let commits = self.repo().agentos_commits(limit);
        let commits = commits.map_err(|error| repo_error(&error))?.into_iter();
        let commits = commits.map(|commit| LandingCommit {
            run: commit.trailer(RUN_TRAILER).map(str::to_owned),
            id: commit.id,
        });
        Ok(commits.collect())
    }

    fn read_change(&self, landing: &RecordedLanding) -> Result<Change, EffectError> {
        let files = receipt_files(&landing.files)?;
        self.repo().change_of(&files).map_err(|error| exec_error(&error))
    }

    fn has_branch(&self, name: &str) -> Result<bool, EffectError> {
        let target = self.repo().resolve(&TargetSpec::Branch(name.to_owned()));
        let target = target.map_err(|error| repo_error(&error))?;
        // A branch that does not exist resolves as well, because a landing would create it.
        Ok(!target.creates_branch)
    }
}
