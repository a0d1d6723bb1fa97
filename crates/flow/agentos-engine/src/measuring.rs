//! The boundary: changes in the repository while a tool worked.
//!
//! Owns: telling a tool's write from another run's landing. Never: relies on a tool's word for either.

use agentos_tool::{Boundary, Confinement, Enforcement};

use crate::ports::{AccountedRuns, EffectError, Measured};
use crate::settle::RunEffects;

/// Measures the repository after a call. Changes that another run landed meanwhile are not writes of the tool.
///
/// Another run is recognised by its receipt on the tape. A tool that the kernel does not confine could forge a receipt for
/// its own writes; for such a tool, every difference counts.
///
/// # Errors
/// If the repository cannot be measured.
pub(crate) fn measure_boundary(
    effects: &RunEffects<'_>,
    confinement: &Confinement,
    before: &dyn Measured,
) -> Result<Boundary, EffectError> {
    let after = effects.repo.measure()?;
    let state = before.state();
    // The usual case. Accounting for landings locks the repository, so it is left for a real difference.
    if state == after.state() {
        return Ok(Boundary::compare_states(confinement, state, after.state(), &[]));
    }
    let is_confined = match confinement.enforcement {
        Enforcement::Kernel => true,
        Enforcement::Observed => false,
    };
    if is_confined && let Some(AccountedRuns { after, runs }) = effects.repo.account_for(before)? {
        return Ok(Boundary::with_landings(confinement, state, after, runs));
    }
    // 20 names are enough to see what happened; a build can change thousands of files.
    let paths = before.changed_paths(after.as_ref(), 20);
    Ok(Boundary::compare_states(
        confinement,
        state,
        after.state(),
        &paths,
    ))
}
