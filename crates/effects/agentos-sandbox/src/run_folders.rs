//! The folders of one run: the files shown to the tool, its changes, its home, its temporary files.
//!
//! The run's folder belongs to this program's user and nobody else may enter it, so that no other user of the machine
//! reaches a file that the tool made, whatever its mode. Only some of the folders in it belong to the tool's user:
//!
//! | folder | owner | content |
//! |---|---|---|
//! | `changes` | tool | upper layer of the overlay |
//! | `copy` | tool | mount point of the overlay, or a whole copy of the files |
//! | `doors` | keeper | sockets of the parent, which process 1 of the run connects to; never shown to the tool |
//! | `home` | tool | its home, which may hold copies of sign-in files; removed first |
//! | `kernel` | tool | overlayfs's work folder |
//! | `tmp` | tool | its temporary files |
//! | `views` | tool | upper layers of overlays over folders of the user, such as caches |
//!
//! Owns: creating them for the tool's user and removing them, also those of runs that were killed. Never: keeps
//! anything of a run that has ended, removes what another run uses, or walks by path name what a tool could write.

mod entries;
mod leftovers;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentos_beneath::{FolderOwner, OpenFolder, TreeError};

pub use self::entries::{hide_file, put_file, remove_file, replace_file};
pub use self::leftovers::{LeftoverRun, find_leftovers};
use crate::refusals::RefusedCall;
use crate::{IdentityLease, RunIdentity, RunLimit, SandboxError};

/// Folders that belong to the tool's user.
const TOOL_FOLDERS: &[&str] = &["changes", "copy", HOME, "kernel", "tmp", VIEWS];
/// Name of the tool's home.
const HOME: &str = "home";
/// Name of the folder for overlays over folders of the user.
const VIEWS: &str = "views";
/// Name of the folder that the tool never sees.
const DOORS: &str = "doors";

/// Folders of one run. They are removed when this value is dropped.
#[derive(Debug)]
pub struct RunFolders {
    path: PathBuf,
    /// Folder that holds the folders of all runs.
    parent: OpenFolder,
    folder: OpenFolder,
    name: OsString,
    /// Users of this run. `None` if the tool runs as this program's own user.
    lease: Option<Arc<IdentityLease>>,
    /// System calls that were refused in the last run. `None` if that is not known.
    refused: Mutex<Option<Vec<RefusedCall>>>,
    /// Limits that were active for the last run as a whole.
    run_limits: Mutex<Vec<RunLimit>>,
    /// True if processes of the run may still be alive.
    abandoned: AtomicBool,
    /// Lock of the run's folder, held as long as the run lives, so that other runs leave the folder alone.
    lock: Option<File>,
}

impl RunFolders {
    /// Creates the folders below `parent` for the users of the run, and removes the folders of dead runs. `lease` is
    /// `None` if the tool runs as this program's own user.
    ///
    /// # Errors
    /// [`SandboxError::UnsafeFolder`] if `parent` is a link or belongs to somebody else; [`SandboxError::Io`] if a
    /// folder cannot be created.
    pub fn new(parent: &Path, run: &str, lease: Option<Arc<IdentityLease>>) -> Result<Self, SandboxError> {
        let identity = lease.as_ref().map(|lease| lease.identity());
        let owner = identity.map(|identity| FolderOwner::with_own_group(identity.tool));
        let keeper = identity.map(|identity| FolderOwner::with_own_group(identity.keeper));
        let opened = leftovers::open_parent(parent)?;
        leftovers::remove_leftovers(&opened);
        let name = OsString::from(format!("run-{run}"));
        // The lock comes before the folder: a folder whose lock nobody holds counts as a leftover, and another run
        // would remove it.
        let lock = leftovers::lock_run(&opened, &name).map_err(SandboxError::io("lock the run's folder"))?;
        let folder = opened.create_folder(&name, 0o700).map_err(create_failed())?;
        let scratch = Self {
            path: parent.join(&name),
            parent: opened,
            folder,
            name,
            lease,
            refused: Mutex::default(),
            run_limits: Mutex::default(),
            abandoned: AtomicBool::new(false),
            lock: Some(lock),
        };
        for name in TOOL_FOLDERS {
            scratch
                .create_folder(name, 0o755, owner)
                .map_err(create_failed())?;
        }
        scratch
            .create_folder(DOORS, 0o700, keeper)
            .map_err(create_failed())?;
        Ok(scratch)
    }

    fn create_folder(&self, name: &str, mode: u32, owner: Option<FolderOwner>) -> Result<(), TreeError> {
        let folder = self.folder.create_folder(OsStr::new(name), mode)?;
        owner.map_or(Ok(()), |owner| folder.give_to(owner))
    }

    /// Copies a tree to where the tool sees the files, links as links. For systems on which no overlay can be
    /// mounted.
    ///
    /// # Errors
    /// If something cannot be copied.
    pub fn fill(&self, from: &Path) -> Result<(), SandboxError> {
        let copied = || {
            let copy = self.folder.open_folder(OsStr::new("copy"))?;
            copy.copy_tree(&OpenFolder::open_root(from)?, self.tool_owner())
        };
        copied().map_err(tree_failed("copy the files for the tool"))
    }

