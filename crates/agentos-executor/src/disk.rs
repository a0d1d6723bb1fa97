//! Making what was written durable.
//!
//! Owns: syncing files and folders, and which ones hold objects and refs. Never: writes anything.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use git2::Oid;

/// Syncs asked for at a time: those of a small change in one wave. More gain nothing where it was measured, an ext4 on
/// a virtual disk.
const AT_ONCE: usize = 32;

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()
    } else {
        Ok(())
    }
}

/// A folder as something to be synced, where folders can be.
pub(crate) fn folder(dir: PathBuf) -> Option<PathBuf> {
    cfg!(unix).then_some(dir)
}

/// Makes files and folders durable, many at a time: a disk takes the requests of many together, where one after the
/// other each waits for it. What is not there is passed over.
pub(crate) fn sync_each(paths: &[PathBuf]) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync_if_there(path)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..AT_ONCE.min(paths.len()))
            .map_while(|_| Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let ended_early = |_| Err(io::Error::other("a helper ended early"));
        let own = work();
        helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(ended_early))
            .fold(own, Result::and)
    })
}

fn sync_if_there(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

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
        if cfg!(unix) {
            paths.insert(folder);
            paths.insert(objects.clone());
        }
    }
    Vec::from_iter(paths)
}

/// The file and folder to be synced for a loose ref.
pub(crate) fn ref_files(common: &Path, refname: &str) -> Vec<PathBuf> {
    let path = common.join(refname);
    let folder = path.parent().filter(|_| cfg!(unix)).map(Path::to_owned);
    Vec::from_iter([path].into_iter().chain(folder))
}

/// Runs `aside` while `main` runs; gives what both give.
pub(crate) fn meanwhile<T>(
    aside: impl Fn() -> io::Result<()> + Sync,
    main: impl FnOnce() -> T,
) -> (T, io::Result<()>) {
    std::thread::scope(|scope| {
        let helper = Builder::new().spawn_scoped(scope, &aside);
        let given = main();
        let done = match helper {
            Ok(helper) => helper
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a helper ended early"))),
            Err(_) => aside(),
        };
        (given, done)
    })
}
