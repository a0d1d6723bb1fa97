//! What changed in the repository while a tool worked.
//!
//! Owns: telling a tool's write from another run's landing. Never: takes a tool's word for either.

use agentos_tool::{Boundary, Confinement, Enforcement};

use crate::ports::{AccountedRuns, EffectError, Measured};
use crate::settle::Deps;

/// Measures the repository after a call. What another run landed meanwhile is no write of the tool.
///
/// Another run is known by its receipt on the tape. A tool that the kernel does not hold could write one itself, so that its word would
/// excuse its writes: then every difference counts.
pub(crate) fn measure_boundary(
    deps: &Deps<'_>,
    confinement: &Confinement,
    before: &dyn Measured,
) -> Result<Boundary, EffectError> {
    let after = deps.repo.measure()?;
    let state = before.state();
    if state == after.state() {
        return Ok(Boundary::between(confinement, state, after.state(), &[]));
    }
    let is_held = match confinement.enforcement {
        Enforcement::Kernel => true,
        Enforcement::Observed => false,
    };
    if is_held && let Some(AccountedRuns { after, runs }) = deps.repo.account_for(before)? {
        return Ok(Boundary::with_landings(confinement, state, after, runs));
    }
    let paths = before.changed_paths(after.as_ref(), 20);
    Ok(Boundary::between(confinement, state, after.state(), &paths))
}
