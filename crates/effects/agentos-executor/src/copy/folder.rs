//! The folder in which the copies of one repository, and the folders of runs over them, lie.
//!
//! Owns: where it is, and the check that nobody but us can have put anything into it. Never: follows a link below the
//! user's cache, or reads what lies below a repository's git directory.
//!
//! A kept copy is shown to tools without asking anybody again, so what is found under a copy's name must be ours. Below the
//! git directory nothing can be known to be: a repository that was unpacked from an archive brings its whole `.git` along, and the
//! names of copies can be computed by whoever made it. So copies lie in the user's cache, `agentos/copies/<id>`, where
//! the id is a hash of the git directory's real path, device and inode. Each of these folders must be a folder, owned by us, and
//! closed to others; the folders above must belong to us or to root, and nobody else may rename what is in them (the rule
//! of `StrictModes` in sshd_config(5)). They are opened one below the other, so that a link is never followed.
//!
//! Where there is no such cache, a folder below the git directory is made for this process alone: `mkdir(2)` fails if the name
//! exists, so it is new, and nothing in it is kept. The overlay of a run has lower and upper directories in one
//! of these folders; they may be on another file system than the repository. Where that one cannot hold an upper
//! directory (NFS, another overlay: overlayfs.rst, "upperdir"), mounting fails and the tool works in a whole copy.
//!
//! Copies of earlier versions lie at `agentos/copies` below the git directory. They are never read; they are removed if they are a folder
//! of ours.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use agentos_beneath::OpenFolder;
use sha2::{Digest, Sha256};

use super::remove;
use crate::{ExecError, Repository};

/// Below the user's cache, and below our state folder in earlier versions.
const COPIES: &str = "copies";
/// Names the git directory that a folder of copies belongs to.
const OWNER: &str = "repository";
/// File with which the names of copies are salted.
const SALT: &str = "salt";
/// Bytes of it.
const SALT_LENGTH: usize = 16;
/// Beginning of the name of a folder for one process, below our state folder.
const PASSING: &str = "copies.";
/// File of such a folder that its process holds.
const PASSING_LOCK: &str = "lock";
/// Tries to find a name that is free.
const MOST_PASSING: usize = 10_000;

/// A folder that only we can write to, for the copies of one repository and for the folders of its runs.
#[derive(Debug)]
pub struct CopyFolder {
    path: PathBuf,
    salt: [u8; SALT_LENGTH],
    /// Held as long as the process lives. `None` if the folder outlives the process.
    passing: Option<File>,
}

impl CopyFolder {
    /// Returns where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names the copies of a tree and what may be shown of it, whoever their files belong to. A tool sees the name, in its list of
    /// mounts and as the place of its objects: without the salt it could try out what a withheld file holds, since the
    /// tree's id is a hash of that as well.
    pub(super) fn name_copy(&self, tree: &str, key: &str) -> String {
        let mut hash = Sha256::new();
        for part in [&self.salt[..], tree.as_bytes(), b"\0", key.as_bytes()] {
            hash.update(part);
        }
        format!("base-{}", hex(&hash.finalize(), 16))
    }

    /// Takes a folder that is checked, and the salt that lies in it.
    fn open(path: PathBuf, passing: Option<File>) -> Result<Self, ExecError> {
        let salt = read_salt(&path).map_err(ExecError::write("read the salt in", &path))?;
        Ok(Self { path, salt, passing })
    }
}

impl Drop for CopyFolder {
    fn drop(&mut self) {
        if self.passing.is_some() {
            // What cannot be removed now is removed by the next run.
            let _ = remove(&self.path);
        }
    }
}

impl Repository {
    /// Opens the folder for this repository's copies: below `cache`, the user's own cache folder of agentos, or new below the git
    /// directory and gone with the value if `cache` is `None` or others could write there.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn open_copies(&self, cache: Option<&Path>) -> Result<CopyFolder, ExecError> {
        self.discard_old_copies();
        if let Some(cache) = cache
            && let Some(path) = self.kept_folder(cache)?
        {
            return CopyFolder::open(path, None);
        }
        let state = self.state_dir();
        fs::create_dir_all(&state).map_err(ExecError::write("make", &state))?;
        discard_passed(&state);
        let (path, lock) = make_passing(&state).map_err(ExecError::write("make a folder in", &state))?;
        CopyFolder::open(path, Some(lock))
    }

    /// Returns the folder below the user's cache. `None` if somebody else could have written to it.
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
        if is_new {
            discard_orphans(&copies);
            let note = folder.join(OWNER);
            match super::put(&note, format!("{}\n", common.display()).as_bytes()) {
                // Another process was quicker.
                Err(ExecError::Write { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                done => done?,
            }
        }
        Ok(Some(folder))
    }

    /// Removes what earlier versions kept below the git directory. What is no folder of ours stays as it is.
    fn discard_old_copies(&self) {
        let old = self.state_dir().join(COPIES);
        if is_own_folder(&old) {
            // Tried again by the next run.
            let _ = remove(&old);
        }
    }

    /// Returns the folders in which folders of runs may lie: where earlier versions had them, and below `cache`. Makes
    /// none of them.
    #[must_use]
    pub fn run_places(&self, cache: Option<&Path>) -> Vec<PathBuf> {
        let id = self.common_dir().canonicalize().and_then(|common| id_of(&common));
        let kept = cache.zip(id.ok()).map(|(cache, id)| cache.join(COPIES).join(id));
        let all = [self.state_dir().join(COPIES)].into_iter().chain(kept);
        all.filter(|place| is_own_folder(place)).collect()
    }

    /// Returns where earlier versions kept copies. `None` if nothing lies there, or a folder of ours, which the next run removes.
    #[must_use]
    pub fn foreign_copies(&self) -> Option<PathBuf> {
        let old = self.state_dir().join(COPIES);
        (fs::symlink_metadata(&old).is_ok() && !is_own_folder(&old)).then_some(old)
    }
}

