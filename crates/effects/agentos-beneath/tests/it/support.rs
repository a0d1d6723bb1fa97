//! Trees that no path name reaches, and tests as an ordinary user.
//!
//! Owns: making them. Never: uses what is tested.

use std::ffi::OsStr;
use std::path::Path;

use agentos_testkit::cli::program;
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

/// Makes folders in each other, every one named `d`, without ever naming more than one of them.
pub fn nest_folders(top: &Path, levels: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut folder = open(top, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&folder, "d", Mode::RWXU).unwrap();
        folder = openat(&folder, "d", flags, Mode::empty()).unwrap();
    }
}

/// Makes a folder for a tree of very many folders, in memory where there is such a place: ext4 takes milliseconds for the
/// removal of each.
pub fn roomy_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Lowers the number of descriptors that this process may have open.
pub fn limit_descriptors(most: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        current: Some(most),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Root may enter every folder. Returns false if this is root, after running the test of this name once more as an
/// ordinary user.
pub fn is_ordinary_user(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let this = std::env::current_exe().unwrap();
    let ids = ["--reuid", "4242", "--regid", "4242", "--clear-groups"];
    let child = program("setpriv")
        .args(ids.map(OsStr::new))
        .arg(this)
        .args(["--exact", test, "--nocapture"])
        .output();
    match child {
        Ok(output) if output.stdout.starts_with(b"\nrunning 1 test") => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
        Ok(output) => eprintln!(
            "skipped as an ordinary user: {}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => eprintln!("skipped as an ordinary user: no setpriv: {error}"),
    }
    false
}
