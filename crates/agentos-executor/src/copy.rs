//! A copy of a commit's files for tools to work on, kept and shared between runs.
//!
//! Owns: which copy a run gets, its locks, and a git directory for a tool's own use. Never: shows a file that was
//! withheld, writes into a copy that is in use, or reads back what a tool did there. `fill` writes the files.
//!
//! A copy is made whole once. When the base moves on, a copy that nobody uses is turned into that of the new base, which
//! costs what differs. A run over a base that was copied before lists no files and asks policy nothing.

mod fill;
mod listing;
mod write;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use git2::Oid;
use sha2::{Digest, Sha256};

use crate::mentions::is_odd;
use crate::preflight::ancestors;
use crate::{ExecError, Repository, Target};

/// A file's content, read only where it is asked for.
pub type Content<'a> = &'a dyn Fn() -> Vec<u8>;

/// Which files may be shown.
pub struct Shown<'a> {
    /// Names the answers: under the same key `may` says the same of the same path and content.
    pub key: &'a str,
    /// From a file's path and, where that is not enough, its content.
    pub may: &'a dyn Fn(&str, Content<'_>) -> bool,
}

/// Below our state folder.
const COPIES: &str = "copies";
/// Of a copy's lock: the end of its name.
const LOCK: &str = "lock";
/// Of what will be a copy: the end of its name.
const BUILDING: &str = "new";
/// In a copy: the paths of the base that are not among its files.
const WITHHELD: &str = "withheld";

/// The files of one commit in a folder that nobody writes to. It stays as long as this value lives.
pub struct BaseCopy {
    folder: PathBuf,
    commit: Oid,
    objects: PathBuf,
    withheld: Vec<String>,
    rules: git2::Repository,
    owner: Option<u32>,
    /// Held, shared with other users of the same copy.
    _lock: File,
}

impl std::fmt::Debug for BaseCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseCopy").field("folder", &self.folder).finish()
    }
}

impl Repository {
    /// The folder in which copies and the scratch folders of runs lie.
    #[must_use]
    pub fn copies_dir(&self) -> PathBuf {
        self.state_dir().join(COPIES)
    }

    /// The files of the target's base that `shown` lets through. Made once for each tree and key; later calls find it.
    /// `owner` is the user that the files shall belong to, where that is another than ours.
    ///
    /// # Errors
    /// When the base cannot be read, holds a name that must not be written, or the copy cannot be made.
    pub fn copy(
        &self,
        target: &Target,
        owner: Option<u32>,
        shown: &Shown<'_>,
    ) -> Result<BaseCopy, ExecError> {
        let copies = self.copies_dir();
        make(&copies, owner)?;
        let folder = copies.join(name(&target.base_tree, shown.key));
        let lock = loop {
            let lock = hold(&folder)?;
            if !folder.is_dir() {
                lock.lock().map_err(ExecError::write("lock", &folder))?;
                if !is_current(&lock, &folder) {
                    continue;
                }
                if !folder.is_dir() {
                    self.prepare(&folder, &target.base_tree, owner, shown)?;
                }
                lock.unlock().map_err(ExecError::write("unlock", &folder))?;
            }
            lock.lock_shared().map_err(ExecError::write("lock", &folder))?;
            // Between the two locks another run may have taken it for one that nobody uses.
            if folder.is_dir() && is_current(&lock, &folder) {
                break lock;
            }
        };
        discard_others(&copies, &folder);
        let commit = Oid::from_str(&target.base_commit).map_err(ExecError::git("read the base"))?;
        let rules = git2::Repository::open(folder.join("rules")).map_err(ExecError::git("open the copy"))?;
        rules
            .set_workdir(&folder.join("files"), false)
            .map_err(ExecError::git("open the copy"))?;
        let list = folder.join(WITHHELD);
        let withheld = fs::read_to_string(&list).map_err(ExecError::write("read", &list))?;
        Ok(BaseCopy {
            withheld: withheld.lines().map(str::to_owned).collect(),
            folder,
            commit,
            objects: self.common_dir().join("objects"),
            rules,
            owner,
            _lock: lock,
        })
    }
}

impl BaseCopy {
    /// The files.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Files of the base that are not in it.
    #[must_use]
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// Git's objects, which a tool must be able to read where [`BaseCopy::give_history`] was true.
    #[must_use]
    pub fn objects(&self) -> &Path {
        &self.objects
    }

    /// Do the base's own rules ignore this path? A folder's name ends in `/`. Where a `.gitignore` is a link, nothing is
    /// ignored: git follows none there, and libgit2 would.
    #[must_use]
    pub fn is_ignored(&self, path: &str) -> bool {
        let folders = [""].into_iter().chain(ancestors(path));
        for folder in folders {
            if is_odd(&self.files().join(folder).join(".gitignore")) {
                return false;
            }
        }
        self.rules.is_path_ignored(path).unwrap_or(false)
    }

