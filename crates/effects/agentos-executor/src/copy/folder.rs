//! The folder that contains the copies of one repository, and the folders of runs on them.
//!
//! Owns: its path, and the check that nobody else can have put anything into it. Never: follows a link below the user's
//! cache, or reads a copy below a repository's git directory.
//!
//! # The problem
//!
//! A kept copy is shown to tools without asking the policy again, so a folder with a copy's name must be one that we wrote.
//! Below the git directory that cannot be known: a repository that was unpacked from an archive brings its whole `.git`, and
//! whoever made the archive can compute the names of copies.
//!
//! # The place
//!
//! Copies lie in the user's cache, `agentos/copies/<id>`, where the id is a hash of the git directory's real path, device and
//! inode. Each of these folders must be a folder, owned by us and closed to others; the folders above must belong to us or to
//! root, and nobody else may rename entries in them (the rule of `StrictModes` in sshd_config(5)). They are opened one below
//! the other, so that a link is never followed.
//!
//! Without such a cache, a folder below the git directory is created for this process alone: `mkdir(2)` fails if the name
//! exists, so the folder is new, and nothing in it is kept. The overlay of a run has its lower and upper directories in one of
//! these folders, which may be on another file system than the repository. If that file system cannot have an upper directory
//! (NFS, another overlay: overlayfs.rst, "upperdir"), mounting fails, and the tool works in a whole copy.
//!
//! Copies of earlier versions lie at `agentos/copies` below the git directory. They are never read, and are removed if the
//! folder belongs to us.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use agentos_beneath::OpenFolder;
use sha2::{Digest, Sha256};

use super::remove;
use crate::{ExecError, Repository};

/// Name of the folder of all copies, below the user's cache; in earlier versions below our state folder.
const COPIES: &str = "copies";
/// File that names the git directory to which a folder of copies belongs.
const OWNER: &str = "repository";
/// File with the salt of the copies' names.
const SALT: &str = "salt";
/// Number of bytes of the salt.
const SALT_LENGTH: usize = 16;
/// Beginning of the name of a temporary folder for one process, below our state folder.
const TEMPORARY: &str = "copies.";
/// Lock file of such a folder, which its process holds.
const TEMPORARY_LOCK: &str = "lock";
/// Maximum number of names tried for such a folder.
const MAX_TEMPORARY: usize = 10_000;

/// Folder that only we can write to, for the copies of one repository and for the folders of its runs.
#[derive(Debug)]
pub struct CopyFolder {
    path: PathBuf,
    salt: [u8; SALT_LENGTH],
    /// Lock of a temporary folder. `None` if the folder is kept when the process ends.
    temporary_lock: Option<File>,
}

impl CopyFolder {
    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the copies of a tree under one decision, without their owner. A tool sees the name in its list of
    /// mounts and as the path of its objects. Without the salt it could guess the content of a withheld file and compare,
    /// since the tree's id is a hash of that content too.
    pub(super) fn name_copy(&self, tree: &str, key: &str) -> String {
        let mut hash = Sha256::new();
        for part in [&self.salt[..], tree.as_bytes(), b"\0", key.as_bytes()] {
            hash.update(part);
        }
        format!("base-{}", short_hex(&hash.finalize(), 16))
    }

    /// Opens a folder that was checked, and reads its salt.
    ///
    /// # Errors
    /// When the salt cannot be read or written.
    fn open(path: PathBuf, temporary_lock: Option<File>) -> Result<Self, ExecError> {
        let salt = read_salt(&path).map_err(ExecError::write("read the salt in", &path))?;
        Ok(Self {
            path,
            salt,
            temporary_lock,
        })
    }
}

impl Drop for CopyFolder {
    fn drop(&mut self) {
        if self.temporary_lock.is_some() {
            // If it cannot be removed now, the next run removes it.
            let _ = remove(&self.path);
        }
    }
}

impl Repository {
    /// Opens the folder for this repository's copies below `cache`, the user's cache folder of agentos. If `cache` is `None` or
    /// others could write there, creates a temporary folder below the git directory, which is removed with the value.
    ///
    /// # Errors
    /// When no folder can be created.
    pub fn open_copies(&self, cache: Option<&Path>) -> Result<CopyFolder, ExecError> {
        self.discard_old_copies();
        if let Some(cache) = cache
            && let Some(path) = self.kept_folder(cache)?
        {
            return CopyFolder::open(path, None);
        }
        let state = self.state_dir();
        fs::create_dir_all(&state).map_err(ExecError::write("make", &state))?;
        discard_temporary(&state);
        let (path, lock) = create_temporary(&state).map_err(ExecError::write("make a folder in", &state))?;
        CopyFolder::open(path, Some(lock))
    }

