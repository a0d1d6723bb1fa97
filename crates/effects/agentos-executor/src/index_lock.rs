//! The lock of the index, which a landing holds from its first look at the index until it has replaced it.
//!
//! Owns: `index.lock` of a landing, and the one reading of the index under it. Never: removes a lock with other content.
//!
//! A landing that is killed leaves its lock, and recovery must know it from the lock of another program, which it must not
//! remove. So our lock contains the name of the run, and has that content from its first moment: it is written under
//! another name and then linked (link(2) fails if `index.lock` exists).

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_index::IndexFile;

use crate::exchange::no_links;
use crate::index;
use crate::journal::remove_if_there;
use crate::{ExecError, Repository};

/// Beginning of our lock's content; the run follows.
const MARK: &str = "agentos landing ";
/// Size in bytes above which a lock is not ours.
const MAX_LOCK: u64 = 512;

/// Lock of the index. Dropping it removes the lock file.
pub(crate) struct IndexLock {
    path: PathBuf,
    /// Path at which the next index is written.
    next: PathBuf,
}

/// Locked index and its content, which no other program can change.
pub(crate) struct HeldIndex {
    /// Content of `.git/index`.
    pub index: IndexFile,
    _lock: IndexLock,
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // A file that cannot be removed now is recognised as ours and removed by the next call.
        let _ = clear_next(&self.next);
        let _ = fs::remove_file(&self.path);
    }
}

impl Repository {
    /// Locks the index, so that no other program can stage anything until we are done. The caller holds the repository's
    /// lock.
    ///
    /// # Errors
    /// [`ExecError::IndexLocked`] if another program holds the lock; other errors as the system reports them.
    fn lock_index(&self, run: &str) -> Result<IndexLock, ExecError> {
        let path = self.index_lock_path();
        let mark = self.state_dir().join("index-mark");
        let text = format!("{MARK}{run}\n");
        let taken = write_new(&mark, &text).and_then(|()| {
            self.reach("index mark written");
            let linked = match fs::hard_link(&mark, &path) {
                // Without hard links the lock gets its content a moment after its name. A kill in between leaves an empty
                // lock, which a person has to remove.
                Err(error) if no_links(&error) => create_file(&path, &text),
                other => other,
            };
            self.reach("index locked");
            let _ = fs::remove_file(&mark);
            linked
        });
        match taken {
            Ok(()) => Ok(IndexLock {
                path,
                next: self.next_index(),
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(ExecError::IndexLocked(path)),
            Err(error) => Err(ExecError::write("lock the index with", &path)(error)),
        }
    }

    /// Locks the index and reads it, once, so that all checks see the index that will be changed.
    ///
    /// # Errors
    /// When it is locked or cannot be read.
    pub(crate) fn hold_index(&self, run: &str) -> Result<HeldIndex, ExecError> {
        let lock = self.lock_index(run)?;
        let next = self.next_index();
        clear_next(&next).map_err(ExecError::write("remove", &next))?;
        self.reach("index held");
        let index = index::read_index(&self.index_path())?;
        Ok(HeldIndex { index, _lock: lock })
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.git.path().join("index")
    }

    /// Returns the path at which a new index is written before it is renamed.
    pub(crate) fn next_index(&self) -> PathBuf {
        self.git.path().join("agentos-index.tmp")
    }

    /// Checks that no program has locked the index.
    ///
    /// # Errors
    /// [`ExecError::IndexLocked`] if one has.
    pub(crate) fn check_index_is_free(&self) -> Result<(), ExecError> {
        let path = self.index_lock_path();
        if fs::symlink_metadata(&path).is_ok() {
            return Err(ExecError::IndexLocked(path));
        }
        Ok(())
    }

    /// Checks that no program is about to switch branches.
    ///
    /// # Errors
    /// [`ExecError::HeadLocked`] if one is.
    pub(crate) fn check_head_is_free(&self) -> Result<(), ExecError> {
        let path = self.git.path().join("HEAD.lock");
        if fs::symlink_metadata(&path).is_ok() {
            return Err(ExecError::HeadLocked(path));
        }
        Ok(())
    }

    /// Returns the run whose process ended with this index locked. `None` if there is no lock, or it is another program's.
    pub(crate) fn abandoned_index_lock(&self) -> Option<String> {
        let path = self.index_lock_path();
        let found = fs::symlink_metadata(&path).ok()?;
        if !found.is_file() || found.len() > MAX_LOCK {
            return None;
        }
        let text = fs::read_to_string(&path).ok()?;
        text.strip_prefix(MARK).map(|run| run.trim_end().to_owned())
    }

    /// Removes a lock of the index that a process of ours left, and returns its run. `None` if there is no such lock. The
    /// caller holds the repository's lock, so no living process of ours can own it.
    ///
    /// # Errors
    /// When the lock cannot be removed.
    pub(crate) fn release_abandoned_index(&self) -> Result<Option<String>, ExecError> {
        let Some(run) = self.abandoned_index_lock() else {
            return Ok(None);
        };
        let next = self.next_index();
        clear_next(&next).map_err(ExecError::write("remove", &next))?;
        let path = self.index_lock_path();
        fs::remove_file(&path).map_err(ExecError::write("remove", &path))?;
        Ok(Some(run))
    }

    fn index_lock_path(&self) -> PathBuf {
        self.git.path().join("index.lock")
    }
}

/// Creates a file, and removes one that an earlier process left under this name.
///
/// # Errors
/// When it cannot be created.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    remove_if_there(path)?;
    create_file(path, text)
}

fn create_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Removes a new index that an earlier process left, and the lock next to it: earlier versions wrote the index by libgit2,
/// which creates such a lock.
///
/// # Errors
/// When one of them cannot be removed.
fn clear_next(next: &Path) -> io::Result<()> {
    let mut lock = next.as_os_str().to_owned();
    lock.push(".lock");
    remove_if_there(Path::new(&lock))?;
    remove_if_there(next)
}
