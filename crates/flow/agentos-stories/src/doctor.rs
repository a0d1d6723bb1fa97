//! `agentos doctor`: checks everything that a landing and a tool need here, one after the other.
//!
//! Owns: the order of the checks. Never: changes anything, or stops at the first fault.

mod machine;
mod repository;

use agentos_api::{CheckStatus, DoctorCheck, DoctorReport};
use agentos_engine::ports::EffectError;

use crate::Stories;

impl Stories<'_> {
    /// Checks everything that a landing and a tool need here, one after the other. `is_offline` leaves providers out.
    ///
    /// # Errors
    /// If a profile folder cannot be read, or the system refuses to wait for providers. What a check finds is in the report.
    pub fn check_setup(self, is_offline: bool) -> Result<DoctorReport, EffectError> {
        let mut checks = Vec::new();
        let repo = repository::open(self.ground, &mut checks);
        if let Some(repo) = &repo {
            repository::add_repository_checks(self.ground, repo, &mut checks)?;
        }
        machine::add_machine_checks(self.ground, repo.as_ref(), is_offline, &mut checks)?;
        Ok(DoctorReport {
            version: 1,
            ok: checks.iter().all(|check| check.cause.is_none()),
            checks,
        })
    }
}

/// Makes a failed check from an error.
fn failed_check(name: &str, error: &EffectError) -> DoctorCheck {
    DoctorCheck {
        status: CheckStatus::Wrong,
        code: Some(error.code.clone()),
        fix: error.hint.clone(),
        next: error.next.clone(),
        cause: Some(error.cause),
        ..DoctorCheck::fine(name, &error.message)
    }
}