    /// Returns the folder below the user's cache. `None` if somebody else could have written to it.
    ///
    /// # Errors
    /// When the git directory cannot be looked at, or the folder cannot be written.
    fn kept_folder(&self, cache: &Path) -> Result<Option<PathBuf>, ExecError> {
        let common = self.common_dir();
        let common = common.canonicalize().map_err(ExecError::write("find", common))?;
        let id = id_of(&common).map_err(ExecError::write("look at", &common))?;
        let Some(copies) = own_folder(cache, &[COPIES]) else {
            return Ok(None);
        };
        let is_new = !copies.join(&id).is_dir();
        let Some(folder) = own_folder(cache, &[COPIES, &id]) else {
            return Ok(None);
        };
        // Once for each repository is enough: orphans appear when repositories are deleted, which is rare.
        if is_new {
            discard_orphans(&copies);
            let note = folder.join(OWNER);
            match super::write_new(&note, format!("{}\n", common.display()).as_bytes()) {
                // Another process was quicker.
                Err(ExecError::Write { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                done => done?,
            }
        }
        Ok(Some(folder))
    }

    /// Removes the copies that earlier versions kept below the git directory, if their folder belongs to us.
    fn discard_old_copies(&self) {
        let old = self.state_dir().join(COPIES);
        if is_own_folder(&old) {
            // If it fails, the next run tries again.
            let _ = remove(&old);
        }
    }

    /// Lists the folders that may contain folders of runs: that of earlier versions, and the one below `cache`. Creates none.
    #[must_use]
    pub fn run_places(&self, cache: Option<&Path>) -> Vec<PathBuf> {
        let id = self.common_dir().canonicalize().and_then(|common| id_of(&common));
        let kept = cache.zip(id.ok()).map(|(cache, id)| cache.join(COPIES).join(id));
        let all = [self.state_dir().join(COPIES)].into_iter().chain(kept);
        all.filter(|place| is_own_folder(place)).collect()
    }

    /// Returns the path at which earlier versions kept copies, if somebody else has put something there. `None` if nothing is
    /// there, or a folder of ours, which the next run removes.
    #[must_use]
    pub fn foreign_copies(&self) -> Option<PathBuf> {
        let old = self.state_dir().join(COPIES);
        (fs::symlink_metadata(&old).is_ok() && !is_own_folder(&old)).then_some(old)
    }
}

/// Returns the name of a git directory's folder, from its path, device and inode: another repository may have the same path
/// later.
///
/// # Errors
/// When the git directory cannot be looked at.
fn id_of(common: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash.update(common.as_os_str().as_encoded_bytes());
    let found = OpenFolder::open_root(common).and_then(|folder| folder.inspect())?;
    let (device, inode) = found.identity;
    hash.update(format!("\0{device}:{inode}"));
    let digest = hash.finalize();
    Ok(short_hex(&digest, 10))
}

fn short_hex(bytes: &[u8], length: usize) -> String {
    let bytes = bytes.iter().take(length);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the salt of a folder's names, and creates it if there is none.
///
/// # Errors
/// When it cannot be read or written.
fn read_salt(folder: &Path) -> io::Result<[u8; SALT_LENGTH]> {
    let mut file = OpenFolder::open_root(folder)?.open_lock(OsStr::new(SALT))?;
    file.lock()?;
    let mut salt = [0; SALT_LENGTH];
    match file.read_exact(&mut salt) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
        Ok(()) => return Ok(salt),
        Err(_) => {}
    }
    for bytes in salt.chunks_mut(8) {
        // The keys of `RandomState` come from the system's random numbers, so no further crate is needed.
        let random = RandomState::new().build_hasher().finish();
        bytes.copy_from_slice(&random.to_ne_bytes());
    }
    file.rewind()?;
    file.write_all(&salt)?;
    Ok(salt)
}

/// Removes the copies of repositories that do not exist any more.
fn discard_orphans(copies: &Path) {
    let Ok(entries) = fs::read_dir(copies) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let note = fs::read_to_string(folder.join(OWNER)).unwrap_or_default();
        // A note without a line feed is being written.
        let Some(of) = note.strip_suffix('\n') else {
            continue;
        };
        if fs::symlink_metadata(of).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let _ = remove(&folder);
        }
    }
}

