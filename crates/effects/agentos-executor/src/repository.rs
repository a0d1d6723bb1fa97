//! Opening a repository, safely: what we can keep whole, and nothing else.
//!
//! Owns: discovery and the refusal of formats. Never: runs a hook or
//! a filter, or trusts another user's configuration (libgit2's check of the owner stays on).

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use agentos_durable::{Disk, SyncError, SyncFile};
use git2::{ErrorCode, RepositoryOpenFlags};

use crate::error::Unsupported;
use crate::journal::Lock;
use crate::{ConfigEnv, ExecError, FailPoints, Recovered, RepoError, git_dir};

/// A repository that can be read and landed on.
pub struct Repository {
    pub(crate) git: git2::Repository,
    common: PathBuf,
    work: Option<PathBuf>,
    disk: Disk,
    fail: FailPoints,
    queue: Queue,
    recovered: RefCell<Option<Recovered>>,
    pub(crate) config_env: ConfigEnv,
}

/// What is done when the base moved.
pub(crate) enum Queue {
    /// Nothing: a person may be asked before it is landed again, and nobody shall wait for that.
    Never,
    /// Others whose base moved wait until this one has landed again.
    Willing(RefCell<Option<Lock>>),
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository")
            .field("common", &self.common)
            .field("work", &self.work)
            .finish()
    }
}

impl Repository {
    /// The repository that holds a folder.
    ///
    /// # Errors
    /// When there is none, it is another user's, or of a format that is not supported.
    pub fn discover(path: &Path) -> Result<Self, RepoError> {
        let none: [&OsStr; 0] = [];
        let git =
            git2::Repository::open_ext(path, RepositoryOpenFlags::empty(), none).map_err(
                |error| match error.code() {
                    ErrorCode::NotFound => RepoError::NotARepository(path.to_owned()),
                    ErrorCode::Owner => RepoError::NotOwned(path.to_owned()),
                    _ => RepoError::git("open the repository")(error),
                },
            )?;
        let repository = Self::checked(git)?;
        git_dir::check_reached(&repository.git, path)?;
        Ok(repository)
    }

    pub(crate) fn checked(git: git2::Repository) -> Result<Self, RepoError> {
        let common = git.commondir().to_owned();
        let work = git.workdir().map(Path::to_owned);
        if let Some(work) = &work
            && !holds(work, git.path())
        {
            return Err(RepoError::WorkTreeElsewhere(work.clone()));
        }
        git_dir::check_owner(&git)?;
        let repository = Self {
            git,
            disk: Disk::of(&common),
            common,
            work,
            fail: FailPoints::default(),
            queue: Queue::Never,
            recovered: RefCell::new(None),
            config_env: ConfigEnv::default(),
        };
        if repository.has_promisor() {
            return Err(RepoError::Unsupported(Unsupported::PartialClone));
        }
        Ok(repository)
    }

    /// The same repository, with the places where a kill test ends the process.
    #[must_use]
    pub fn with_fail_points(self, fail: FailPoints) -> Self {
        Self { fail, ..self }
    }

    /// The same repository, where landers whose base moved come one after the other. Not for one that asks a person:
    /// the others would wait for the answer.
    #[must_use]
    pub fn queueing(self) -> Self {
        Self {
            queue: Queue::Willing(RefCell::new(None)),
            ..self
        }
    }

    /// What a landing that then failed had brought to its end before: it happened all the same, and is to be recorded.
    /// A landing that succeeded tells it in its receipt.
    #[must_use]
    pub fn take_recovered(&self) -> Option<Recovered> {
        self.recovered.take()
    }

