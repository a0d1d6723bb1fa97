//! Turning an answer of any dialect into the canonical change, without landing it.
//!
//! Owns: the commit in which an answer is placed. Never: writes anything, not even evidence.

use agentos_engine::ports::EffectError;
use agentos_landing::{LandError, LandOptions, LandedChange, LandingReport, land};

use crate::Runs;
use agentos_ground::error::repo_error;
use agentos_ground::repository;

impl Runs<'_> {
    /// Places an answer in a commit. The inner error is the report of an answer that does not land.
    ///
    /// # Errors
    /// If there is no repository or no such commit.
    pub fn normalize_answer(
        self,
        answer: &[u8],
        base: &str,
    ) -> Result<Result<Box<LandedChange>, Box<LandingReport>>, EffectError> {
        let repo = repository::open(self.ground)?;
        let base = repo.base_at(base).map_err(|error| repo_error(&error))?;
        match land(answer, &base, &LandOptions::default()) {
            Ok(found) => Ok(Ok(Box::new(found))),
            Err(LandError::Refused(report)) => Ok(Err(report)),
            Err(LandError::Base(error)) => Err(agentos_engine::context::unreadable_base(&error)),
        }
    }
}
