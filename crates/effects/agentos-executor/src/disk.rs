//! What is to be durable, and work beside it.
//!
//! Owns: which files hold objects and refs, files that were replaced, a helper. Never: writes anything.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::Builder;

use git2::Oid;

/// The files and folders to be synced for objects. One that is in a pack has no file of its own, which is passed over;
/// one that was there before is synced again.
pub(crate) fn object_files(common: &Path, ids: &[Oid]) -> Vec<PathBuf> {
    let objects = common.join("objects");
    let mut paths = std::collections::BTreeSet::new();
    for id in ids {
        let hex = id.to_string();
        let (first, rest) = hex.split_at_checked(2).unwrap_or_default();
        let folder = objects.join(first);
        paths.insert(folder.join(rest));
        paths.extend(agentos_durable::folder(folder));
        paths.extend(agentos_durable::folder(objects.clone()));
    }
    Vec::from_iter(paths)
}

/// The file and folder to be synced for a loose ref.
pub(crate) fn ref_files(common: &Path, refname: &str) -> Vec<PathBuf> {
    let path = common.join(refname);
    let folder = path
        .parent()
        .map(Path::to_owned)
        .and_then(agentos_durable::folder);
    Vec::from_iter([path].into_iter().chain(folder))
}

/// Files that were replaced, kept open: their blocks are given back when they are let go of. Where a file system tells
/// the disk of each block that is free now, and waits for it, that takes as long as a sync for each of them.
/// Removed files are not kept: on a file system of the network an open one stays in its folder under another name.
#[derive(Default)]
pub(crate) struct Replaced(Vec<File>);

/// Open files at a time; systems allow 256 and more.
const MOST_KEPT: usize = 128;
/// Let go of at a time.
const HANDS: usize = 8;
/// As many take longer than a helper's coming and going.
const WORTH: usize = 16;

impl Replaced {
    /// Keeps a regular file that will be replaced. One that cannot be opened is given back when it is replaced.
    pub fn keep(&mut self, place: &Path) {
        let is_file = std::fs::symlink_metadata(place).is_ok_and(|found| found.is_file());
        if is_file && let Ok(file) = File::open(place) {
            self.0.push(file);
        }
        self.let_go_of_many();
    }

    /// Keeps files that have no name any more.
    pub fn extend(&mut self, files: Option<File>) {
        self.0.extend(files);
        self.let_go_of_many();
    }

    fn let_go_of_many(&mut self) {
        if self.0.len() >= MOST_KEPT {
            self.let_go();
        }
    }

    /// Lets go of all of them, many at a time.
    pub fn let_go(&mut self) {
        let mut files = std::mem::take(&mut self.0);
        let share = files.len().div_ceil(HANDS).max(1);
        std::thread::scope(|scope| {
            while files.len() > share {
                let some = files.split_off(files.len() - share);
                // Without a helper they are let go of here.
                let _ = Builder::new().spawn_scoped(scope, move || drop(some));
            }
            drop(files);
        });
    }
}

/// Lets go of files while `main` runs, where they are many and a helper can be had for it, else after it.
pub(crate) fn beside<T>(mut replaced: Replaced, main: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        if replaced.0.len() >= WORTH {
            let mut replaced = std::mem::take(&mut replaced);
            let _ = Builder::new().spawn_scoped(scope, move || replaced.let_go());
        }
        main()
    })
}
