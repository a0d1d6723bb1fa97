//! The folder that holds the folders of all runs, and what dead runs left in it.
//!
//! A cloned repository may contain such a folder with anything in it, so its content is not trusted: the folder must
//! be a real one that belongs to this user, and of its entries only real folders are looked at. A run's lock is a
//! file next to the run's folder. It exists before the folder and is removed after it, so a folder whose lock nobody
//! holds is a leftover, and a removal that failed is tried again by the next run.
//!
//! | lock file | folder | meaning |
//! | --- | --- | --- |
//! | held | any | the run is alive |
//! | free or missing | exists | leftover of a dead run: removed by the next run |
//! | free | missing | a run died before it created its folder, or after it removed it |
//!
//! Owns: the check of that folder, the runs' locks, removing leftovers, and the list of what stays. Never: follows a
//! link, or touches the folder of a run that is alive.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use agentos_beneath::{EntryKind, OpenFolder, TreeError};

use super::{HOME, tree_failed};
use crate::SandboxError;

/// Largest number of names that are read in the parent folder. A repository has a handful.
const MAX_RUNS: u64 = 100_000;
/// Number of times that a lock is opened again because it was removed while this run waited for it.
const TRIES: usize = 100;

/// Folder of a dead run that could not be removed, or has not been removed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverRun {
    /// Path of the folder.
    pub path: PathBuf,
    /// True if the run's home is left, which may hold copies of sign-in files.
    pub holds_home: bool,
}

/// Lists the folders of dead runs without changing anything. Empty if there is no parent folder.
///
/// # Errors
/// [`SandboxError::UnsafeFolder`] if the parent folder is a link or not a folder; [`SandboxError::Io`] if it cannot
/// be listed.
pub fn find_leftovers(parent: &Path) -> Result<Vec<LeftoverRun>, SandboxError> {
    let opened = match OpenFolder::open_root(parent) {
        Ok(opened) => opened,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(open_failed(parent, error)),
    };
    let mut all = Vec::new();
    for name in run_folders(&opened).map_err(tree_failed("list the folders of runs"))? {
        let lock = lock_name(&name);
        let is_locked = matches!(opened.inspect_entry(&lock), Ok(Some(_)))
            && opened.open_lock(&lock).is_ok_and(|lock| lock.try_lock().is_err());
        if !is_locked {
            all.push(LeftoverRun {
                path: parent.join(&name),
                holds_home: holds_home(&opened, &name),
            });
        }
    }
    Ok(all)
}

/// Returns true unless the run's home is known to be gone or empty.
fn holds_home(parent: &OpenFolder, run: &OsStr) -> bool {
    let home = parent
        .open_folder(run)
        .and_then(|run| run.open_folder(OsStr::new(HOME)));
    match home {
        Ok(home) => home.read_names(0).is_err(),
        Err(error) => !error.is_missing(),
    }
}

/// Opens the folder that holds the folders of all runs, creates it if it is missing, and closes it to other users.
///
/// # Errors
/// [`SandboxError::UnsafeFolder`] if it is a link or not a folder, or belongs to somebody else; [`SandboxError::Io`]
/// if it cannot be created.
pub(super) fn open_parent(path: &Path) -> Result<OpenFolder, SandboxError> {
    const MAKING: &str = "make the folder for tools' work";
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(SandboxError::io(MAKING))?;
    let opened = match OpenFolder::open_root(path) {
        Err(error) if error.is_missing() => {
            std::fs::create_dir_all(path).map_err(SandboxError::io(MAKING))?;
            OpenFolder::open_root(path)
        }
        opened => opened,
    };
    let opened = opened.map_err(|error| open_failed(path, error))?;
    let found = opened.inspect().map_err(tree_failed(MAKING))?;
    if own_user().is_some_and(|ours| ours != found.owner.user) {
        return Err(unsafe_folder(path, "belongs to another user"));
    }
    if found.mode != 0o700 {
        opened.change_mode(0o700).map_err(tree_failed(MAKING))?;
    }
    Ok(opened)
}

fn open_failed(path: &Path, error: TreeError) -> SandboxError {
    match error {
        TreeError::NotAFolder(_) => unsafe_folder(path, "is a link or not a folder"),
        error => tree_failed("open the folder for tools' work")(error),
    }
}

fn unsafe_folder(path: &Path, why: &'static str) -> SandboxError {
    SandboxError::UnsafeFolder {
        path: path.to_owned(),
        why,
    }
}

/// Returns this program's user. `None` on systems where files have no owner of this kind.
pub(super) fn own_user() -> Option<u32> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        Some(nix::unistd::geteuid().as_raw())
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    None
}

/// Takes a run's lock, and waits for whoever holds it.
pub(super) fn lock_run(parent: &OpenFolder, run: &OsStr) -> io::Result<File> {
    let name = lock_name(run);
    for _ in 0..TRIES {
        let lock = parent.open_lock(&name)?;
        lock.lock()?;
        // The lock may be on a file that another run removed while this one waited; then two runs would believe to
        // hold it.
        if is_current(parent, &name, &lock) {
            return Ok(lock);
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Returns true if this open file is still the lock of that name: another run may have removed it meanwhile.
#[cfg(unix)]
fn is_current(parent: &OpenFolder, name: &OsStr, lock: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let held = lock.metadata().map(|held| (held.dev(), held.ino()));
    let named = parent.inspect_entry(name);
    matches!((held, named), (Ok(held), Ok(Some(named))) if named.identity == held)
}

/// Returns true: on this system an open file is not removed.
#[cfg(not(unix))]
fn is_current(_parent: &OpenFolder, _name: &OsStr, _lock: &File) -> bool {
    true
}

/// Removes the folders of dead runs.
pub(super) fn remove_leftovers(parent: &OpenFolder) {
    for run in run_folders(parent).unwrap_or_default() {
        let name = lock_name(&run);
        let Ok(lock) = parent.open_lock(&name) else {
            continue;
        };
        if lock.try_lock().is_ok() && is_current(parent, &name, &lock) {
            // What cannot be removed now is tried again by the next run.
            let _ = remove_run(parent, &run);
        }
    }
}

/// Removes a run's folder, its home first, and then its lock, which the caller holds. The lock stays if the folder
/// does.
///
/// # Errors
/// If something cannot be removed.
pub(super) fn remove_run(parent: &OpenFolder, run: &OsStr) -> Result<(), TreeError> {
    // The home may hold copies of sign-in files, so it is removed even if something else cannot be.
    if let Ok(folder) = parent.open_folder(run) {
        let _ = folder.remove_tree(OsStr::new(HOME));
    }
    parent.remove_tree(run)?;
    parent.remove_entry(&lock_name(run))
}

/// Lists the names of the runs' folders. A link does not count.
fn run_folders(parent: &OpenFolder) -> Result<Vec<OsString>, TreeError> {
    let mut names = parent.read_names(MAX_RUNS)?;
    names.retain(|name| {
        let is_folder = || {
            let found = parent.inspect_entry(name);
            matches!(found, Ok(Some(found)) if found.kind == EntryKind::Folder)
        };
        name.to_string_lossy().starts_with("run-") && is_folder()
    });
    Ok(names)
}

fn lock_name(run: &OsStr) -> OsString {
    let mut name = run.to_owned();
    name.push(".lock");
    name
}
