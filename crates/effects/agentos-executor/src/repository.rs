//! Opens a repository, if it is of a format that a landing cannot damage.
//!
//! Owns: discovery and the refusal of formats. Never: runs a hook or a filter, or trusts another user's configuration
//! (libgit2's check of the owner stays on).

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use agentos_durable::{FileSystemSync, SyncError, SyncFile};
use git2::{ErrorCode, RepositoryOpenFlags};

use crate::journal::LandingLock;
use crate::target::EMPTY_TREE;
use crate::{ConfigEnv, ExecError, FailPoints, Recovered, RepoError, git_dir};

/// Repository that can be read and landed on.
pub struct Repository {
    pub(crate) git: git2::Repository,
    common: PathBuf,
    work: Option<PathBuf>,
    disk: FileSystemSync,
    fail: FailPoints,
    queue: LandingQueue,
    recovered: RefCell<Option<Recovered>>,
    pub(crate) config_env: ConfigEnv,
}

/// Behaviour after a landing failed because the base moved.
pub(crate) enum LandingQueue {
    /// Takes no turn: a person may be asked before the change is landed again, and others must not wait for that.
    Never,
    /// Takes a turn: other landings whose base moved wait until this one has landed again.
    Willing(RefCell<Option<LandingLock>>),
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
    /// Opens the repository that contains a folder.
    ///
    /// # Errors
    /// When there is none, it belongs to another user, or its format is not supported.
    pub fn discover(path: &Path) -> Result<Self, RepoError> {
        let none: [&OsStr; 0] = [];
        let git =
            git2::Repository::open_ext(path, RepositoryOpenFlags::empty(), none).map_err(
                |error| match error.code() {
                    ErrorCode::NotFound => RepoError::NotARepository(path.to_owned()),
                    // git wants the top folder of the repository in `safe.directory`, and not one below it.
                    ErrorCode::Owner => {
                        let top = path.ancestors().find(|folder| folder.join(".git").exists());
                        RepoError::NotOwned(top.unwrap_or(path).to_owned())
                    }
                    _ => RepoError::git("open the repository")(error),
                },
            )?;
        let repository = Self::check_format(git)?;
        git_dir::check_reached(&repository.git, path)?;
        Ok(repository)
    }

    /// Checks that a repository can be landed on safely.
    ///
    /// # Errors
    /// When its directories lead elsewhere, or its format is not supported.
    pub(crate) fn check_format(git: git2::Repository) -> Result<Self, RepoError> {
        let common = git.commondir().to_owned();
        let work = git.workdir().map(Path::to_owned);
        if let Some(work) = &work
            && !is_own_git_dir(work, git.path())
        {
            return Err(RepoError::WorkTreeElsewhere(work.clone()));
        }
        git_dir::check_owner(&git)?;
        Ok(Self {
            git,
            disk: FileSystemSync::open(&common),
            common,
            work,
            fail: FailPoints::default(),
            queue: LandingQueue::Never,
            recovered: RefCell::new(None),
            config_env: ConfigEnv::default(),
        })
    }

