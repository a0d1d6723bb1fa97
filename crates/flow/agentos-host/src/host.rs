//! The host: the product without a screen, as every front end holds it.
//!
//! Owns: the environment of a call, the repository that is meant, and the door for notices. Never: prints, reads a terminal, or
//! outlives its caller.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_api::Notice;

use crate::environment::Environment;
use crate::notice::{HostObserver, SharedObserver, SilentObserver};

/// One place to work from: an environment, a folder, and somebody who hears notices.
///
/// Cheap to clone; every clone means the same place.
#[derive(Debug, Clone)]
pub struct Host {
    environment: Arc<Environment>,
    repository: Option<PathBuf>,
    observer: SharedObserver,
    is_attended: bool,
}

impl Host {
    /// Opens a host in an environment, meaning the repository around its current folder. Notices are dropped until
    /// [`Host::with_observer`] names who hears them.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self {
            environment: Arc::new(environment),
            repository: None,
            observer: SharedObserver(Arc::new(SilentObserver)),
            is_attended: false,
        }
    }

    /// Means the repository around this folder; a relative one is below the current folder. `None` keeps the current folder.
    #[must_use]
    pub fn with_repository(mut self, folder: Option<PathBuf>) -> Self {
        self.repository = folder;
        self
    }

    /// Sends notices and records to this observer.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn HostObserver>) -> Self {
        self.observer = SharedObserver(observer);
        self
    }

    /// Says whether a person waits for each call. A repository that is locked by another landing is waited for in turn where
    /// nobody does, and reported as locked where somebody could decide to try again.
    #[must_use]
    pub fn with_person(mut self, is_attended: bool) -> Self {
        self.is_attended = is_attended;
        self
    }

    /// Returns what the process was started in.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the folder whose repository is meant.
    #[must_use]
    pub fn repository_dir(&self) -> PathBuf {
        match &self.repository {
            Some(dir) => self.environment.cwd.join(dir),
            None => self.environment.cwd.clone(),
        }
    }

    /// Returns the folder that the caller named as the repository's. `None` if it named none.
    #[must_use]
    pub fn named_repository(&self) -> Option<&Path> {
        self.repository.as_deref()
    }

    /// True if a person waits for each call.
    pub(crate) fn is_attended(&self) -> bool {
        self.is_attended
    }

    /// Hands a notice to whoever listens.
    pub fn notify(&self, notice: Notice) {
        self.observer.0.notice(notice);
    }

    /// Returns who hears of notices and records.
    pub(crate) fn observer(&self) -> &dyn HostObserver {
        self.observer.0.as_ref()
    }
}
