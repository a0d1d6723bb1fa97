//! Limits of control groups: a container with 4 GiB has 4 GiB, whatever the machine has.
//!
//! Owns: the groups of this process, in both versions. Never: changes a group.

use std::path::Path;

use crate::MemorySample;
use crate::files::read_text;

/// Names of the files of one version of control groups.
struct GroupFiles {
    base: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// Field of `memory.stat` with the page cache that can be freed at once.
    cache: &'static str,
}

const SECOND: GroupFiles = GroupFiles {
    base: "/sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    cache: "inactive_file ",
};
const FIRST: GroupFiles = GroupFiles {
    base: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cache: "total_inactive_file ",
};

/// Lowers the memory of the machine to what the control groups of this process allow.
pub(crate) fn apply_limits(root: &Path, memory: MemorySample) -> MemorySample {
    let Some(groups) = read_text(root, "/proc/self/cgroup") else {
        return memory;
    };
    let mut allowed = memory;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        if controllers.is_empty() {
            apply_group(root, &SECOND, group, &mut allowed);
        } else if controllers.split(',').any(|name| name == "memory") {
            apply_group(root, &FIRST, group, &mut allowed);
        }
    }
    allowed
}

/// Applies the limits of a group and of all groups that contain it.
fn apply_group(root: &Path, files: &GroupFiles, group: &str, allowed: &mut MemorySample) {
    // In a namespace of its own, a process outside of it has a path with `..`, which leads nowhere here.
    let names: Vec<&str> = group
        .split('/')
        .filter(|name| !name.is_empty() && *name != "..")
        .collect();
    for depth in (0..=names.len()).rev() {
        let path: Vec<&str> = [files.base]
            .into_iter()
            .chain(names.iter().take(depth).copied())
            .collect();
        let path = path.join("/");
        let number = |name: &str| -> Option<u64> {
            // `max` is no number: there is no limit.
            read_text(root, &format!("{path}/{name}"))?.trim().parse().ok()
        };
        // The first version writes a huge number for no limit.
        let Some(limit) = number(files.limit).filter(|limit| *limit < allowed.total_bytes) else {
            continue;
        };
        let cache = read_text(root, &format!("{path}/memory.stat"));
        let cache = cache.and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix(files.cache))?;
            line.trim().parse::<u64>().ok()
        });
        let used = number(files.usage)
            .unwrap_or(0)
            .saturating_sub(cache.unwrap_or(0));
        allowed.total_bytes = limit;
        allowed.free_bytes = allowed.free_bytes.min(limit.saturating_sub(used));
        allowed.is_limited = true;
    }
}
