//! One run with its repository, tape, person and clock.
//!
//! Owns: opening them in the right order, and taking up what a killed process left. Never: outlives the verb.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_engine::ports::EffectError;
use agentos_engine::ports::{Clock, Evidence};
use agentos_engine::settle::Deps;
use agentos_evidence::{RecordKind, Store};
use agentos_executor::{CopyFolder, Recovered, Repository, TargetSpec};
use agentos_tool::RunId;

use super::consent::Asker;
use super::policy;
use super::repository::{self, RepositoryPort};
use super::screen;
use super::tape::{Tape, broken};
use crate::app::App;
use crate::args::land::TargetFlags;
use crate::clock::SystemClock;
use crate::render::recover::recovered as told;

/// What the flags ask for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Commit on this branch.
    pub branch: Option<String>,
    /// No commit.
    pub no_commit: bool,
    /// Nothing.
    pub dry_run: bool,
    /// Consent beforehand.
    pub yes: bool,
    /// Policy files of the command line.
    pub policies: Vec<PathBuf>,
    /// Nobody is to be asked, even at a terminal.
    pub headless: bool,
    /// The change is only looked at, whatever state the repository is in.
    pub look_only: bool,
}

impl Wanted {
    /// Nothing is to be written.
    pub fn nothing() -> Self {
        Self {
            look_only: true,
            headless: true,
            ..Self::default()
        }
    }

    fn spec(&self) -> TargetSpec {
        let real = match (&self.branch, self.no_commit) {
            (Some(branch), _) => TargetSpec::Branch(branch.clone()),
            (None, true) => TargetSpec::WorkTreeOnly,
            (None, false) => TargetSpec::CurrentBranch,
        };
        match (self.look_only, self.dry_run) {
            (true, _) => TargetSpec::AtHead,
            (false, true) => TargetSpec::DryRun(Box::new(real)),
            (false, false) => real,
        }
    }
}

impl From<&TargetFlags> for Wanted {
    fn from(flags: &TargetFlags) -> Self {
        Self {
            branch: flags.branch.clone(),
            no_commit: flags.no_commit,
            dry_run: flags.dry_run,
            yes: flags.yes,
            policies: flags.policy.clone(),
            headless: false,
            look_only: false,
        }
    }
}

/// One run's effects.
pub struct Session {
    port: RepositoryPort,
    work_dir: PathBuf,
    cache: Option<PathBuf>,
    /// Opened when the first run needs it, and kept until the last has ended.
    copies: OnceCell<Arc<CopyFolder>>,
    tape: Tape,
    asker: Asker,
}

impl Session {
    /// Opens the repository and its tape.
    ///
    /// # Errors
    /// When there is no repository, or its evidence cannot be opened.
    pub fn open(app: &App, wanted: &Wanted, run: &RunId) -> Result<Self, EffectError> {
        let repo = repository::open(app)?;
        let layers = policy::outer_layers(app, &wanted.policies)?;
        let dir = repo.state_dir();
        let work_dir = repo
            .work_dir()
            .map_or_else(|| repo.common_dir().to_owned(), Path::to_owned);
        let store = Store::open(&dir).map_err(|error| broken(&error))?;
        let mut tape = Tape::new(app, store, run);
        match recover(app, &repo, &mut tape) {
            Ok(_) => {}
            // A look changes nothing, and need not wait for what stands in the way.
            Err(error) if wanted.look_only => app.printer.note(&format!("note: {}", error.message)),
            Err(error) => return Err(error),
        }
        Ok(Self {
            port: RepositoryPort::new(app, repo, wanted.spec(), layers),
            work_dir,
            cache: app.env.cache_dir(),
            copies: OnceCell::new(),
            tape,
            asker: asker(app, wanted),
        })
    }

    /// The effects, for the engine.
    pub fn deps(&mut self) -> Deps<'_> {
        Deps {
            repo: &self.port,
            evidence: &mut self.tape,
            consent: &mut self.asker,
            clock: &SystemClock,
        }
    }

    /// Ends the run on the tape, signed, unless its last record did. What cannot be ended so is told and stands: what was
    /// done is recorded.
    pub fn seal(&mut self, app: &App) {
        self.tape.end();
        if let Err(error) = self.tape.sync() {
            app.printer.note(&format!(
                "note: the end of this run is not signed: {}",
                error.message
            ));
        }
    }

    /// Whether there is a person to be asked.
    pub fn can_ask(&self) -> bool {
        matches!(self.asker, Asker::Terminal { .. })
    }

    /// Has somebody else asked than the flags said.
    pub fn consent_by(&mut self, asker: Asker) {
        self.asker = asker;
    }

    /// Lands somewhere else than the flags said.
    pub fn aim(&mut self, spec: TargetSpec) {
        self.port.aim(spec);
    }

    /// The evidence, for reading.
    pub fn store(&self) -> &Store {
        self.tape.store()
    }

    /// The repository with its target.
    pub fn port(&self) -> &RepositoryPort {
        &self.port
    }

    /// The repository.
    pub fn repo(&self) -> &Repository {
        self.port.repo()
    }

    /// Opens the folder of the repository's copies and of its runs.
    ///
    /// # Errors
    /// When there is none and none can be made.
    pub fn open_copies(&self) -> Result<Arc<CopyFolder>, EffectError> {
        if let Some(opened) = self.copies.get() {
            return Ok(Arc::clone(opened));
        }
        let opened = self.repo().open_copies(self.cache.as_deref());
        let opened = opened.map_err(|error| repository::failed(&error))?;
        Ok(Arc::clone(self.copies.get_or_init(|| Arc::new(opened))))
    }

    /// The work tree; of a bare repository, its own folder.
    pub fn work_dir(&self) -> &Path {
        &self.work_dir
    }
}

fn asker(app: &App, wanted: &Wanted) -> Asker {
    let who = app.env.user();
    match (
        wanted.yes,
        app.env.can_ask && !app.printer.json && !wanted.headless,
    ) {
        (true, _) => Asker::Yes {
            who,
            how: "--yes".to_owned(),
        },
        (false, true) => Asker::Terminal {
            who,
            size: screen::size(&app.env),
            // One that is not there is told when a text is to be shown in it; here the screen does without.
            pager: screen::pager(app).ok().flatten(),
        },
        (false, false) => Asker::Nobody,
    }
}

/// The same with nothing to follow, for the verb of this name.
///
/// # Errors
/// When there is no repository, its evidence cannot be opened, or the landing cannot be finished now.
pub fn recover_only(app: &App, run: &RunId) -> Result<Option<Recovered>, EffectError> {
    let repo = repository::open(app)?;
    let store = Store::open(&repo.state_dir()).map_err(|error| broken(&error))?;
    recover(app, &repo, &mut Tape::new(app, store, run))
}

/// Finishes or rolls back what a killed process left, says so, and records it.
fn recover(app: &App, repo: &Repository, tape: &mut Tape) -> Result<Option<Recovered>, EffectError> {
    let Some(recovered) = repo.recover().map_err(|error| repository::failed(&error))? else {
        return Ok(None);
    };
    app.printer.note(&told(&recovered));
    let body = serde_json::to_value(&recovered).unwrap_or_default();
    tape.append(RecordKind::Recovered, body)?;
    tracing::debug!(at = %SystemClock.now(), run = %recovered.run, "recovered");
    Ok(Some(recovered))
}