/// Removes the temporary folders of processes that were killed.
fn discard_temporary(state: &Path) {
    let Ok(entries) = fs::read_dir(state) else { return };
    for entry in entries.flatten() {
        let is_passing = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
        if is_passing && is_unused(&entry.path()) {
            let _ = remove(&entry.path());
        }
    }
}

/// Opens the folders `names`, each below the one before and all below `cache`, creates missing ones, and returns the path of
/// the last. `None` if one of them, or a folder above, is not closed to others.
fn own_folder(cache: &Path, names: &[&str]) -> Option<PathBuf> {
    let base = cache.parent()?;
    fs::create_dir_all(base).ok()?;
    let base = base.canonicalize().ok()?;
    if !base.ancestors().all(is_guarded) {
        return None;
    }
    let name = cache.file_name()?;
    let mut path = base.join(name);
    // The cache folder of agentos has other content too, which others may read; only writing must be closed to them.
    let mut above = enter_folder(&OpenFolder::open_root(&base).ok()?, name, 0o022).ok()?;
    for name in names {
        above = enter_folder(&above, OsStr::new(name), 0o077).ok()?;
        path.push(name);
    }
    Some(path)
}

/// Opens a folder, and creates it for us alone if it is missing.
///
/// # Errors
/// When the folder belongs to another user, or others have one of the permissions in `closed`.
fn enter_folder(above: &OpenFolder, name: &OsStr, closed: u32) -> io::Result<OpenFolder> {
    let folder = match above.create_folder(name, 0o700) {
        Err(error) if error.is_taken() => above.open_folder(name)?,
        made => made?,
    };
    let found = folder.inspect()?;
    if found.owner.user != own_user() || found.mode & closed != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(folder)
}

/// Creates a new temporary folder, and locks it.
///
/// # Errors
/// When no name is free, or the folder cannot be created.
fn create_temporary(state: &Path) -> io::Result<(PathBuf, File)> {
    let above = OpenFolder::open_root(state)?;
    for number in 0..MAX_TEMPORARY {
        let name = format!("{TEMPORARY}{number}");
        let folder = match above.create_folder(OsStr::new(&name), 0o700) {
            Err(error) if error.is_taken() => continue,
            made => made?,
        };
        // Before it is locked, another process may take it for the folder of a killed process and remove it. Then the next
        // name is tried.
        let lock = folder.open_lock(OsStr::new(TEMPORARY_LOCK));
        if let Ok(lock) = lock
            && lock.try_lock().is_ok()
            && folder.inspect_entry(OsStr::new(TEMPORARY_LOCK))?.is_some()
        {
            return Ok((state.join(name), lock));
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns whether this is a folder of ours, and no link, whose process has ended.
fn is_unused(place: &Path) -> bool {
    // The owner is checked first: opening a lock creates the file, and nothing is created in a folder of another user.
    if !is_own_folder(place) {
        return false;
    }
    let lock = OpenFolder::open_root(place).and_then(|folder| folder.open_lock(OsStr::new(TEMPORARY_LOCK)));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Returns whether this is a folder of ours, and no link.
fn is_own_folder(place: &Path) -> bool {
    let found = OpenFolder::open_root(place).and_then(|folder| folder.inspect());
    found.is_ok_and(|found| found.owner.user == own_user())
}

/// Returns the user that this process writes files as.
#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns 0, the owner of all files on a system without user numbers.
#[cfg(not(unix))]
fn own_user() -> u32 {
    0
}

/// Returns whether nobody but us and root can rename entries of a folder.
#[cfg(unix)]
fn is_guarded(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let (Ok(found), Ok(top)) = (fs::metadata(folder), fs::metadata("/")) else {
        return false;
    };
    // In a user namespace the folders of root show another owner, which `/` has too.
    let trusted = [0, own_user(), top.uid()].contains(&found.uid());
    let own_group = rustix::process::getegid().as_raw();
    // A user's own group usually has no other member, and some systems let it write in the user's folders.
    let open = if found.gid() == own_group { 0o002 } else { 0o022 };
    trusted && (found.mode() & open == 0 || found.mode() & STICKY != 0)
}

/// Returns true: on Windows a user's profile is closed to other users.
#[cfg(not(unix))]
fn is_guarded(_: &Path) -> bool {
    true
}
