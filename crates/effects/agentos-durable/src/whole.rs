//! One wait for a whole file system.
//!
//! Owns: whether that may stand for a sync of each file, and is cheaper; asking for it. Never: relies on it where a
//! failure to write could go untold.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, fstatfs, fstatvfs, syncfs};
use rustix::io::Errno;
use rustix::system::uname;

use crate::{Missing, SyncError, absent, open, range};

/// Kinds of file systems where it was measured, by their magic number (statfs(2)): ext2 to ext4, XFS, btrfs. For 200
/// new files it took a fifth, a fifth and a tenth of the time; for 5, two thirds, a fifth and a fifth. With the writing
/// of each file begun before, as [`begin_to_write`] does, it takes the same.
const TRIED: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// The first kernel whose `syncfs` tells of all that failed: of writes since 5.8 (syncfs(2)), of what the file system
/// itself says since its change 5679897eb104.
const TELLS_OF_FAILURES: (u32, u32) = (5, 17);

/// Files for which it is worth it: one or two are quicker by themselves.
const WORTH: usize = 3;

/// What others may have waiting for the disk, for each file that need not be synced by itself: a wait for the whole
/// file system is a wait for theirs too. A disk writes as much in the time of one sync.
const OTHERS_PER_FILE: u64 = 1 << 20;

/// A file system that can be synced at once.
#[derive(Debug)]
pub(crate) struct Whole {
    folder: PathBuf,
    open: File,
    device: u64,
}

impl Whole {
    pub fn of(folder: &Path) -> Option<Self> {
        if release_of(&uname().release().to_string_lossy())? < TELLS_OF_FAILURES {
            return None;
        }
        let open = File::open(folder).ok()?;
        // The field has another type on every architecture; the numbers fit all of them.
        let kind = u64::try_from(fstatfs(&open).ok()?.f_type).ok()?;
        let device = open.metadata().ok()?.dev();
        TRIED.contains(&(kind & 0xFFFF_FFFF)).then(|| Self {
            folder: folder.to_owned(),
            open,
            device,
        })
    }

    /// Makes those durable that lie in this file system, if it is worth it; gives the others. A failure is final: what
    /// was told once is not told to whoever asks again.
    pub fn sync<'p>(&self, paths: &'p [PathBuf], missing: Missing) -> Result<Vec<&'p PathBuf>, SyncError> {
        self.sync_beside(paths, missing, || {
            waiting(&String::from_utf8_lossy(&meminfo().ok()?))
        })
    }

    /// The same, with as many bytes of others as `waiting` says.
    fn sync_beside<'p>(
        &self,
        paths: &'p [PathBuf],
        missing: Missing,
        waiting: impl FnOnce() -> Option<u64>,
    ) -> Result<Vec<&'p PathBuf>, SyncError> {
        let mut within = Vec::with_capacity(paths.len());
        let mut files = Vec::with_capacity(paths.len());
        let mut others = Vec::new();
        for path in paths {
            match fs::metadata(path) {
                Ok(found) if found.dev() == self.device => {
                    within.push(path);
                    files.extend(found.is_file().then_some(path));
                }
                Ok(_) => others.push(path),
                Err(source) => absent(path, source, missing)?,
            }
        }
        let done =
            is_worth_it(within.len(), waiting) && begin_to_write(&files, missing)? && self.wait_for_all()?;
        if !done {
            others.append(&mut within);
        }
        Ok(others)
    }

    /// False where the system does not let us, or nothing is written there any more.
    fn wait_for_all(&self) -> Result<bool, SyncError> {
        let failed = |error: Errno| SyncError {
            path: self.folder.clone(),
            source: error.into(),
        };
        match syncfs(&self.open) {
            Ok(()) => {}
            Err(Errno::ACCESS | Errno::NOSYS | Errno::PERM) => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
        // One that turned read-only after a fault of its own has nothing to wait for, and says that all is well.
        let found = fstatvfs(&self.open).map_err(failed)?;
        Ok(!found.f_flag.contains(StatVfsMountFlags::RDONLY))
    }
}

/// Begins to write each file. What cannot be given a place on the disk is told here alone: ext4 gives it one when it is
/// written, and forgets a failure before anybody waits. False where the system does not let us.
fn begin_to_write(files: &[&PathBuf], missing: Missing) -> Result<bool, SyncError> {
    for path in files {
        let Some(file) = open(path, missing)? else {
            continue;
        };
        match range::begin_to_write(&file) {
            Ok(()) => {}
            Err(error) if error.raw_os_error().is_some_and(is_refused) => return Ok(false),
            Err(source) => {
                return Err(SyncError {
                    path: path.to_path_buf(),
                    source,
                });
            }
        }
    }
    Ok(true)
}

fn is_refused(error: i32) -> bool {
    [Errno::ACCESS, Errno::INVAL, Errno::NOSYS, Errno::PERM]
        .iter()
        .any(|refused| refused.raw_os_error() == error)
}

/// Is one wait for everything cheaper than one for each of so many files, with so many bytes waiting for the disk?
fn is_worth_it(files: usize, waiting: impl FnOnce() -> Option<u64>) -> bool {
    let most = u64::try_from(files)
        .unwrap_or(u64::MAX)
        .saturating_mul(OTHERS_PER_FILE);
    files >= WORTH && waiting().is_some_and(|bytes| bytes <= most)
}

/// The beginning of the file, in few reads: its length is not told, and who begins with little comes back many times.
fn meminfo() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8192);
    File::open("/proc/meminfo")?.take(8192).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes that wait for any disk, from `/proc/meminfo` (proc_meminfo(5)).
fn waiting(meminfo: &str) -> Option<u64> {
    let of = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    of("Dirty:")?.checked_add(of("Writeback:")?)?.checked_mul(1024)
}

/// The first two numbers of a kernel's release.
fn release_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
