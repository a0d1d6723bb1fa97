//! `agentos recover`: an interrupted landing is finished or rolled back.
//!
//! Owns: the report. Never: decides which of the two; the executor's journal does.

use std::rc::Rc;

use agentos_engine::ports::EffectError;
use agentos_evidence::Store;
use agentos_executor::Recovered;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Runs;
use agentos_ground::tape::{Tape, evidence_error};
use agentos_ground::{clock, repository};
use agentos_providers::session::recover_and_record;

/// The output of `agentos recover --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecoverReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The landing that was finished or rolled back. `None` if there was nothing to do.
    pub recovered: Option<Recovered>,
}

impl Runs<'_> {
    /// Finishes or rolls back an interrupted landing, as every run does at its start.
    ///
    /// # Errors
    /// If there is no repository, its evidence cannot be opened, or the landing cannot be finished now.
    pub fn recover_landing(self) -> Result<RecoverReport, EffectError> {
        let repo = repository::open(self.ground)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))?;
        let mut tape = Tape::new(self.ground, Rc::new(store), &clock::new_run());
        Ok(RecoverReport {
            version: 1,
            recovered: recover_and_record(self.ground, &repo, &mut tape)?,
        })
    }
}
