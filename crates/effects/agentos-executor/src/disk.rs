//! Files that must become durable, and closing replaced files.
//!
//! Owns: the paths of objects and refs, and open files that were replaced. Never: writes anything.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::Builder;

use git2::Oid;

/// Lists the files and folders to be synced for objects. The file of an object that lies in a pack does not exist, and
/// syncing skips it. An object that existed before is synced again, since the process that wrote it may not have done so.
pub(crate) fn object_files(common: &Path, ids: &[Oid]) -> Vec<PathBuf> {
    let objects = common.join("objects");
    let mut paths = std::collections::BTreeSet::new();
    for id in ids {
        let hex = id.to_string();
        let (first, rest) = hex.split_at_checked(2).unwrap_or_default();
        let folder = objects.join(first);
        paths.insert(folder.join(rest));
        paths.extend(agentos_durable::syncable_folder(folder));
        paths.extend(agentos_durable::syncable_folder(objects.clone()));
    }
    Vec::from_iter(paths)
}

/// Lists the file and the folder to be synced for a loose ref.
pub(crate) fn ref_files(common: &Path, refname: &str) -> Vec<PathBuf> {
    let path = common.join(refname);
    let folder = path
        .parent()
        .map(Path::to_owned)
        .and_then(agentos_durable::syncable_folder);
    Vec::from_iter([path].into_iter().chain(folder))
}

/// Open files whose names are gone. The file system frees the blocks of such a file when it is closed. If the file system
/// reports each freed block to the disk and waits for it (mount option `discard`), closing a file takes as long as a sync.
/// So files are closed later, several at a time, while the landing waits for the disk anyway.
#[derive(Default)]
pub(crate) struct ReplacedFiles(Vec<File>);

/// Maximum number of files kept open; systems allow 256 and more.
const MOST_KEPT: usize = 128;
/// Maximum number of threads that close files.
const CLOSING_THREADS: usize = 8;
/// Number of files from which on closing them takes longer than starting a thread.
const WORTH_A_THREAD: usize = 16;

impl ReplacedFiles {
    /// Keeps a regular file open that will be replaced. A file that cannot be opened is not kept; its blocks are freed when
    /// it is replaced.
    pub fn keep_open(&mut self, place: &Path) {
        let is_file = std::fs::symlink_metadata(place).is_ok_and(|found| found.is_file());
        if is_file && let Ok(file) = File::open(place) {
            self.0.push(file);
        }
        self.close_if_many();
    }

    /// Keeps open files that were removed. On NFS such a file has a hidden name in its folder until it is closed.
    pub fn extend(&mut self, files: Option<File>) {
        self.0.extend(files);
        self.close_if_many();
    }

    fn close_if_many(&mut self) {
        if self.0.len() >= MOST_KEPT {
            self.close_all();
        }
    }

    /// Closes all files, several at a time.
    pub fn close_all(&mut self) {
        let mut files = std::mem::take(&mut self.0);
        let share = files.len().div_ceil(CLOSING_THREADS).max(1);
        std::thread::scope(|scope| {
            while files.len() > share {
                let some = files.split_off(files.len() - share);
                // If no thread can be started, the closure is dropped here, and the files with it.
                let _ = Builder::new().spawn_scoped(scope, move || drop(some));
            }
            drop(files);
        });
    }
}

/// Closes files in another thread while `main` runs. Closes them afterwards if they are few or no thread can be started.
pub(crate) fn close_during<T>(mut replaced: ReplacedFiles, main: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        if replaced.0.len() >= WORTH_A_THREAD {
            let mut replaced = std::mem::take(&mut replaced);
            let _ = Builder::new().spawn_scoped(scope, move || replaced.close_all());
        }
        main()
    })
}
