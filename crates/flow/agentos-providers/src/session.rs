//! A session: one run with its repository, tape, approver and clock.
//!
//! Owns: opening them in the right order, and recovering an interrupted landing first. Never: outlives the verb.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use agentos_api::Notice;
use agentos_engine::ports::{
    Clock, CommitHooks, Durability, EffectError, Evidence, LandingHistory, RecordReader, RunPhase,
};
use agentos_engine::settle::RunEffects;
use agentos_evidence::{RecordKind, Store};
use agentos_executor::{CopyFolder, Recovered, Repository};
use agentos_tool::RunId;

use crate::approver::Approver;
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::control::StopFlag;
use agentos_ground::notice::recovered_notice;
use agentos_ground::options::SessionOptions;
use agentos_ground::policy;
use agentos_ground::repository;
use agentos_ground::repository_port::RepositoryPort;
use agentos_ground::tape::{Tape, TapeReader, evidence_error};

/// The effects of a run that works on an earlier one.
pub struct RevisitPorts<'a> {
    /// The effects that every run needs.
    pub effects: RunEffects<'a>,
    /// The tape of every run, for reading.
    pub tape: &'a dyn RecordReader,
    /// The landings of earlier runs.
    pub history: &'a dyn LandingHistory,
}

/// The effects of one run.
pub struct Session {
    port: RepositoryPort,
    work_dir: PathBuf,
    cache: Option<PathBuf>,
    options: SessionOptions,
    /// The folder of copies, opened on first use and kept until the session ends.
    copies: OnceCell<Arc<CopyFolder>>,
    tape: Tape,
    reader: TapeReader<Rc<Store>>,
    approver: Approver,
    /// The repository's commit hooks. `None` if they are not to run.
    hooks: Option<Box<dyn CommitHooks>>,
}

/// Folders and options of a session, which tools are made from.
#[derive(Clone, Copy)]
pub struct SessionFolders<'a> {
    port: &'a RepositoryPort,
    cache: Option<&'a Path>,
    copies: &'a OnceCell<Arc<CopyFolder>>,
    options: &'a SessionOptions,
}

impl SessionFolders<'_> {
    /// Opens the folder of the repository's copies and of its runs.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open_copies(&self) -> Result<Arc<CopyFolder>, EffectError> {
        if let Some(opened) = self.copies.get() {
            return Ok(Arc::clone(opened));
        }
        let opened = self.port.repo().open_copies(self.cache);
        let opened = opened.map_err(|error| repository::exec_error(&error))?;
        Ok(Arc::clone(self.copies.get_or_init(|| Arc::new(opened))))
    }

    /// Returns the options of the session.
    pub fn options(&self) -> &SessionOptions {
        self.options
    }
}

impl Session {
    /// Opens the repository and its tape.
    ///
    /// # Errors
    /// If there is no repository, or its evidence cannot be opened.
    pub fn open(
        ground: &Ground,
        options: &SessionOptions,
        approver: Approver,
        stop: StopFlag,
        run: &RunId,
    ) -> Result<Self, EffectError> {
        let repo = repository::open(ground)?;
        let layers = policy::outer_layers(ground, &options.policies)?;
        let dir = repo.state_dir();
        let work_dir = repo
            .work_dir()
            // A bare repository has no working tree. Profiles and typed paths are then looked up in its own folder.
            .map_or_else(|| repo.common_dir().to_owned(), Path::to_owned);
        // One store for writing and reading, so that the reader has the records that this run has written.
        let store = Rc::new(Store::open(&dir).map_err(|error| evidence_error(&error))?);
        let mut tape = Tape::new(ground, Rc::clone(&store), run);
        // Before anything else: an interrupted landing may have left the index and the working tree half written.
        match recover_and_record(ground, &repo, &mut tape) {
            Ok(_) => {}
            // A run that only looks changes nothing, so an unfinished landing need not stop it.
            Err(error) if options.look_only => {
                ground.notify(Notice::new("recovery-postponed", error.message))
            }
            Err(error) => return Err(error),
        }
        Ok(Self {
            port: RepositoryPort::new(ground, repo, options.target_spec(), layers).stopped_by(stop),
            work_dir,
            options: options.clone(),
            cache: ground.environment().cache_dir(),
            copies: OnceCell::new(),
            tape,
            reader: TapeReader(store),
            approver,
            hooks: None,
        })
    }

