//! Builds the root file system of a confined process: the system's folders read-only, its own folders, nothing else.
//!
//! *Outside* means the machine's file system as this program sees it. To *show* a place is to bind-mount it into the new
//! root. These are steps 8 (`build_common`) and 11 (`finish`) of the table in `stage`.
//!
//! Owns: the list of system folders, and every mount. Never: shows a home folder, `/run`, `/tmp` or a socket of the
//! outside unless the launch spec names it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, umask};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{chdir, pivot_root};

use super::StageRefusal;
use super::cover::{find_covers, find_hidden};
use crate::launch_spec::{LaunchSpec, OverlayMount};

/// Folders of programs and libraries.
pub(super) const SYSTEM: &[&str] = &[
    "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin", "/usr",
];

/// Entries of `/etc` that programs need. Keys, password hashes and settings of services are not among them.
const ETC: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "fonts",
    "group",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "pki",
    "protocols",
    "services",
    "ssl",
    "terminfo",
    "timezone",
];

/// Devices of `/dev` that a tool may use: they keep no data.
pub(super) const DEVICES: &[&str] = &["full", "null", "random", "urandom", "zero"];

/// Files of `/proc` about the machine and its user instead of the processes that a tool can see: kernel keys with
/// their descriptions (keyrings(7)), and what containers hide too (OCI runtime specification, `maskedPaths`).
const HIDDEN: &[&str] = &[
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "latency_stats",
    "sched_debug",
    "sysrq-trigger",
    "timer_list",
];

/// Maximum System V shared memory in pages: 256 MiB if a page has 4 KiB.
const SHARED_PAGES: &str = "65536";

/// Links in `/dev`: target and path.
const LINKS: &[(&str, &str)] = &[
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
];

const NONE: Option<&str> = None;

/// Path of the process list. The outside's list is never shown.
const PROCESSES: &str = "/proc";
/// Path at which the new root is mounted first, until it is moved. Every system has this folder, and nothing below it
/// is needed before the move.
const BUILD_PATH: &str = PROCESSES;

/// New root under construction. Until [`NewRoot::finish`] ends, relative paths lead into the new root, which is the
/// current folder, and absolute paths lead to the outside.
pub(super) struct NewRoot {
    /// Mount points of the outside. They cannot change any more, because this process has its own mount namespace.
    outside: Vec<PathBuf>,
}

