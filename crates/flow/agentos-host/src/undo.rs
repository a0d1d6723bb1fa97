//! `agentos undo`: the inverse of a landed run, landed like every change.
//!
//! Owns: reading the earlier landings from the executor. Never: chooses the run to undo; see [`undo`].

use agentos_engine::ports::{CancelSignal, EffectError, LandingCommit, LandingHistory, RecordedLanding};
use agentos_engine::undo::{self, UndoOrder};
use agentos_executor::{RUN_TRAILER, TargetSpec};
use agentos_landing::Change;
use agentos_tool::RunId;

use crate::error::repo_error;
use crate::repository::exec_error;
use crate::repository_port::{RepositoryPort, receipt_files};
use crate::run_end::RunEnd;
use crate::run_ref::find_run;
use crate::session::Session;

/// Undoes the landing of the named run, or of the last one that wrote something.
///
/// # Errors
/// If no such run landed anything, or its change has no inverse.
pub(crate) async fn undo_run(
    session: &mut Session,
    run: &RunId,
    named: Option<&str>,
    is_dry: bool,
    cancel: &mut CancelSignal<'_>,
) -> Result<RunEnd, EffectError> {
    let named = named.map(|reference| find_run(session.store(), reference, Some(run)));
    let named = named.transpose()?;
    let mut ports = session.revisit_ports();
    let order = UndoOrder {
        run,
        named: named.as_deref(),
        is_dry,
    };
    let undone = undo::undo_run(&mut ports.effects, ports.tape, ports.history, &order, cancel);
    Ok(undone.await?.into())
}

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
