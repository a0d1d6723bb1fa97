//! Runs that follow an earlier one: its history, and its files.
//!
//! Owns: which run is followed, and which of its files are shown again. Never: decides what policy lets a tool see.

use agentos_engine::context::unreadable_base;
use agentos_engine::history::{EarlierTurn, read_history};
use agentos_engine::ports::{EffectError, Repository as _};
use agentos_engine::task_options::{FollowKind, FollowedRun};
use agentos_landing::EntryKind;
use agentos_tool::RunId;

use agentos_ground::run_ref::find_run;
use agentos_ground::task_spec::TaskSpec;
use agentos_providers::session::Session;

/// Finds the run that a task follows, and reads its history. `None` if the task stands alone.
///
/// # Errors
/// If no one run is meant, or its records cannot be read.
pub(crate) fn follow_run(
    session: &Session,
    run: &RunId,
    spec: &TaskSpec,
) -> Result<Option<(FollowedRun, Vec<EarlierTurn>)>, EffectError> {
    let Some(follow) = &spec.follows else {
        return Ok(None);
    };
    let found = find_run(session.store(), &follow.run, Some(run))?;
    let history = read_history(session.reader(), &found)?;
    let earlier = FollowedRun {
        run: found,
        how: follow.how,
    };
    Ok(Some((earlier, history)))
}

/// Returns the files of the newest turn that the base still has, for a task that continues it.
///
/// # Errors
/// If the base cannot be read.
pub(crate) fn earlier_files(
    session: &Session,
    spec: &TaskSpec,
    history: &[EarlierTurn],
) -> Result<Vec<String>, EffectError> {
    let continues = spec
        .follows
        .as_ref()
        .is_some_and(|follow| follow.how == FollowKind::Continue);
    let (true, Some(last)) = (continues, history.last()) else {
        return Ok(Vec::new());
    };
    let target = session.port().target()?;
    let base = session.port().base(&target)?;
    let mut files = Vec::new();
    for path in &last.past.files {
        // The answer may have deleted it, or named a file that never was.
        let entry = base.entry(path).map_err(|error| unreadable_base(&error))?;
        if entry.is_some_and(|entry| matches!(entry.kind, EntryKind::File(_))) {
            files.push(path.clone());
        }
    }
    Ok(files)
}
