//! The context of calls.
//!
//! Owns: the environment of a call, the repository of a call, and the observer of notices. Never: prints, reads a terminal, or
//! outlives its caller.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use agentos_api::Notice;
use agentos_machine::MachineMonitor;

use crate::environment::Environment;
use crate::notice::{HostObserver, SharedObserver, SilentObserver};
use crate::read_answers::ReadAnswers;

/// The ground of calls: an environment, a repository folder, and an observer of notices. All functions of the product get one.
///
/// Cheap to clone; every clone has the same context.
#[derive(Debug, Clone)]
pub struct Ground {
    environment: Arc<Environment>,
    repository: Option<PathBuf>,
    /// True if the calls belong to no repository, wherever the current folder is.
    is_outside: bool,
    observer: SharedObserver,
    is_attended: bool,
    /// Looks at the machine at the side, from the first turn that needs them.
    monitor: Arc<OnceLock<Option<MachineMonitor>>>,
    /// Answers about reads of earlier turns.
    read_answers: ReadAnswers,
}

impl Ground {
    /// Makes a ground in an environment, for the repository around its current folder. Notices are dropped until
    /// [`Ground::with_observer`] sets an observer.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self {
            environment: Arc::new(environment),
            repository: None,
            is_outside: false,
            observer: SharedObserver(Arc::new(SilentObserver)),
            is_attended: false,
            monitor: Arc::default(),
            read_answers: ReadAnswers::default(),
        }
    }

    /// Chooses the repository around this folder; a relative path is below the current folder. `None` keeps the current folder.
    #[must_use]
    pub fn with_repository(mut self, folder: Option<PathBuf>) -> Self {
        self.is_outside = false;
        self.repository = folder;
        self
    }

    /// Makes a ground whose calls belong to no repository, such as a service's answers for a user who names none.
    #[must_use]
    pub fn without_repository(mut self) -> Self {
        self.repository = None;
        self.is_outside = true;
        self
    }

    /// Sends notices and records to this observer.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn HostObserver>) -> Self {
        self.observer = SharedObserver(observer);
        self
    }

    /// Sets whether a person waits for each call. A repository that another landing locks is reported as locked to a person, who
    /// can decide to try again; without a person, the call waits for its turn.
    #[must_use]
    pub fn with_person(mut self, is_attended: bool) -> Self {
        self.is_attended = is_attended;
        self
    }

    /// Returns the environment of the calls.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the folder in which the repository is looked up.
    #[must_use]
    pub fn repository_dir(&self) -> PathBuf {
        match &self.repository {
            // `join` keeps an absolute path as it is.
            Some(dir) => self.environment.cwd.join(dir),
            None => self.environment.cwd.clone(),
        }
    }

    /// Returns the folder that the caller named. `None` if it named none.
    #[must_use]
    pub fn named_repository(&self) -> Option<&Path> {
        self.repository.as_deref()
    }

    /// Returns the answers about reads of earlier turns, which all clones share.
    pub fn read_answers(&self) -> &ReadAnswers {
        &self.read_answers
    }

    /// Returns true if the calls belong to no repository.
    pub(crate) fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// Returns true if a person waits for each call.
    pub(crate) fn is_attended(&self) -> bool {
        self.is_attended
    }

    /// Returns the looks at the machine at the side. `None` before the first turn that needs them.
    pub fn monitor(&self) -> Option<&MachineMonitor> {
        self.monitor.get()?.as_ref()
    }

    /// Starts the looks at the machine at the side, once. `None` from `start` means that this machine shows nothing.
    pub fn start_monitor(&self, start: impl FnOnce() -> Option<MachineMonitor>) {
        self.monitor.get_or_init(start);
    }

    /// Sends a notice to the observer.
    pub fn notify(&self, notice: Notice) {
        self.observer.0.on_notice(notice);
    }

    /// Returns the observer, to be shared.
    pub fn shared_observer(&self) -> SharedObserver {
        self.observer.clone()
    }

    /// Returns the observer of notices and records.
    pub fn observer(&self) -> &dyn HostObserver {
        self.observer.0.as_ref()
    }
}
