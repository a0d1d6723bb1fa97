//! The host: the product without a screen, with one door to each subject.
//!
//! Owns: the doors. Never: does the work behind them.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_calls::Calls;
use agentos_ground::Ground;
use agentos_ground::environment::Environment;
use agentos_ground::notice::HostObserver;
use agentos_providers::Providers;
use agentos_runs::Runs;
use agentos_stories::Stories;
use agentos_talk::Talk;

/// The product for one user: an environment, a repository folder and an observer of notices, with a door for each subject.
///
/// | door | subject |
/// |---|---|
/// | [`Host::providers`] | profiles, keys, settings and toolboxes of the user, and adding servers and models |
/// | [`Host::calls`] | single messages to a model, lists and health of providers and models, pools, budgets, costs |
/// | [`Host::stories`] | logs, exports, proofs, and the state of the repository and the machine |
/// | [`Host::runs`] | tasks, answers, requests, policy, devices and undo: the only door through which branches and files of a repository change |
/// | [`Host::talk`] | conversations that last |
///
/// Cheap to clone; every clone has the same context. What belongs to the context itself, such as the notices, is reached directly: a
/// host can be used wherever its [`Ground`] can.
#[derive(Debug, Clone)]
pub struct Host {
    ground: Ground,
}

impl Host {
    /// Makes a host in an environment, for the repository around its current folder. Notices are dropped until
    /// [`Host::with_observer`] sets an observer.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self {
            ground: Ground::new(environment),
        }
    }

    /// Chooses the repository around this folder; a relative path is below the current folder. `None` keeps the current folder.
    #[must_use]
    pub fn with_repository(self, folder: Option<PathBuf>) -> Self {
        Self {
            ground: self.ground.with_repository(folder),
        }
    }

    /// Makes a host whose calls belong to no repository, such as a service's answers for a user who names none.
    #[must_use]
    pub fn without_repository(self) -> Self {
        Self {
            ground: self.ground.without_repository(),
        }
    }

    /// Sends notices and records to this observer.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn HostObserver>) -> Self {
        Self {
            ground: self.ground.with_observer(observer),
        }
    }

    /// Sets whether a person waits for each call. A repository that another landing locks is reported as locked to a person, who
    /// can decide to try again; without a person, the call waits for its turn.
    #[must_use]
    pub fn with_person(self, is_attended: bool) -> Self {
        Self {
            ground: self.ground.with_person(is_attended),
        }
    }

    /// Opens the door to the user's providers.
    #[must_use]
    pub fn providers(&self) -> Providers<'_> {
        Providers::of(&self.ground)
    }

    /// Opens the door to calls of models.
    #[must_use]
    pub fn calls(&self) -> Calls<'_> {
        Calls::of(&self.ground)
    }

    /// Opens the door to what the tape and the repository say.
    #[must_use]
    pub fn stories(&self) -> Stories<'_> {
        Stories::of(&self.ground)
    }

    /// Opens the door to runs.
    #[must_use]
    pub fn runs(&self) -> Runs<'_> {
        Runs::of(&self.ground)
    }

    /// Opens the door to conversations.
    #[must_use]
    pub fn talk(&self) -> Talk<'_> {
        Talk::of(&self.ground)
    }
}

impl From<&Ground> for Host {
    fn from(ground: &Ground) -> Self {
        Self {
            ground: ground.clone(),
        }
    }
}

impl Deref for Host {
    type Target = Ground;

    fn deref(&self) -> &Ground {
        &self.ground
    }
}