impl NewRoot {
    /// Builds the part of the root that no launch spec changes.
    #[expect(
        clippy::disallowed_methods,
        reason = "the root is built before the tool is started"
    )]
    pub(super) fn build_common() -> Result<Self, String> {
        let top = Path::new("/");
        // The tool runs as another user and has to pass through the folders created below, whatever umask this
        // program was started with.
        umask(Mode::from_bits_truncate(0o022));
        // Otherwise every mount below would also appear outside (mount_namespaces(7), shared subtrees).
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(NONE, top, NONE, private, NONE).map_err(failed("the mounts cannot be made private", top))?;
        let root = Self {
            outside: read_mounts()?,
        };
        let making = Path::new(BUILD_PATH);
        mount_tmpfs(making, "mode=755,size=1m")?;
        chdir(making).map_err(failed("cannot go to", making))?;
        // Moved, because at `/proc` it would hide the outside's `/proc`. At `/` it hides nothing from this process: an
        // absolute path begins at the process's root, which is still the old one below this mount.
        mount(Some("."), top, NONE, MsFlags::MS_MOVE, NONE)
            .map_err(failed("the new root cannot be moved to", top))?;
        for place in SYSTEM {
            root.show_system_folder(Path::new(place))?;
        }
        for name in ETC {
            let place = Path::new("/etc").join(name);
            if place.exists() {
                root.show_place(&place, &place, true)?;
            }
        }
        create_devices()?;
        let proc = path_inside(Path::new(PROCESSES));
        create_folders(proc)?;
        let closed = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), proc, Some("proc"), closed, NONE)
            .map_err(failed("no `/proc` of its own", proc))?;
        hide_machine(proc)?;
        limit_shared_memory(proc);
        Ok(root)
    }

    /// Adds what a launch spec names, and makes the result the root of this process.
    pub(super) fn finish(&self, spec: &LaunchSpec) -> Result<(), StageRefusal> {
        let is_in_runs = |place: &PathBuf| spec.runs.as_ref().is_some_and(|runs| place.starts_with(runs));
        let (in_runs, readable): (Vec<_>, Vec<_>) = spec.readable.iter().cloned().partition(is_in_runs);
        let mut shown = select_unshown(&readable);
        for place in &shown {
            self.show_place(place, place, true)?;
        }
        if let Some(runs) = &spec.runs {
            let tool = spec.identity.map(|identity| identity.tool);
            shown.extend(SYSTEM.iter().map(PathBuf::from));
            let covers = find_covers(&shown, runs, tool);
            covers.iter().try_for_each(|place| cover_folder(place))?;
            for place in find_hidden(&readable, &covers, runs) {
                self.show_place(&place, &place, true)?;
            }
        }
        // Shown after the covers, which would hide them: this run's own places in the folder of all runs, such as the git
        // objects of its copy.
        for place in &in_runs {
            self.show_place(place, place, true)?;
        }
        // A later mount hides an earlier one at the same path or below it. Writable folders are mounted after readable
        // ones, so that a writable folder inside a readable one is writable.
        for place in &spec.writable {
            self.show_place(place, place, false)?;
        }
        for overlay in &spec.overlays {
            mount_overlay(overlay).map_err(StageRefusal::Overlay)?;
        }
        for share in &spec.shares {
            refuse_links(path_inside(&share.at))?;
            self.show_place(&share.from, &share.at, true)?;
        }
        Ok(become_root()?)
    }

    /// Shows a system folder. If it is a link, as `/bin` is on systems with a merged `/usr`, creates the same link.
    #[expect(
        clippy::disallowed_methods,
        reason = "the root is built before the tool is started"
    )]
    fn show_system_folder(&self, place: &Path) -> Result<(), String> {
        let Ok(found) = fs::symlink_metadata(place) else {
            return Ok(());
        };
        if found.is_symlink() {
            let to = fs::read_link(place).map_err(failed("cannot read the link", place))?;
            return symlink(to, path_inside(place)).map_err(failed("cannot make the link", place));
        }
        self.show_place(place, place, true)
    }

    /// Shows a file or folder of the outside at `at`, together with everything that is mounted below it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the root is built before the tool is started"
    )]
    fn show_place(&self, from: &Path, at: &Path, read_only: bool) -> Result<(), String> {
        let at = path_inside(at);
        let is_folder = from.is_dir();
        let below = if is_folder {
            self.mounts_below(from)?
        } else {
            Vec::new()
        };
        create_mount_point(at, is_folder)?;
        let all = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(from), at, NONE, all, NONE).map_err(failed("cannot show", from))?;
        // A remount changes one mount only, so each mount below needs its own.
        restrict_mount(at, read_only)?;
        below
            .iter()
            .try_for_each(|rest| restrict_mount(&at.join(rest), read_only))
    }

    /// Lists what is mounted below a folder, by path relative to it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the root is built before the tool is started"
    )]
    fn mounts_below(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let real = folder.canonicalize().map_err(failed("cannot find", folder))?;
        if real.parent().is_none() {
            // The new root is mounted over `/`, so `/` shown as a whole would contain the new root itself.
            return Err(format!(
                "`{}` is the root of the file system and is never shown as a whole",
                folder.display()
            ));
        }
        let places = self.outside.iter();
        let below = places.filter_map(|place| place.strip_prefix(&real).ok());
        let below = below.filter(|rest| !rest.as_os_str().is_empty());
        Ok(below.map(Path::to_owned).collect())
    }
}

/// Selects the readable places that are not shown yet: those outside the system folders, `/proc` and each other.
/// Sorted, so that a place comes after the one that contains it.
fn select_unshown(readable: &[PathBuf]) -> Vec<PathBuf> {
    let shown = |place: &Path| {
        let mut own = SYSTEM.iter().chain([&PROCESSES]);
        own.any(|own| place.starts_with(own))
    };
    let each = readable.iter().flat_map(|place| match place.parent() {
        Some(_) => vec![place.clone()],
        None => folders_of_root(),
    });
    let mut all: Vec<PathBuf> = each.filter(|place| !shown(place)).collect();
    all.sort();
    all.dedup_by(|later, earlier| later.starts_with(&**earlier));
    all
}

