//! `agentos evidence replay`: derives landing, decision and tree again from the evidence.
//!
//! Owns: the objects of the repository, as the executor reads them. Never: compares anything; see [`evidence_replay`].

use agentos_api::ReplayReport;
use agentos_engine::evidence_replay;
use agentos_engine::ports::{EffectError, ReplayObjects, TargetInfo};
use agentos_evidence::Store;
use agentos_executor::Repository;
use agentos_landing::{Base, Change};

use crate::Stories;
use crate::evidence::newest_run;
use agentos_ground::error::repo_error;
use agentos_ground::repository::{self, exec_error};
use agentos_ground::run_ref::find_run;
use agentos_ground::tape::open_store;
use agentos_ground::tape::{TapeReader, evidence_error};

impl Stories<'_> {
    /// Derives landing, decision and tree of recorded runs again. `None` replays all runs; `on_run` is called after each.
    ///
    /// # Errors
    /// If there is no such run, or the tape cannot be read.
    pub fn replay_runs(self, run: Option<&str>, on_run: &dyn Fn()) -> Result<ReplayReport, EffectError> {
        let repo = repository::open(self.ground)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))?;
        let run = run
            .map(|reference| find_run(&store, reference, None))
            .transpose()?;
        let objects = RepositoryObjects(&repo);
        evidence_replay::replay_runs(&TapeReader(&store), &objects, run.as_deref(), on_run)
    }

    /// Returns the run that began last.
    ///
    /// # Errors
    /// If there is none, or the tape cannot be read.
    pub fn newest_run(self) -> Result<String, EffectError> {
        Ok(newest_run(&open_store(self.ground)?)?.run)
    }
}

/// The repository's objects as the engine's port.
struct RepositoryObjects<'a>(&'a Repository);

impl ReplayObjects for RepositoryObjects<'_> {
    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError> {
        let base = self.0.base(&repository::to_exec_target(target));
        Ok(Box::new(base.map_err(|error| repo_error(&error))?))
    }

    fn commit_tree(&self, commit: &str) -> Option<String> {
        self.0.commit(commit).map(|found| found.tree)
    }

    fn hooks_path(&self) -> Option<String> {
        self.0.hooks_path()
    }

    fn base_links(&self, tree: &str) -> Result<Vec<(String, String)>, EffectError> {
        self.0.base_links(tree).map_err(|error| repo_error(&error))
    }

    fn derive_tree(&self, change: &Change, base_tree: &str) -> Result<String, EffectError> {
        self.0
            .tree_of(change, base_tree)
            .map_err(|error| exec_error(&error))
    }
}