/// Names the folder of a git directory: by its place, and by what lies there now.
fn id_of(common: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash.update(common.as_os_str().as_encoded_bytes());
    let found = OpenFolder::open_root(common).and_then(|folder| folder.inspect())?;
    let (device, inode) = found.identity;
    hash.update(format!("\0{device}:{inode}"));
    let digest = hash.finalize();
    Ok(hex(&digest, 10))
}

fn hex(bytes: &[u8], length: usize) -> String {
    let bytes = bytes.iter().take(length);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the salt of a folder's names; the first to want it makes it.
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
        // Its keys come from the system's source of random numbers.
        let random = RandomState::new().build_hasher().finish();
        bytes.copy_from_slice(&random.to_ne_bytes());
    }
    file.rewind()?;
    file.write_all(&salt)?;
    Ok(salt)
}

/// Removes the copies of repositories that are not there any more.
fn discard_orphans(copies: &Path) {
    let Ok(entries) = fs::read_dir(copies) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let note = fs::read_to_string(folder.join(OWNER)).unwrap_or_default();
        // One that has no end is being written.
        let Some(of) = note.strip_suffix('\n') else {
            continue;
        };
        if fs::symlink_metadata(of).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let _ = remove(&folder);
        }
    }
}

/// Removes the folders of processes that were killed.
fn discard_passed(state: &Path) {
    let Ok(entries) = fs::read_dir(state) else { return };
    for entry in entries.flatten() {
        let is_passing = entry.file_name().to_string_lossy().starts_with(PASSING);
        if is_passing && is_unused(&entry.path()) {
            let _ = remove(&entry.path());
        }
    }
}

/// Returns `names`, each below the other, below `cache`: made where they are missing. `None` if one of them, or a folder
/// above, is not closed to others.
fn own_folder(cache: &Path, names: &[&str]) -> Option<PathBuf> {
    let base = cache.parent()?;
    fs::create_dir_all(base).ok()?;
    let base = base.canonicalize().ok()?;
    if !base.ancestors().all(is_guarded) {
        return None;
    }
    let name = cache.file_name()?;
    let mut path = base.join(name);
    // Other parts of the cache lie beside the copies, and others may read there.
    let mut above = enter(&OpenFolder::open_root(&base).ok()?, name, 0o022).ok()?;
    for name in names {
        above = enter(&above, OsStr::new(name), 0o077).ok()?;
        path.push(name);
    }
    Some(path)
}

/// Opens a folder, which it makes where it is missing: for us alone. Refuses one that is another's, or gives others one of
/// the rights in `closed`.
fn enter(above: &OpenFolder, name: &OsStr, closed: u32) -> io::Result<OpenFolder> {
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

/// Makes a folder that was not there before, and holds its lock.
fn make_passing(state: &Path) -> io::Result<(PathBuf, File)> {
    let above = OpenFolder::open_root(state)?;
    for number in 0..MOST_PASSING {
        let name = format!("{PASSING}{number}");
        let folder = match above.create_folder(OsStr::new(&name), 0o700) {
            Err(error) if error.is_taken() => continue,
            made => made?,
        };
        // Before it has a lock another process may take it for a dead one's, and remove it. The next name is tried then.
        let lock = folder.open_lock(OsStr::new(PASSING_LOCK));
        if let Ok(lock) = lock
            && lock.try_lock().is_ok()
            && folder.inspect_entry(OsStr::new(PASSING_LOCK))?.is_some()
        {
            return Ok((state.join(name), lock));
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns true if this is a folder of ours, no link, whose process is gone.
fn is_unused(place: &Path) -> bool {
    // Its owner first: opening a lock makes one, and another user's folder is none of ours to write.
    if !is_own_folder(place) {
        return false;
    }
    let lock = OpenFolder::open_root(place).and_then(|folder| folder.open_lock(OsStr::new(PASSING_LOCK)));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Returns true if this is a folder of ours, no link.
fn is_own_folder(place: &Path) -> bool {
    let found = OpenFolder::open_root(place).and_then(|folder| folder.inspect());
    found.is_ok_and(|found| found.owner.user == own_user())
}

/// Returns the user that this process writes files as.
#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the user that all files seem to belong to where the system has no such number.
#[cfg(not(unix))]
fn own_user() -> u32 {
    0
}

/// Returns true if nobody but us and root can rename what lies in a folder. In a user namespace root's folders show another
/// owner: that of the uppermost folder.
#[cfg(unix)]
fn is_guarded(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let (Ok(found), Ok(top)) = (fs::metadata(folder), fs::metadata("/")) else {
        return false;
    };
    let trusted = [0, own_user(), top.uid()].contains(&found.uid());
    let own_group = rustix::process::getegid().as_raw();
    // A user's own group has nobody else in it, as a rule, and some systems give it the right to write.
    let open = if found.gid() == own_group { 0o002 } else { 0o022 };
    trusted && (found.mode() & open == 0 || found.mode() & STICKY != 0)
}

/// A user's profile is closed to other users here.
#[cfg(not(unix))]
fn is_guarded(_: &Path) -> bool {
    true
}