/// Lists the folders of the outside's root, except `/dev`. They are shown one by one, because the new root is mounted
/// over `/` itself.
#[expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]
fn folders_of_root() -> Vec<PathBuf> {
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let places = folders.map(|entry| entry.path());
    places.filter(|place| !place.starts_with("/dev")).collect()
}

/// Makes the current folder the root and detaches the old one.
fn become_root() -> Result<(), String> {
    let top = Path::new("/");
    // With the same folder twice, the old root is mounted over the new one and needs no empty folder of its own. The
    // unmount then removes it (pivot_root(2), "pivot_root(\".\", \".\")").
    pivot_root(".", ".").map_err(failed("cannot become the root:", top))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(failed("the old root cannot be unmounted", top))?;
    chdir(top).map_err(failed("cannot go to", top))?;
    let fixed =
        MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(NONE, top, NONE, fixed, NONE).map_err(failed("cannot be made read-only:", top))
}

/// Creates `/dev` and `/tmp` of the new root.
fn create_devices() -> Result<(), String> {
    for name in DEVICES {
        let place = Path::new("/dev").join(name);
        let here = path_inside(&place);
        create_mount_point(here, false)?;
        mount(Some(&place), here, NONE, MsFlags::MS_BIND, NONE)
            .map_err(failed("cannot show the device", &place))?;
    }
    for (to, name) in LINKS {
        symlink(to, name).map_err(failed("cannot make the link", Path::new(name)))?;
    }
    let shared = Path::new("dev/shm");
    create_folders(shared)?;
    mount_tmpfs(shared, "mode=1777,size=64m")?;
    let temporary = Path::new("tmp");
    create_folders(temporary)?;
    mount_tmpfs(temporary, "mode=1777,size=512m")
}

/// Mounts an empty folder over this folder of the new root, if it is visible there.
#[expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]
fn cover_folder(place: &Path) -> Result<(), String> {
    let at = path_inside(place);
    match at.symlink_metadata() {
        Ok(found) if found.is_dir() => mount_tmpfs(at, "mode=755,size=1m"),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Limits the System V shared memory of this IPC namespace, which belongs to no process and no folder of the run
/// (shmget(2), proc_sys_kernel(5): `shmall`, in pages). Kernels before 5.19 do not let root of a user namespace set
/// it; there the machine's limits apply.
fn limit_shared_memory(proc: &Path) {
    let _ = fs::write(proc.join("sys/kernel/shmall"), SHARED_PAGES);
}

/// Mounts an empty file over each of [`HIDDEN`] that this kernel has.
#[expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]
fn hide_machine(proc: &Path) -> Result<(), String> {
    let empty = Path::new("dev/null");
    for name in HIDDEN {
        let place = proc.join(name);
        if place.symlink_metadata().is_ok() {
            mount(Some(empty), &place, NONE, MsFlags::MS_BIND, NONE)
                .map_err(failed("cannot hide", &place))?;
        }
    }
    Ok(())
}

fn mount_tmpfs(at: &Path, options: &str) -> Result<(), String> {
    let closed = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), at, Some("tmpfs"), closed, Some(options)).map_err(failed("cannot mount at", at))
}

/// Makes one mount `nosuid` and `nodev`, and read-only if requested. Flags that the mount has outside may be locked, so they
/// are kept: without a locked flag, the kernel refuses the change (mount_namespaces(7)).
fn restrict_mount(at: &Path, read_only: bool) -> Result<(), String> {
    let has = statvfs(at).map_err(failed("cannot look at", at))?.flags();
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let kept = [
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
    ];
    for (set, keep) in kept {
        if has.contains(set) {
            flags |= keep;
        }
    }
    if read_only {
        flags |= MsFlags::MS_RDONLY;
    }
    mount(NONE, at, NONE, flags, NONE).map_err(failed("cannot take rights from", at))
}

