//! Calls of models: how one is opened, kept open by a service, and where its cost goes.
//!
//! Owns: what all calls of one front end share. Never: sends anything.

mod kept;
mod opened;
mod stamp;

use std::sync::Arc;

use agentos_engine::ports::EffectError;

use crate::hosted::ModelProcesses;
use crate::ledger::{Ledger, TurnLedger};
use agentos_ground::Ground;
use agentos_ground::options::ProviderChoice;

pub use kept::KeptModels;
pub use opened::{OpenedModel, ReadyModel, SharedGuard};

/// Desk that the calls of one front end share. Clones share it too.
#[derive(Clone)]
pub struct CallDesk {
    /// The ground of the calls.
    pub ground: Ground,
    pub(crate) processes: ModelProcesses,
    /// The ledger in which each call is recorded.
    pub ledger: TurnLedger,
    /// Name of the service's token with which a program asks. `None` if no token is used.
    pub token: Option<String>,
    /// Models that stay open between calls. `None` if each call opens its own.
    kept: Option<KeptModels>,
}

impl CallDesk {
    /// Makes the desk of a single call.
    ///
    /// # Errors
    /// If the ledger cannot be opened: a message whose cost cannot be recorded is not sent.
    pub(crate) fn for_one_call(ground: &Ground) -> Result<Self, EffectError> {
        Ok(Self {
            ground: ground.clone(),
            processes: ModelProcesses::new(),
            ledger: TurnLedger::Single(Arc::new(Ledger::open(ground)?)),
            token: None,
            kept: None,
        })
    }

    /// Makes the desk of a service, which keeps its models open.
    pub fn for_service(
        ground: &Ground,
        processes: &ModelProcesses,
        ledger: TurnLedger,
        (kept, token): (&KeptModels, Option<&str>),
    ) -> Self {
        Self {
            ground: ground.clone(),
            processes: processes.clone(),
            ledger,
            token: token.map(str::to_owned),
            kept: Some(kept.clone()),
        }
    }

    /// Opens the model of a provider, or returns the one that is kept.
    ///
    /// # Errors
    /// If the provider is not a server, its profile is invalid, or the budgets cannot be read.
    pub(crate) fn open_model(&self, provider: &ProviderChoice) -> Result<Arc<ReadyModel>, EffectError> {
        match &self.kept {
            Some(kept) => kept.find_chosen(&self.ground, provider, &self.processes),
            None => ReadyModel::open(&self.ground, provider, &self.processes).map(Arc::new),
        }
    }
}