    /// Makes a `.git` of its own in `folder`, at the base commit, that borrows the repository's objects. Without
    /// history where something is withheld: the objects would show it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn give_history(&self, folder: &Path) -> Result<bool, ExecError> {
        let dot_git = folder.join(".git");
        copy_all(&self.folder.join("template").join(".git"), &dot_git)?;
        let whole = self.withheld.is_empty();
        if whole {
            let alternates = format!("{}\n", self.objects.display());
            put(&dot_git.join("objects/info/alternates"), alternates.as_bytes())?;
            put(
                &dot_git.join("refs/heads/main"),
                format!("{}\n", self.commit).as_bytes(),
            )?;
            let index = self.folder.join("index");
            let bytes = fs::read(&index).map_err(ExecError::write("read", &index))?;
            put(&dot_git.join("index"), &bytes)?;
        }
        give_all(&dot_git, self.owner)?;
        Ok(whole)
    }
}

/// Copies a folder of ours.
fn copy_all(from: &Path, to: &Path) -> Result<(), ExecError> {
    make(to, None)?;
    for entry in fs::read_dir(from).map_err(ExecError::write("read", from))? {
        let entry = entry.map_err(ExecError::write("read", from))?;
        let (place, to) = (entry.path(), to.join(entry.file_name()));
        if place.is_dir() {
            copy_all(&place, &to)?;
        } else {
            let bytes = fs::read(&place).map_err(ExecError::write("read", &place))?;
            put(&to, &bytes)?;
        }
    }
    Ok(())
}

/// One copy for a tree and what may be shown of it.
fn name(tree: &str, key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("base-{tree}-{hex}")
}

/// The lock of a copy, a file beside it.
fn hold(folder: &Path) -> Result<File, ExecError> {
    let lock = lock_of(folder);
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&lock)
        .map_err(ExecError::write("open", &lock))
}

fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension(LOCK)
}

/// Where a copy is made before it has its name.
fn building_of(folder: &Path) -> PathBuf {
    folder.with_extension(BUILDING)
}

/// Is what is held still the lock of that copy? Whoever takes a copy away takes its lock's file along.
#[cfg(unix)]
fn is_current(lock: &File, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let named = |found: &fs::Metadata| (found.dev(), found.ino());
    let (held, there) = (lock.metadata(), fs::metadata(lock_of(folder)));
    matches!((held, there), (Ok(held), Ok(there)) if named(&held) == named(&there))
}

/// A file that is open is not taken away.
#[cfg(not(unix))]
fn is_current(_lock: &File, _folder: &Path) -> bool {
    true
}

/// The copies that are none of `but` and that nobody uses, with their locks held; also what is left of those that
/// are gone, or were never made to the end.
fn idle(copies: &Path, but: &Path) -> Vec<(PathBuf, File)> {
    let Ok(entries) = fs::read_dir(copies) else {
        return Vec::new();
    };
    let of_a_copy = |place: &PathBuf| {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let beside = place.extension().is_none_or(|end| end == LOCK || end == BUILDING);
        name.starts_with("base-") && beside
    };
    let places = entries.flatten().map(|entry| entry.path()).filter(of_a_copy);
    // A copy and what lies beside it are one.
    let folders: BTreeSet<PathBuf> = places.map(|place| place.with_extension("")).collect();
    let free = |folder: PathBuf| {
        let lock = hold(&folder).ok()?;
        match lock.try_lock() {
            Ok(()) => is_current(&lock, &folder).then_some((folder, lock)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        }
    };
    let others = folders.into_iter().filter(|folder| folder != but);
    others.filter_map(free).collect()
}

/// Takes away copies that nobody uses: a repository keeps one, and those at work. What cannot be removed now is tried
/// again by the next run.
fn discard_others(copies: &Path, keep: &Path) {
    for (folder, lock) in idle(copies, keep) {
        if remove(&folder).is_ok() && remove(&building_of(&folder)).is_ok() {
            let_go(&folder, lock);
        }
    }
}

/// Takes away the lock of a copy that is gone, and lets go of it: whoever waited for it sees that it is none any more.
fn let_go(folder: &Path, _lock: File) {
    let _ = fs::remove_file(lock_of(folder));
}

fn remove(folder: &Path) -> Result<(), ExecError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ExecError::write("remove", folder)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn make(folder: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(ExecError::write("make", folder))?;
    give(folder, owner)
}

fn put(place: &Path, bytes: &[u8]) -> Result<(), ExecError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(place);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(ExecError::write("write", place))
}

/// Makes a file the tool's user's.
fn give(place: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    #[cfg(unix)]
    if owner.is_some() {
        std::os::unix::fs::lchown(place, owner, owner).map_err(ExecError::write("give away", place))?;
    }
    #[cfg(not(unix))]
    let _ = (place, owner);
    Ok(())
}

fn give_all(folder: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    give(folder, owner)?;
    if owner.is_none() || !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(ExecError::write("read", folder))? {
        let entry = entry.map_err(ExecError::write("read", folder))?;
        let kind = entry.file_type().map_err(ExecError::write("read", folder))?;
        if kind.is_dir() {
            give_all(&entry.path(), owner)?;
        } else {
            give(&entry.path(), owner)?;
        }
    }
    Ok(())
}
