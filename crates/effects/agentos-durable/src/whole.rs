//! One `syncfs(2)` in place of an fsync for each file.
//!
//! Owns: the decision whether that is safe and cheaper, and the call. Never: relies on it where a failed write could go
//! unreported. The steps and their reasons are in the crate's documentation.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, fstatfs, fstatvfs, syncfs};
use rustix::io::Errno;
use rustix::system::uname;

use crate::{MissingFiles, SyncError, check_missing, open_existing, writeback};

/// File systems on which `syncfs` was measured, by their magic numbers (statfs(2)): ext2 to ext4, XFS, btrfs. For 200
/// new files it took a fifth, a fifth and a tenth of the time of an fsync for each; for 5 files two thirds, a fifth and a
/// fifth. Calling [`begin_to_write`] first does not change that.
const TRIED: [u64; 3] = [0xEF53, 0x5846_5342, 0x9123_683E];

/// First kernel whose `syncfs` reports every failure: failed writes since 5.8 (syncfs(2)), and failures of the file
/// system itself since kernel commit 5679897eb104.
const FIRST_RELIABLE: (u32, u32) = (5, 17);

/// Minimum number of files for which `syncfs` is used. One or two are quicker with an fsync each.
const WORTH: usize = 3;

/// Bytes of other programs that may wait for the disk, for each file that then needs no fsync of its own. `syncfs` waits
/// for those bytes too, and a disk writes about this many in the time of one fsync.
const OTHERS_PER_FILE: u64 = 1 << 20;

/// File system that can be synced in one call.
#[derive(Debug)]
pub(crate) struct WholeFileSystem {
    folder: PathBuf,
    open: File,
    device: u64,
}

impl WholeFileSystem {
    /// Opens the file system of a folder. `None` if it cannot be opened, or `syncfs` is not known to be reliable and
    /// cheap on this kernel and kind of file system.
    pub fn open(folder: &Path) -> Option<Self> {
        if release_of(&uname().release().to_string_lossy())? < FIRST_RELIABLE {
            return None;
        }
        let open = File::open(folder).ok()?;
        // The type of this field differs between architectures; the magic numbers fit all of them.
        let kind = u64::try_from(fstatfs(&open).ok()?.f_type).ok()?;
        let device = open.metadata().ok()?.dev();
        TRIED.contains(&(kind & 0xFFFF_FFFF)).then(|| Self {
            folder: folder.to_owned(),
            open,
            device,
        })
    }

    /// Makes the paths in this file system durable, if one call for all is cheaper, and returns the others.
    ///
    /// # Errors
    /// When a write failed. The failure is final: the kernel reports it once, so a second call would succeed though data
    /// is lost.
    pub fn sync<'p>(
        &self,
        paths: &'p [PathBuf],
        missing: MissingFiles,
    ) -> Result<Vec<&'p PathBuf>, SyncError> {
        self.sync_with_waiting(paths, missing, || {
            waiting_bytes(&String::from_utf8_lossy(&read_meminfo().ok()?))
        })
    }

    /// Does the work of [`Self::sync`], given the number of bytes that wait for any disk. `waiting` returns `None` if
    /// that number is unknown.
    fn sync_with_waiting<'p>(
        &self,
        paths: &'p [PathBuf],
        missing: MissingFiles,
        waiting: impl FnOnce() -> Option<u64>,
    ) -> Result<Vec<&'p PathBuf>, SyncError> {
        let mut within = Vec::with_capacity(paths.len());
        let mut files = Vec::with_capacity(paths.len());
        let mut others = Vec::new();
        for path in paths {
            match fs::metadata(path) {
                Ok(found) if found.dev() == self.device => {
                    within.push(path);
                    // A folder has no cached content that a writeback could be started for.
                    files.extend(found.is_file().then_some(path));
                }
                Ok(_) => others.push(path),
                Err(source) => check_missing(path, source, missing)?,
            }
        }
        let done =
            is_worth_it(within.len(), waiting) && begin_to_write(&files, missing)? && self.wait_for_all()?;
        if !done {
            others.append(&mut within);
        }
        Ok(others)
    }

    /// Waits until everything written in this file system is on the disk. Returns false if the system does not permit the
    /// call, or the file system has become read-only.
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
        // A file system that turned read-only after an error of its own has nothing left to write, and so reports
        // success. Files that it could not write must then be synced one by one, which fails.
        let found = fstatvfs(&self.open).map_err(failed)?;
        Ok(!found.f_flag.contains(StatVfsMountFlags::RDONLY))
    }
}

/// Starts to write each file to the disk. Returns false if the system does not permit the call.
///
/// # Errors
/// When no disk blocks can be allocated for a file. Only this call reports it: ext4 allocates blocks when it writes a file
/// back, and by the time of a `syncfs` it has forgotten the failure.
fn begin_to_write(files: &[&PathBuf], missing: MissingFiles) -> Result<bool, SyncError> {
    for path in files {
        let Some(file) = open_existing(path, missing)? else {
            continue;
        };
        match writeback::begin_to_write(&file) {
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

/// Returns true for errors of a system that lacks the call or forbids it, as a seccomp filter may.
fn is_refused(error: i32) -> bool {
    [Errno::ACCESS, Errno::INVAL, Errno::NOSYS, Errno::PERM]
        .iter()
        .any(|refused| refused.raw_os_error() == error)
}

/// Returns whether one wait for everything is cheaper than an fsync for each of `files` files, when `waiting` bytes of
/// all programs wait for the disk. An unknown number counts as too many.
fn is_worth_it(files: usize, waiting: impl FnOnce() -> Option<u64>) -> bool {
    let most = u64::try_from(files)
        .unwrap_or(u64::MAX)
        .saturating_mul(OTHERS_PER_FILE);
    files >= WORTH && waiting().is_some_and(|bytes| bytes <= most)
}

/// Reads the first 8 KiB of `/proc/meminfo`, enough for the two lines that are needed.
fn read_meminfo() -> io::Result<Vec<u8>> {
    // The kernel reports a length of 0 for this file, so `fs::read` would start with a small buffer and read many times.
    let mut bytes = Vec::with_capacity(8192);
    File::open("/proc/meminfo")?.take(8192).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the bytes that wait for any disk, from the text of `/proc/meminfo` (proc_meminfo(5)). `None` if the text does
/// not say.
fn waiting_bytes(meminfo: &str) -> Option<u64> {
    let of = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    of("Dirty:")?.checked_add(of("Writeback:")?)?.checked_mul(1024)
}

/// Returns the first two numbers of a kernel release such as `6.18.44-fc`. `None` if it has fewer.
fn release_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
