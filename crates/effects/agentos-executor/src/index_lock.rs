//! The index is ours from the look at it until it is replaced, and a lock that a killed landing left is known as ours.
//!
//! Owns: `index.lock` of a landing, told from other programs' by its content, which it has from its first moment, and
//! the one reading of an index under it. Never: removes a lock that says anything else.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_index::IndexFile;

use crate::exchange::no_links;
use crate::index;
use crate::journal::remove_if_there;
use crate::{ExecError, Repository};

/// What our lock begins with; the run follows.
const MARK: &str = "agentos landing ";
/// Ours are far shorter.
const MAX_LOCK: u64 = 512;

/// The index is held; it is let go when this is dropped.
pub(crate) struct IndexLock {
    path: PathBuf,
    /// Where the next index is made.
    next: PathBuf,
}

/// The index as it is while nobody else can change it.
pub(crate) struct HeldIndex {
    /// What `.git/index` says.
    pub index: IndexFile,
    _lock: IndexLock,
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed; the next call tries again.
        let _ = clear_next(&self.next);
        let _ = fs::remove_file(&self.path);
    }
}

impl Repository {
    /// Takes the index, so that no other program can stage anything until we are done. The caller holds the
    /// repository's lock.
    fn lock_index(&self, run: &str) -> Result<IndexLock, ExecError> {
        let path = self.index_lock_path();
        let mark = self.state_dir().join("index-mark");
        let text = format!("{MARK}{run}\n");
        let taken = write_new(&mark, &text).and_then(|()| {
            self.reach("index mark written");
            let linked = match fs::hard_link(&mark, &path) {
                // A file system without second names: the lock gets its content a moment after its name.
                Err(error) if no_links(&error) => create(&path, &text),
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

    /// Takes the index and reads it, once: what is looked at is what will be changed.
    pub(crate) fn hold_index(&self, run: &str) -> Result<HeldIndex, ExecError> {
        let lock = self.lock_index(run)?;
        let next = self.next_index();
        clear_next(&next).map_err(ExecError::write("remove", &next))?;
        self.reach("index held");
        let index = index::read(&self.index_path())?;
        Ok(HeldIndex { index, _lock: lock })
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.git.path().join("index")
    }

    /// Where a new index is made before it takes the place of the old one.
    pub(crate) fn next_index(&self) -> PathBuf {
        self.git.path().join("agentos-index.tmp")
    }

    /// Nobody holds the index now.
    pub(crate) fn check_index_is_free(&self) -> Result<(), ExecError> {
        let path = self.index_lock_path();
        if fs::symlink_metadata(&path).is_ok() {
            return Err(ExecError::IndexLocked(path));
        }
        Ok(())
    }

    /// Nobody is about to switch branches here now.
    pub(crate) fn check_head_is_free(&self) -> Result<(), ExecError> {
        let path = self.git.path().join("HEAD.lock");
        if fs::symlink_metadata(&path).is_ok() {
            return Err(ExecError::HeadLocked(path));
        }
        Ok(())
    }

    /// The run whose process died with this index locked; none if the lock is another program's or not there.
    pub(crate) fn abandoned_index_lock(&self) -> Option<String> {
        let path = self.index_lock_path();
        let found = fs::symlink_metadata(&path).ok()?;
        if !found.is_file() || found.len() > MAX_LOCK {
            return None;
        }
        let text = fs::read_to_string(&path).ok()?;
        text.strip_prefix(MARK).map(|run| run.trim_end().to_owned())
    }

    /// Lets go of an index that a process of ours held when it died. The caller holds the repository's lock, so that
    /// no process of ours is alive with it.
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

/// Replaces what an earlier process left under this name of ours.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    remove_if_there(path)?;
    create(path, text)
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Removes what an earlier process left there, and what libgit2 put beside it in versions of ours that wrote with it.
fn clear_next(next: &Path) -> io::Result<()> {
    let mut lock = next.as_os_str().to_owned();
    lock.push(".lock");
    remove_if_there(Path::new(&lock))?;
    remove_if_there(next)
}
