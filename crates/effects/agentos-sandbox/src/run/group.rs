//! A control group for one run: limits on all of its processes together.
//!
//! A group can be created below an ancestor of this program's own group whose `cgroup.procs` this user may write,
//! which is called "delegated" (cgroup v2, Documentation/admin-guide/cgroup-v2.rst). A limit works if that ancestor
//! passes the controller on (`cgroup.subtree_control`). Under systemd this is so for root, and for programs below
//! `user@UID.service`; a login shell in a session scope has none, and then the report says what is missing.
//!
//! Owns: finding such a place, the group's limits and its end. Never: changes a group that it did not create, or
//! claims a limit that no controller enforces.

#![expect(
    clippy::disallowed_methods,
    reason = "the kernel's own files below /proc and the folder of its control groups, which no tool can write"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::launch_spec::ResourceLimits;
use crate::report::RunLimit;

/// Beginning of the names of groups; the process id of the program that created them follows.
const PREFIX: &str = "agentos-";

/// Counter that makes the names of one program's groups different.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Group of one run; removed with this value unless processes are left in it.
#[derive(Debug)]
pub(super) struct RunGroup {
    folder: PathBuf,
}

impl RunGroup {
    /// Creates an empty group. Returns `None` if no controller could limit it.
    pub(super) fn create() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let above = find_delegated(&own_folders(&mounts, &own)?)?;
        remove_dead(&above);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = above.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        Some(Self { folder })
    }

    /// Returns the folder of the group, which the helper joins.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets the limits. Returns those that are active.
    pub(super) fn set_limits(&self, limits: &ResourceLimits) -> Vec<RunLimit> {
        let set = |file: &str, value: u64| fs::write(self.folder.join(file), value.to_string()).is_ok();
        let mut all = Vec::new();
        if set("memory.max", limits.run_memory_bytes) {
            // Without a limit on swap, what does not fit into memory would go there (cgroup-v2.rst). A system without
            // swap has no such file.
            let _ = set("memory.swap.max", 0);
            all.push(RunLimit::Memory);
        }
        if set("pids.max", limits.processes) {
            all.push(RunLimit::Processes);
        }
        all
    }
}

impl Drop for RunGroup {
    fn drop(&mut self) {
        // If processes are left, the kernel kills them (since Linux 5.14). The folder of a group that is not empty
        // stays.
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes the empty groups of dead programs: a program that is killed cannot remove its own.
fn remove_dead(above: &Path) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let program = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if program.is_some_and(|number| !Path::new("/proc").join(number).exists()) {
            // Fails if processes are left in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the folder of this program's own group and of each group above it, nearest first. `None` without cgroup
/// v2.
fn own_folders(mounts: &str, own: &str) -> Option<Vec<PathBuf>> {
    // proc_pid_mountinfo(5): the fourth field is the root of the mount, the fifth its place, and after " - " comes the type.
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut fields = place.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        (kind.split(' ').next() == Some("cgroup2")).then_some((root, at))
    });
    let (root, at) = mount?;
    // cgroups(7): the line of version 2 has the number 0 and names no controller.
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(group).strip_prefix(root).ok()?;
    let own = Path::new(at).join(below);
    let all = own.ancestors().take_while(|folder| folder.starts_with(at));
    Some(all.map(Path::to_owned).collect())
}

/// Returns the nearest of these folders in which this user may create a group that a controller limits. `None` if
/// there is none.
fn find_delegated(folders: &[PathBuf]) -> Option<PathBuf> {
    let may_write = |folder: &Path| {
        use nix::unistd::{AccessFlags, access};
        access(&folder.join("cgroup.procs"), AccessFlags::W_OK).is_ok()
            && access(folder, AccessFlags::W_OK).is_ok()
    };
    let passes_on = |folder: &Path| {
        let passed = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        passed
            .split_whitespace()
            .any(|name| name == "memory" || name == "pids")
    };
    // Moving a process needs write access to the common ancestor's `cgroup.procs`, so the search stops at the first
    // folder without it.
    let mut usable = folders.iter().take_while(|folder| may_write(folder));
    usable.find(|folder| passes_on(folder)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "24 1 0:22 / /proc rw - proc proc rw\n\
        30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
    const HYBRID: &str = "30 24 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
        31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const CONTAINER: &str = "30 24 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";

    #[test]
    fn our_own_group_and_those_above_it_are_found() {
        let cases: [(&str, &str, Option<&[&str]>); 5] = [
            (
                UNIFIED,
                "0::/user.slice/x\n",
                Some(&[
                    "/sys/fs/cgroup/user.slice/x",
                    "/sys/fs/cgroup/user.slice",
                    "/sys/fs/cgroup",
                ]),
            ),
            (HYBRID, "8:pids:/\n0::/\n", Some(&["/sys/fs/cgroup/unified"])),
            (
                CONTAINER,
                "0::/docker/x/y\n",
                Some(&["/sys/fs/cgroup/y", "/sys/fs/cgroup"]),
            ),
            (CONTAINER, "0::/elsewhere\n", None),
            ("", "0::/\n", None),
        ];
        for (mounts, own, expected) in cases {
            let expected = expected.map(|all| all.iter().map(PathBuf::from).collect::<Vec<_>>());
            assert_eq!(own_folders(mounts, own), expected, "{mounts}{own}");
        }
    }

    #[test]
    fn a_group_is_made_where_a_controller_is_passed_on() {
        let top = tempfile::tempdir().unwrap();
        let (near, far) = (top.path().join("a/b"), top.path().join("a"));
        fs::create_dir_all(&near).unwrap();
        for folder in [&near, &far] {
            fs::write(folder.join("cgroup.procs"), "").unwrap();
        }
        let folders = [near.clone(), far.clone()];
        assert_eq!(find_delegated(&folders), None);
        fs::write(far.join("cgroup.subtree_control"), "cpu pids\n").unwrap();
        assert_eq!(find_delegated(&folders), Some(far.clone()));
        fs::remove_file(near.join("cgroup.procs")).unwrap();
        assert_eq!(
            find_delegated(&folders),
            None,
            "what lies between must be ours too"
        );
    }
}
