//! The folders of one run: what the tool sees, what it changed, its home, its temporary files.
//!
//! Owns: making them for the tool's user and taking them away, also those of runs that were killed. Never: keeps
//! anything of a run that has ended, or takes away what another run uses.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::refusals::Refused;
use crate::{IdentityLease, RunIdentity, SandboxError};

const FOLDERS: &[&str] = &["changes", "copy", "doors", "home", "kernel", "tmp"];

/// The folders of one run. Gone when this value is.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    /// Held as long as the run lives, so that others know.
    _lock: File,
    lease: Option<Arc<IdentityLease>>,
    refused: Mutex<Option<Vec<Refused>>>,
    abandoned: AtomicBool,
}

impl Scratch {
    /// Makes them below `parent`, for the user that tools run as, and takes away those of runs that are dead.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn new(parent: &Path, run: &str, lease: Option<Arc<IdentityLease>>) -> Result<Self, SandboxError> {
        let failed = SandboxError::io;
        fs::create_dir_all(parent).map_err(failed("make the folder for tools' work"))?;
        sweep(parent);
        let folder = parent.join(format!("run-{run}"));
        let lock = OpenOptions::new()
            .create(true)
            .append(true)
            .open(lock_of(&folder))
            .map_err(failed("lock the run's folder"))?;
        lock.lock().map_err(failed("lock the run's folder"))?;
        let scratch = Self {
            folder,
            _lock: lock,
            lease,
            refused: Mutex::default(),
            abandoned: AtomicBool::new(false),
        };
        for name in FOLDERS {
            let made = scratch.at(name);
            fs::create_dir_all(&made).map_err(failed("make the run's folders"))?;
            give(
                &made,
                if *name == "doors" {
                    scratch.keeper()
                } else {
                    scratch.owner()
                },
            )
            .map_err(failed("give the run's folders to the tool's user"))?;
        }
        Ok(scratch)
    }

    /// Puts a copy of a tree where the tool sees the files, links as links: for where no overlay can be mounted.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fill(&self, from: &Path) -> Result<(), SandboxError> {
        copy_below(from, &self.copy(), self.owner()).map_err(SandboxError::io("copy the files for the tool"))
    }

    /// What was written over the files that the tool was shown.
    #[must_use]
    pub fn changes(&self) -> PathBuf {
        self.at("changes")
    }

    /// Where the tool sees the files.
    #[must_use]
    pub fn copy(&self) -> PathBuf {
        self.at("copy")
    }

    /// The tool's home folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.at("home")
    }

    /// For overlayfs alone.
    #[must_use]
    pub fn kernel(&self) -> PathBuf {
        self.at("kernel")
    }

    /// The tool's temporary folder.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.at("tmp")
    }

    /// Folder of the sockets that lead out of the sandbox. The tool never sees it.
    #[must_use]
    pub fn doors(&self) -> PathBuf {
        self.at("doors")
    }

    /// Users of this run's processes. `None` if they run as the user who starts them.
    #[must_use]
    pub fn identity(&self) -> Option<RunIdentity> {
        self.lease.as_ref().map(|lease| lease.identity())
    }

    /// User of process 1 of this run, which connects to the sockets. `None` if it is ours.
    #[must_use]
    pub fn keeper(&self) -> Option<u32> {
        self.identity().map(|identity| identity.keeper)
    }

    /// User that the tool's files belong to. `None` if it is ours.
    #[must_use]
    pub fn owner(&self) -> Option<u32> {
        self.identity().map(|identity| identity.tool)
    }

    /// System calls that the tool tried and was refused in its last run. `None` if the kernel does not tell, or it is not known.
    #[must_use]
    pub fn refused(&self) -> Option<Vec<Refused>> {
        self.refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keeps what was refused.
    #[cfg(target_os = "linux")]
    pub(crate) fn keep_refused(&self, refused: Option<Vec<Refused>>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// Leaves the folders where they are: processes may still write there.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        if let Some(lease) = &self.lease {
            lease.abandon();
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.abandoned.load(Ordering::Acquire) {
            discard(&self.folder);
        }
    }
}

fn copy_below(from: &Path, to: &Path, owner: Option<u32>) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (there, kind) = (to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            fs::create_dir_all(&there)?;
            give(&there, owner)?;
            copy_below(&entry.path(), &there, owner)?;
            continue;
        }
        if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &there)?;
        } else {
            fs::copy(entry.path(), &there)?;
        }
        give(&there, owner)?;
    }
    Ok(())
}