    /// Creates the upper and the work folder of another overlay. `number` is the overlay's own in this run.
    ///
    /// # Errors
    /// If a folder cannot be created, or the number is taken.
    pub fn create_view(&self, number: usize) -> Result<(PathBuf, PathBuf), SandboxError> {
        let name = number.to_string();
        let make = || {
            let views = self.folder.open_folder(OsStr::new(VIEWS))?;
            let view = views.create_folder(OsStr::new(&name), 0o755)?;
            let parts = ["upper", "work"].map(|part| view.create_folder(OsStr::new(part), 0o755));
            for folder in parts {
                self.give_to_tool(&folder?)?;
            }
            self.give_to_tool(&view)
        };
        make().map_err(create_failed())?;
        let view = self.views().join(name);
        Ok((view.join("upper"), view.join("work")))
    }

    /// Copies a tree to a new folder `name` below `top`, which is one of this run's folders. The copy belongs to the tool.
    ///
    /// # Errors
    /// If the folder exists, or something cannot be copied.
    pub fn copy_into(&self, top: &Path, name: &Path, from: &OpenFolder) -> Result<(), SandboxError> {
        let copied = || {
            let folder = entries::create_folders(top, name)?;
            folder.copy_tree(from, self.tool_owner())
        };
        copied().map_err(tree_failed("copy a folder for the tool"))
    }

    fn tool_owner(&self) -> Option<FolderOwner> {
        let identity = self.identity();
        identity.map(|identity| FolderOwner::with_own_group(identity.tool))
    }

    fn give_to_tool(&self, folder: &OpenFolder) -> Result<(), TreeError> {
        self.tool_owner().map_or(Ok(()), |owner| folder.give_to(owner))
    }

    /// Returns the folder that receives what the tool writes over the files that it sees.
    #[must_use]
    pub fn changes(&self) -> PathBuf {
        self.folder_path("changes")
    }

    /// Returns the folder in which the tool sees the files.
    #[must_use]
    pub fn copy(&self) -> PathBuf {
        self.folder_path("copy")
    }

    /// Returns the folder for sockets, which is never shown to the tool.
    #[must_use]
    pub fn doors(&self) -> PathBuf {
        self.folder_path(DOORS)
    }

    /// Returns the tool's home folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder_path(HOME)
    }

    /// Returns the work folder of overlayfs.
    #[must_use]
    pub fn kernel(&self) -> PathBuf {
        self.folder_path("kernel")
    }

    /// Returns the tool's temporary folder.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.folder_path("tmp")
    }

    /// Returns the folder of the overlays over folders of the user.
    pub(crate) fn views(&self) -> PathBuf {
        self.folder_path(VIEWS)
    }

    /// Returns the users of this run's processes. `None` if they run as the user who starts them.
    #[must_use]
    pub fn identity(&self) -> Option<RunIdentity> {
        self.lease.as_ref().map(|lease| lease.identity())
    }

    /// Returns the user of process 1 of this run, which connects to the sockets. `None` if it is this program's own.
    #[must_use]
    pub fn keeper(&self) -> Option<u32> {
        self.identity().map(|identity| identity.keeper)
    }

    /// Returns the system calls that the tool tried and was refused in its last run. `None` if the kernel cannot
    /// report them, or if they are not known for another reason.
    #[must_use]
    pub fn refused(&self) -> Option<Vec<RefusedCall>> {
        self.refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the limits that were active for all processes of the last run together.
    #[must_use]
    pub fn run_limits(&self) -> Vec<RunLimit> {
        self.run_limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Stores the limits that were active.
    pub(crate) fn keep_run_limits(&self, limits: Vec<RunLimit>) {
        *self.run_limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Stores the refused calls.
    #[cfg(target_os = "linux")]
    pub(crate) fn keep_refused(&self, refused: Option<Vec<RefusedCall>>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// Makes sure that the folders and users of this run are not reused: processes may still write there.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        if let Some(lease) = &self.lease {
            lease.abandon();
        }
    }

    /// Returns the folder in which the folders of all runs lie.
    pub(crate) fn parent_path(&self) -> Option<&Path> {
        self.path.parent()
    }

    fn folder_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RunFolders {
    fn drop(&mut self) {
        if self.abandoned.load(Ordering::Acquire) {
            // The lock is leaked and so stays taken as long as this program runs: no other run takes the folders for
            // those of a dead one. Processes that survive the program are killed with the helper; a later run then
            // removes the folders, by descriptor.
            std::mem::forget(self.lock.take());
            return;
        }
        // What cannot be removed is tried again by the next run, and listed by `find_leftovers`.
        let _ = leftovers::remove_run(&self.parent, &self.name);
    }
}

fn create_failed() -> impl FnOnce(TreeError) -> SandboxError {
    tree_failed("create the run's folders")
}

fn tree_failed(doing: &'static str) -> impl FnOnce(TreeError) -> SandboxError {
    move |error| SandboxError::io(doing)(error.into())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at folders of its own")]
mod tests;