    /// Sets the commit hooks of the repository.
    pub fn set_hooks(&mut self, hooks: impl CommitHooks + 'static) {
        self.hooks = Some(Box::new(hooks));
    }

    /// Returns the effects, for the engine.
    pub fn run_effects(&mut self) -> RunEffects<'_> {
        RunEffects {
            repo: &self.port,
            evidence: &mut self.tape,
            consent: &mut self.approver,
            clock: &SystemClock,
            hooks: self.hooks.as_deref(),
            requests: Some(&self.reader),
        }
    }

    /// Returns the effects for the engine, together with the folders in which tools are made while a run uses them.
    pub fn split_run(&mut self) -> (RunEffects<'_>, SessionFolders<'_>) {
        let effects = RunEffects {
            repo: &self.port,
            evidence: &mut self.tape,
            consent: &mut self.approver,
            clock: &SystemClock,
            hooks: self.hooks.as_deref(),
            requests: Some(&self.reader),
        };
        let folders = SessionFolders {
            port: &self.port,
            cache: self.cache.as_deref(),
            copies: &self.copies,
            options: &self.options,
        };
        (effects, folders)
    }

    /// Returns the folders in which tools are made.
    pub fn folders(&self) -> SessionFolders<'_> {
        SessionFolders {
            port: &self.port,
            cache: self.cache.as_deref(),
            copies: &self.copies,
            options: &self.options,
        }
    }

    /// Returns the effects for a run that works on an earlier one.
    pub fn revisit_ports(&mut self) -> RevisitPorts<'_> {
        RevisitPorts {
            tape: &self.reader,
            history: &self.port,
            effects: RunEffects {
                repo: &self.port,
                evidence: &mut self.tape,
                consent: &mut self.approver,
                clock: &SystemClock,
                hooks: self.hooks.as_deref(),
                requests: Some(&self.reader),
            },
        }
    }

    /// Ends the run on the tape with a signed checkpoint, unless its last record did. A failure is only reported: the records
    /// of the run are on the tape.
    pub fn seal_run(&mut self, ground: &Ground) {
        if let Err(error) = self.tape.make_durable(RunPhase::Ends, None) {
            let message = format!("the end of this run is not signed: {}", error.message);
            ground.notify(Notice::new("evidence-unsigned", message));
        }
    }

    /// Returns the options with which the session was opened.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Returns the evidence, for reading.
    pub fn store(&self) -> &Store {
        &self.reader.0
    }

    /// Returns the tape of every run, for reading.
    pub fn reader(&self) -> &dyn RecordReader {
        &self.reader
    }

    /// Returns the repository with its target.
    pub fn port(&self) -> &RepositoryPort {
        &self.port
    }

    /// Returns the repository.
    pub fn repo(&self) -> &Repository {
        self.port.repo()
    }

    /// Opens the folder of the repository's copies and of its runs.
    ///
    /// # Errors
    /// If there is none and none can be made.
    pub fn open_copies(&self) -> Result<Arc<CopyFolder>, EffectError> {
        self.folders().open_copies()
    }

    /// Returns the working tree, or the folder of a bare repository.
    pub fn work_dir(&self) -> &Path {
        &self.work_dir
    }
}

/// Finishes or rolls back an interrupted landing, notifies the observer, and records it. `None` if no landing was interrupted.
///
/// # Errors
/// If the landing cannot be finished now, or its record is not durable.
pub fn recover_and_record(
    ground: &Ground,
    repo: &Repository,
    tape: &mut Tape,
) -> Result<Option<Recovered>, EffectError> {
    // Paused until the record is durable, so that nobody answers a request whose change has just landed.
    let pause = repo
        .begin_recovery()
        .map_err(|error| repository::exec_error(&error))?;
    let Some(recovered) = pause.as_ref().and_then(|pause| pause.recovered.clone()) else {
        return Ok(None);
    };
    ground.notify(recovered_notice(&recovered));
    let body = serde_json::to_value(&recovered).unwrap_or_default();
    // Durable at once: that landing has ended, and no later command will find it again to report its end.
    tape.record(RecordKind::Recovered, body, Durability::Now)?;
    tracing::debug!(at = %SystemClock.now(), run = %recovered.run, "recovered");
    Ok(Some(recovered))
}