/// Gives a file or folder to the user that tools run as.
pub(crate) fn give(place: &Path, owner: Option<u32>) -> std::io::Result<()> {
    #[cfg(unix)]
    if let Some(user) = owner {
        std::os::unix::fs::lchown(place, Some(user), Some(user))?;
    }
    #[cfg(not(unix))]
    let _ = (place, owner);
    Ok(())
}

/// Puts a file of the user's into a tool's folder, for that user alone, below folders that are made for it.
///
/// # Errors
/// When it cannot be written.
pub fn place(folder: &Path, name: &Path, bytes: &[u8], owner: Option<u32>) -> std::io::Result<()> {
    use std::io::Write;
    make_above(folder, name, owner)?;
    let place = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&place)?.write_all(bytes)?;
    give(&place, owner)
}

/// Makes the folders in which a file will lie.
fn make_above(folder: &Path, name: &Path, owner: Option<u32>) -> std::io::Result<()> {
    let mut above = folder.to_owned();
    for part in name.parent().into_iter().flat_map(Path::components) {
        above.push(part);
        if !above.is_dir() {
            fs::create_dir_all(&above)?;
            give(&above, owner)?;
        }
    }
    Ok(())
}

/// Lets a file of those that an overlay shows be gone. `upper` is the overlay's own folder, of whose parts none is a link;
/// the mark is overlayfs's: a character device 0/0 (overlayfs.rst, "whiteouts and opaque directories"), which everybody may
/// make since Linux 5.8.
///
/// # Errors
/// When it cannot be made, which is always so on a system without overlays.
pub fn hide(upper: &Path, name: &Path, owner: Option<u32>) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::stat::{Mode, SFlag, mknod};
        make_above(upper, name, owner)?;
        Ok(mknod(&upper.join(name), SFlag::S_IFCHR, Mode::empty(), 0)?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (upper, name, owner);
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

/// Takes a file out of a whole copy of the files; one that is not there is gone already.
///
/// # Errors
/// When it cannot be taken out.
pub fn drop_out(copy: &Path, name: &Path) -> std::io::Result<()> {
    match fs::remove_file(copy.join(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Puts a file of a candidate into a folder that a tool will see, in the place of whatever is there, a link too. What
/// stands above it and is no folder goes; nothing is ever written through a link.
///
/// # Errors
/// When it cannot be written.
pub fn lay(
    folder: &Path,
    name: &Path,
    bytes: &[u8],
    executable: bool,
    owner: Option<u32>,
) -> std::io::Result<()> {
    let mut above = folder.to_owned();
    for part in name.parent().into_iter().flat_map(Path::components) {
        above.push(part);
        match fs::symlink_metadata(&above) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => fs::remove_file(&above)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir_all(&above)?;
        give(&above, owner)?;
    }
    let file = folder.join(name);
    match fs::symlink_metadata(&file) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&file)?,
        Ok(_) => fs::remove_file(&file)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    place(folder, name, bytes, owner)?;
    #[cfg(unix)]
    if executable {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    let _ = executable;
    Ok(())
}

fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension("lock")
}

/// Takes away the folders whose run does not hold its lock any more.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let folder = entry.path();
        if !entry.file_name().to_string_lossy().starts_with("run-") || !folder.is_dir() {
            continue;
        }
        let lock = OpenOptions::new().append(true).open(lock_of(&folder));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            discard(&folder);
        }
    }
}

/// What cannot be taken away now is tried again by the next run.
fn discard(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        open_up(folder);
        let _ = fs::remove_dir_all(folder);
    }
    let _ = fs::remove_file(lock_of(folder));
}

/// Tools, and overlayfs itself, leave folders that nobody may enter.
#[cfg(unix)]
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(not(unix))]
fn open_up(_folder: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_candidates_file_takes_the_place_of_what_is_there_and_never_goes_through_a_link() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (folder, outside) = (folder.path(), outside.path());
        fs::write(outside.join("kept"), "theirs").unwrap();
        std::os::unix::fs::symlink(outside, folder.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("kept"), folder.join("file")).unwrap();
        fs::write(folder.join("becomes"), "a folder").unwrap();
        fs::create_dir_all(folder.join("was/deep")).unwrap();
        for name in ["folder/x", "file", "becomes/x", "was", "new/deep/x"] {
            lay(folder, Path::new(name), name.as_bytes(), name == "was", None).unwrap();
            assert_eq!(fs::read(folder.join(name)).unwrap(), name.as_bytes(), "{name}");
            assert!(
                fs::symlink_metadata(folder.join(name)).unwrap().is_file(),
                "{name}"
            );
        }
        assert_eq!(fs::read(outside.join("kept")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("was"), mode("file")), (0o700, 0o600));
    }
}
