//! `agentos undo`: the inverse of a landed run, landed like every change.
//!
//! Owns: the run of an undo. Never: chooses the run to undo; see [`undo`].

use agentos_engine::ports::{CancelSignal, EffectError};
use agentos_engine::undo::{self, UndoOrder};
use agentos_tool::RunId;

use agentos_ground::run_end::RunEnd;
use agentos_ground::run_ref::find_run;
use agentos_providers::session::Session;

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