    pub(crate) fn note_recovered(&self, recovered: Option<Recovered>) {
        if recovered.is_some() {
            self.recovered.replace(recovered);
        }
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn fail_points(&self) -> &FailPoints {
        &self.fail
    }

    /// Makes files and folders durable. One that is not there is passed over: an object may lie in a pack.
    pub(crate) fn sync(&self, paths: &[PathBuf]) -> Result<(), ExecError> {
        self.disk.sync_where_there(paths).map_err(ExecError::not_synced)
    }

    /// The same, with the one file that `main` has to bring there, in one wait; gives what `main` gives, and what became
    /// of the others.
    pub(crate) fn sync_together<T>(
        &self,
        paths: Vec<PathBuf>,
        main: impl FnOnce(&mut SyncFile<'_>) -> T,
    ) -> (T, Result<(), ExecError>) {
        let mut synced = None;
        let given = main(&mut |path| {
            // Of the others one may be missing.
            fs::metadata(path)?;
            // A folder after the files is on the disk with them, as often as not.
            let all = [&[path.to_owned()], paths.as_slice()].concat();
            let done = self.disk.sync_where_there(&all);
            let failed = done.as_ref().err().map(|SyncError { path, source }| {
                io::Error::new(source.kind(), format!("`{}`: {source}", path.display()))
            });
            // Its own is told by itself.
            synced = Some(match done {
                Err(error) if error.path != *path => Err(ExecError::not_synced(error)),
                Ok(()) | Err(_) => Ok(()),
            });
            failed.map_or(Ok(()), Err)
        });
        // Where it had none, the others are still to be brought there.
        (given, synced.unwrap_or_else(|| self.sync(&paths)))
    }

    pub(crate) fn reach(&self, place: &str) {
        self.fail.reach(place);
    }

    /// The git directory that all work trees share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common
    }

    /// The folder for our own state: evidence, journal, lock.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.common.join("agentos")
    }

    /// The work tree; none for a bare repository.
    #[must_use]
    pub fn work_dir(&self) -> Option<&Path> {
        self.work.as_deref()
    }

    /// The folder from which git runs hooks, relative to the work tree, where the configuration puts it inside: what
    /// is committed there will be run.
    #[must_use]
    pub fn hooks_path(&self) -> Option<String> {
        let root = self.work_dir()?;
        let named = self.setting("core.hooksPath")?;
        let root = root.canonicalize().ok()?;
        // A folder that is not there yet has no links to follow.
        let place = root.join(&named);
        let place = place.canonicalize().unwrap_or(place);
        let inside = place.strip_prefix(&root).ok()?;
        inside.to_str().map(|path| path.replace('\\', "/"))
    }

    /// True when there is no work tree.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.work.is_none()
    }

    pub(crate) fn tree(&self, id: &str) -> Result<git2::Tree<'_>, RepoError> {
        let id = git2::Oid::from_str(id).map_err(RepoError::git("read a tree"))?;
        self.git.find_tree(id).map_err(RepoError::git("read a tree"))
    }

    /// A setting that is on; settings that cannot be read count as off.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.git
            .config()
            .and_then(|config| config.get_bool(name))
            .unwrap_or(false)
    }

    /// Does the executable bit of a file mean anything here? `core.fileMode` says no where the disk cannot keep it.
    pub(crate) fn trusts_mode(&self) -> bool {
        let config = self.git.config();
        config
            .and_then(|config| config.get_bool("core.filemode"))
            .unwrap_or(true)
    }

    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        self.git
            .config()
            .and_then(|mut config| config.snapshot()?.get_string(name))
            .ok()
    }

    /// Does a remote promise objects that are not here yet? Reading one would mean to fetch it.
    fn has_promisor(&self) -> bool {
        let Ok(config) = self.git.config() else {
            return false;
        };
        let Ok(mut found) = config.entries(Some("^remote\\..*\\.(promisor|partialclonefilter)$")) else {
            return false;
        };
        found.next().is_some()
    }
}

/// Is the git directory the one that `.git` in the work tree is or names? A configuration that says otherwise
/// would make us write somewhere else.
fn holds(work: &Path, git_dir: &Path) -> bool {
    let Ok(git_dir) = git_dir.canonicalize() else {
        return false;
    };
    let dot_git = work.join(".git");
    if dot_git.is_file() {
        let named = std::fs::read_to_string(&dot_git).unwrap_or_default();
        let named = named.strip_prefix("gitdir:").map(str::trim).unwrap_or_default();
        return work
            .join(named)
            .canonicalize()
            .is_ok_and(|named| named == git_dir);
    }
    dot_git.canonicalize().is_ok_and(|found| found == git_dir)
}