/// Reads the mount points from `/proc/self/mountinfo` (proc_pid_mountinfo(5): the fifth field).
#[expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]
fn read_mounts() -> Result<Vec<PathBuf>, String> {
    let list = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(list).map_err(failed("cannot read", list))?;
    let places = text.lines().filter_map(|line| line.split(' ').nth(4));
    Ok(places.map(decode_path).collect())
}

/// Decodes a path of mountinfo, in which spaces, tabs, line feeds and backslashes are written as three octal digits.
fn decode_path(text: &str) -> PathBuf {
    let replaced = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    let mut whole = text.to_owned();
    for (code, character) in replaced {
        whole = whole.replace(code, character);
    }
    PathBuf::from(whole)
}

fn mount_overlay(overlay: &OverlayMount) -> Result<(), String> {
    let at = path_inside(&overlay.at);
    // A later overlay may lie inside an earlier one, whose files are the repository's.
    refuse_links(at)?;
    create_folders(at)?;
    // `userxattr`: without it, deleting or renaming a folder fails in a user namespace. `volatile`: the files need not
    // survive a crash; without it, the unmount at the end of every run would sync the whole underlying file system.
    let options = format!(
        "userxattr,volatile,lowerdir={},upperdir={},workdir={}",
        escape_path(&overlay.lower)?,
        escape_path(&overlay.upper)?,
        escape_path(&overlay.work)?
    );
    let closed = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(
        Some("overlay"),
        at,
        Some("overlay"),
        closed,
        Some(options.as_str()),
    )
    .map_err(failed("cannot overlay", &overlay.lower))
}

/// Escapes a path for an option of overlayfs.
fn escape_path(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or("an overlay's path is not text")?;
    Ok(text.replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:"))
}

/// Returns the path relative to the new root, which is the current folder while it is built.
fn path_inside(place: &Path) -> &Path {
    place.strip_prefix("/").unwrap_or(place)
}

/// Refuses a place if it or a folder above it is a link: an overlay shows the repository's files, whose links may
/// lead anywhere, even to the outside as long as the old root is mounted.
#[expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]
fn refuse_links(at: &Path) -> Result<(), String> {
    let is_link = |place: &&Path| fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink());
    match at.ancestors().find(is_link) {
        Some(link) => Err(format!("nothing is shown through the link `/{}`", link.display())),
        None => Ok(()),
    }
}

/// Creates a mount point: an empty file or folder.
#[expect(
    clippy::disallowed_methods,
    reason = "the root is built before the tool is started"
)]
fn create_mount_point(at: &Path, is_folder: bool) -> Result<(), String> {
    if is_folder {
        return create_folders(at);
    }
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(above) = at.parent() {
        create_folders(above)?;
    }
    fs::write(at, "").map_err(failed("cannot make", at))
}

fn create_folders(at: &Path) -> Result<(), String> {
    fs::create_dir_all(at).map_err(failed("cannot make", at))
}

fn failed<E: std::fmt::Display>(what: &str, place: &Path) -> impl FnOnce(E) -> String {
    let start = format!("{what} `{}`", place.display());
    move |error| format!("{start}: {error}")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test looks at folders of its own")]
mod tests {
    use super::*;

    #[test]
    fn what_another_place_shows_needs_no_mount_of_its_own() {
        let readable = ["/a/b", "/usr/local/x", "/a", "/ab", "/proc/1", "/c/d", "/a/b/c"].map(PathBuf::from);
        assert_eq!(
            select_unshown(&readable),
            ["/a", "/ab", "/c/d"].map(PathBuf::from)
        );
        let whole = select_unshown(&["/".into()]);
        assert!(whole.contains(&"/etc".into()), "{whole:?}");
        for own in ["/", "/dev", "/proc", "/usr"] {
            assert!(!whole.contains(&own.into()), "{own}: {whole:?}");
        }
    }

    #[test]
    fn nothing_is_shown_through_a_link() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (real, link) = (top.join("real/deep"), top.join("link"));
        fs::create_dir_all(&real).unwrap();
        symlink(&real, &link).unwrap();
        for (place, is_straight) in [
            (real.join("new/er"), true),
            (link.clone(), false),
            (link.join("new"), false),
        ] {
            assert_eq!(refuse_links(&place).is_ok(), is_straight, "{}", place.display());
        }
    }
}