    /// Returns the names of the local branches, sorted.
    ///
    /// # Errors
    /// When the branches cannot be read.
    pub fn branch_names(&self) -> Result<Vec<String>, RepoError> {
        let failed = RepoError::git("list the branches");
        let branches = self.git.branches(Some(git2::BranchType::Local)).map_err(failed)?;
        // A branch whose name is not UTF-8 cannot be typed as an option here, so it is left out.
        let names = branches.filter_map(|branch| Some(branch.ok()?.0.name().ok()??.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// Sets the place at which a kill test ends the process.
    #[must_use]
    pub fn with_fail_points(self, fail: FailPoints) -> Self {
        Self { fail, ..self }
    }

    /// Makes landings whose base moved take turns. Not for a caller that asks a person before it lands again: the others
    /// would wait for the answer.
    #[must_use]
    pub fn queueing(self) -> Self {
        Self {
            queue: LandingQueue::Willing(RefCell::new(None)),
            ..self
        }
    }

    /// Returns the recovery that a landing did before it failed itself, so that the caller can record it. `None` if there was
    /// none. The receipt of a landing that succeeds contains it.
    #[must_use]
    pub fn take_recovered(&self) -> Option<Recovered> {
        self.recovered.take()
    }

    pub(crate) fn note_recovered(&self, recovered: Option<Recovered>) {
        if recovered.is_some() {
            self.recovered.replace(recovered);
        }
    }

    pub(crate) fn landing_queue(&self) -> &LandingQueue {
        &self.queue
    }

    pub(crate) fn fail_points(&self) -> &FailPoints {
        &self.fail
    }

    /// Makes files and folders durable. A missing one is skipped, since an object may lie in a pack.
    ///
    /// # Errors
    /// When the system does not confirm that they are on the disk.
    pub(crate) fn sync_paths(&self, paths: &[PathBuf]) -> Result<(), ExecError> {
        self.disk.sync_existing(paths).map_err(ExecError::not_synced)
    }

    /// Makes files durable together with the one file that `main` syncs, in one wait. Returns the result of `main`, and that of
    /// syncing `paths`.
    pub(crate) fn sync_together<T>(
        &self,
        paths: Vec<PathBuf>,
        main: impl FnOnce(&mut SyncFile<'_>) -> T,
    ) -> (T, Result<(), ExecError>) {
        let mut synced = None;
        let given = main(&mut |path| {
            // The others may be missing, this one may not.
            fs::metadata(path)?;
            // Files before folders: a file system often makes a folder durable together with a file in it.
            let all = [&[path.to_owned()], paths.as_slice()].concat();
            let done = self.disk.sync_existing(&all);
            let failed = done.as_ref().err().map(|SyncError { path, source }| {
                io::Error::new(source.kind(), format!("`{}`: {source}", path.display()))
            });
            // A failure of its own file is reported by `main`.
            synced = Some(match done {
                Err(error) if error.path != *path => Err(ExecError::not_synced(error)),
                Ok(()) | Err(_) => Ok(()),
            });
            failed.map_or(Ok(()), Err)
        });
        // If `main` synced nothing, the others are still to be synced.
        (given, synced.unwrap_or_else(|| self.sync_paths(&paths)))
    }

    pub(crate) fn reach(&self, place: &str) {
        self.fail.reach(place);
    }

    /// Returns the git directory that all working trees share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common
    }

    /// Returns the folder for our own state: evidence, journal, lock.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.common.join("agentos")
    }

    /// Returns the working tree. `None` for a bare repository.
    #[must_use]
    pub fn work_dir(&self) -> Option<&Path> {
        self.work.as_deref()
    }

    /// Returns the folder from which git runs hooks, relative to the working tree. `None` if it lies outside. git will run the
    /// files that are committed to such a folder.
    #[must_use]
    pub fn hooks_path(&self) -> Option<String> {
        let root = self.work_dir()?;
        let named = self.read_setting("core.hooksPath")?;
        let root = root.canonicalize().ok()?;
        // A folder that does not exist yet cannot be resolved and needs no resolving.
        let place = root.join(&named);
        let place = place.canonicalize().unwrap_or(place);
        let inside = place.strip_prefix(&root).ok()?;
        inside.to_str().map(|path| path.replace('\\', "/"))
    }

    /// Returns whether there is no working tree.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.work.is_none()
    }

    pub(crate) fn find_tree(&self, id: &str) -> Result<git2::Tree<'_>, RepoError> {
        if id == EMPTY_TREE {
            // git knows this tree without an object; libgit2 needs one. Nothing else needs it, and `git gc` removes it.
            let empty = self.git.treebuilder(None).and_then(|builder| builder.write());
            empty.map_err(RepoError::git("read a tree"))?;
        }
        let id = git2::Oid::from_str(id).map_err(RepoError::git("read a tree"))?;
        self.git.find_tree(id).map_err(RepoError::git("read a tree"))
    }

    /// Returns whether a boolean setting is on. A setting that cannot be read counts as off.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.git
            .config()
            .and_then(|config| config.get_bool(name))
            .unwrap_or(false)
    }

    /// Returns whether the executable bit of files counts (`core.fileMode`). git turns that off on a file system that does not
    /// keep the bit.
    pub(crate) fn trusts_mode(&self) -> bool {
        let config = self.git.config();
        config
            .and_then(|config| config.get_bool("core.filemode"))
            .unwrap_or(true)
    }

    /// Returns the value of a setting. `None` if it is not set or cannot be read.
    pub(crate) fn read_setting(&self, name: &str) -> Option<String> {
        self.git
            .config()
            .and_then(|mut config| config.snapshot()?.get_string(name))
            .ok()
    }
}

/// Returns whether `.git` in the working tree is the git directory or names it. Otherwise `core.worktree` would make us write
/// to another folder.
fn is_own_git_dir(work: &Path, git_dir: &Path) -> bool {
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
