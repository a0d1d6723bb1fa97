//! Leases a pair of users by locking a file.
//!
//! Owns: the folder of the locks, and the search for processes that a dead run left. Never: follows a link, or trusts
//! a folder that another user could have made.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::geteuid;
use rustix::fs::{CWD, Mode, OFlags, fstat, mkdirat, openat};

use super::{PAIRS, RunIdentity};
use crate::SandboxError;

/// Folders that may hold the folder of the locks. Locks need not survive a restart of the machine; `/var/tmp` is for
/// systems without `/run` (file-hierarchy(7)).
const ABOVE: [&str; 2] = ["/run", "/var/tmp"];
/// Folder of the locks.
const FOLDER: &str = "agentos-identities";
/// Content of the file of a pair that is in use.
const IN_USE: &[u8] = b"1";

/// Pair of users that belongs to one run as long as this value lives.
#[derive(Debug)]
pub struct IdentityLease {
    identity: RunIdentity,
    /// Lock file of the pair; locked and not empty.
    lock: File,
    abandoned: AtomicBool,
}

impl IdentityLease {
    /// Takes the first free pair. Returns `None` if the program does not run as root: then tools run as the same
    /// user.
    ///
    /// # Errors
    /// If the locks cannot be created, or every pair is in use.
    pub fn take() -> Result<Option<Self>, SandboxError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let folder = open_folder()?;
        for number in 0..PAIRS {
            let taken = try_pair(&folder, number, Path::new("/proc"));
            if let Some(lease) = taken.map_err(SandboxError::io("lock a user for the tool"))? {
                return Ok(Some(lease));
            }
        }
        Err(SandboxError::NotConfined(format!(
            "all {PAIRS} users for tools are in use on this machine"
        )))
    }

    /// Returns the users.
    #[must_use]
    pub fn identity(&self) -> RunIdentity {
        self.identity
    }

    /// Keeps the pair from being given away while processes of it may live.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }
}

impl Drop for IdentityLease {
    fn drop(&mut self) {
        if !self.abandoned.load(Ordering::Acquire) {
            // If this fails, the next lease has to look at the processes; nothing else is lost.
            let _ = self.lock.set_len(0);
        }
    }
}

/// Opens the folder of the locks, which must belong to root alone.
fn open_folder() -> Result<File, SandboxError> {
    let failed =
        |error: rustix::io::Errno| SandboxError::io("open the folder of the tools' users")(error.into());
    let mut last = rustix::io::Errno::NOENT;
    for above in ABOVE {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(CWD, above, flags, Mode::empty()).and_then(|above| {
            match mkdirat(&above, FOLDER, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => openat(&above, FOLDER, flags, Mode::empty()),
                Err(error) => Err(error),
            }
        });
        match opened {
            Ok(folder) => {
                let found = fstat(&folder).map_err(failed)?;
                if found.st_uid != 0 || found.st_mode & 0o077 != 0 {
                    let why = format!("`{above}/{FOLDER}` does not belong to root alone; remove it");
                    return Err(SandboxError::NotConfined(why));
                }
                return Ok(folder.into());
            }
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// Takes a pair. Returns `None` if it is in use.
fn try_pair(folder: &File, number: u32, processes: &Path) -> std::io::Result<Option<IdentityLease>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = File::from(openat(
        folder,
        number.to_string(),
        flags,
        Mode::RUSR | Mode::WUSR,
    )?);
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let identity = RunIdentity::from_number(number);
    if lock.metadata()?.len() > 0 && is_alive(identity, processes) {
        return Ok(None);
    }
    // The mark is written before the pair is used: if this program is killed, the next one finds it and looks for
    // survivors.
    lock.write_all_at(IN_USE, 0)?;
    Ok(Some(IdentityLease {
        identity,
        lock,
        abandoned: AtomicBool::new(false),
    }))
}

/// Returns true if a process has one of the two ids, or if processes cannot be listed.
#[expect(clippy::disallowed_methods, reason = "the kernel's own list of processes")]
fn is_alive(identity: RunIdentity, processes: &Path) -> bool {
    let Ok(entries) = fs::read_dir(processes) else {
        return true;
    };
    let ids = [identity.tool, identity.keeper];
    let statuses = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let is_process = name.to_str()?.bytes().all(|byte| byte.is_ascii_digit());
        // A process that ended in the meantime has no status any more.
        is_process.then(|| fs::read_to_string(entry.path().join("status")).ok())?
    });
    statuses.into_iter().any(|status| has_user(&status, ids))
}

/// Returns true if the line `Uid:` of a process's status (proc_pid_status(5)) names one of these ids.
fn has_user(status: &str, ids: [u32; 2]) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let mut users = line.into_iter().flat_map(str::split_whitespace);
    users.any(|user| user.parse().is_ok_and(|user: u32| ids.contains(&user)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> File {
        openat(CWD, folder, OFlags::RDONLY, Mode::empty()).unwrap().into()
    }

    #[test]
    fn a_pair_belongs_to_one_lease_at_a_time() {
        let (folder, nobody) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = open(folder.path());
        let first = try_pair(&folder, 0, nobody.path()).unwrap().unwrap();
        assert!(try_pair(&folder, 0, nobody.path()).unwrap().is_none());
        let second = try_pair(&folder, 1, nobody.path()).unwrap().unwrap();
        assert_ne!(first.identity().tool, second.identity().tool);
        assert_ne!(first.identity().keeper, second.identity().tool);
        drop(first);
        assert!(try_pair(&folder, 0, nobody.path()).unwrap().is_some());
    }

    #[test]
    fn a_pair_of_a_dead_run_is_free_when_none_of_its_processes_lives() {
        let (folder, nobody) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = open(folder.path());
        let lease = try_pair(&folder, 0, nobody.path()).unwrap().unwrap();
        lease.abandon();
        drop(lease);
        let marked = File::from(openat(&folder, "0", OFlags::RDONLY, Mode::empty()).unwrap());
        assert_eq!(marked.metadata().unwrap().len(), 1, "the mark stays");
        assert!(
            try_pair(&folder, 0, nobody.path()).unwrap().is_some(),
            "no process has these ids here"
        );
    }

    #[test]
    fn a_process_is_found_by_any_of_its_user_ids() {
        let identity = RunIdentity::from_number(3);
        for (uids, expected) in [
            ("0\t0\t0\t0", false),
            ("60606\t60606\t60606\t60606", true),
            ("0\t0\t60607\t0", true),
            ("606060\t6060\t0\t0", false),
        ] {
            let top = tempfile::tempdir().unwrap();
            let process = top.path().join("42");
            fs::create_dir_all(&process).unwrap();
            fs::write(
                process.join("status"),
                format!("Name:\tx\nUid:\t{uids}\nGid:\t0\n"),
            )
            .unwrap();
            assert_eq!(is_alive(identity, top.path()), expected, "{uids}");
        }
        assert!(
            is_alive(identity, Path::new("/no/such/folder")),
            "unknown counts as alive"
        );
    }
}
