//! The folders of runs, with everything that a tool or a foreign repository may have put there.

#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn mode(place: &Path) -> u32 {
    fs::symlink_metadata(place).unwrap().permissions().mode() & 0o777
}

fn names(place: &Path) -> Vec<OsString> {
    OpenFolder::open_root(place).unwrap().read_names(99).unwrap()
}

/// Puts something into a folder from which it cannot be removed; returns false where root removes it all the same.
fn pin(folder: &Path) -> bool {
    fs::write(folder.join("pinned"), "x").unwrap();
    let set = std::process::Command::new("chattr")
        .arg("+i")
        .arg(folder.join("pinned"))
        .status();
    set.is_ok_and(|status| status.success())
}

fn unpin(folder: &Path) {
    let set = std::process::Command::new("chattr")
        .arg("-i")
        .arg(folder.join("pinned"))
        .status();
    assert!(set.unwrap().success());
}

/// Users of a run, as the sandbox leases them.
fn lease() -> Option<Arc<IdentityLease>> {
    IdentityLease::take().unwrap().map(Arc::new)
}

#[test]
fn a_candidates_file_takes_the_place_of_what_is_there_and_never_goes_through_a_link() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (folder, outside) = (folder.path(), outside.path());
    fs::write(outside.join("kept"), "theirs").unwrap();
    symlink(outside, folder.join("folder")).unwrap();
    symlink(outside.join("kept"), folder.join("file")).unwrap();
    fs::write(folder.join("becomes"), "a folder").unwrap();
    fs::create_dir_all(folder.join("was/deep")).unwrap();
    for name in ["folder/x", "file", "becomes/x", "was", "new/deep/x"] {
        replace_file(folder, Path::new(name), name.as_bytes(), name == "was").unwrap();
        assert_eq!(fs::read(folder.join(name)).unwrap(), name.as_bytes(), "{name}");
        assert!(
            fs::symlink_metadata(folder.join(name)).unwrap().is_file(),
            "{name}"
        );
    }
    assert_eq!(fs::read(outside.join("kept")).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
    assert_eq!(
        (mode(&folder.join("was")), mode(&folder.join("file"))),
        (0o700, 0o600)
    );
}

#[test]
fn nothing_is_placed_hidden_or_dropped_through_a_link() {
    let top = tempfile::tempdir().unwrap();
    let (folder, outside) = (top.path().join("tool"), top.path().join("outside"));
    for made in [&folder, &outside] {
        fs::create_dir_all(made).unwrap();
    }
    fs::write(outside.join("kept"), "theirs").unwrap();
    symlink("../outside", folder.join("link")).unwrap();
    symlink("tool", top.path().join("root")).unwrap();
    let through = Path::new("link/kept");
    assert!(put_file(&folder, through, b"mine").is_err());
    assert!(put_file(&folder, Path::new("link/new"), b"mine").is_err());
    assert!(put_file(&folder, Path::new("../outside/new"), b"mine").is_err());
    assert!(put_file(&top.path().join("root"), Path::new("new"), b"mine").is_err());
    assert!(hide_file(&folder, through).is_err());
    remove_file(&folder, through).unwrap();
    assert_eq!(names(&outside), ["kept"]);
    assert_eq!(names(&folder), ["link"]);
}

#[test]
fn a_runs_folder_is_ours_alone_and_only_the_tools_folders_are_the_tools() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = RunFolders::new(parent.path(), "a.1", lease()).unwrap();
    let run = parent.path().join("run-a.1");
    assert_eq!((mode(parent.path()), mode(&run)), (0o700, 0o700));
    assert_eq!(
        names(&run),
        ["changes", "copy", "doors", "home", "kernel", "tmp", "views"]
    );
    let owner = |place: &Path| fs::symlink_metadata(place).unwrap().uid();
    let us = owner(&run);
    let keeper = scratch.keeper().unwrap_or(us);
    assert_eq!((mode(&scratch.doors()), owner(&scratch.doors())), (0o700, keeper));
    let tool = scratch.identity().map_or(us, |identity| identity.tool);
    for folder in [
        scratch.changes(),
        scratch.copy(),
        scratch.home(),
        scratch.kernel(),
        scratch.tmp(),
    ] {
        assert_eq!(owner(&folder), tool, "{}", folder.display());
    }
    put_file(&scratch.home(), Path::new(".a/key"), b"secret").unwrap();
    for name in [".a", ".a/key"] {
        assert_eq!(owner(&scratch.home().join(name)), tool, "{name}");
    }
    drop(scratch);
    assert!(names(parent.path()).is_empty());
}

#[test]
fn a_run_that_is_a_link_is_left_alone_with_what_it_leads_to() {
    let top = tempfile::tempdir().unwrap();
    let (parent, outside) = (top.path().join("copies"), top.path().join("outside"));
    fs::create_dir_all(outside.join("below")).unwrap();
    fs::create_dir_all(&parent).unwrap();
    symlink("../outside", parent.join("run-x")).unwrap();
    symlink("../outside/new", parent.join("run-y.lock")).unwrap();
    fs::create_dir_all(parent.join("run-y")).unwrap();
    fs::write(parent.join("run-x.lock"), "").unwrap();
    for place in [&outside.join("below"), &outside, &parent] {
        fs::set_permissions(place, fs::Permissions::from_mode(0o555)).unwrap();
    }
    drop(RunFolders::new(&parent, "a.1", lease()).unwrap());
    assert_eq!((mode(&outside), mode(&outside.join("below"))), (0o555, 0o555));
    assert_eq!(names(&outside), ["below"]);
    assert!(fs::symlink_metadata(parent.join("run-x")).unwrap().is_symlink());
    for place in [&outside, &outside.join("below")] {
        fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_parent_folder_that_is_a_link_is_refused() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("elsewhere/run-x/home")).unwrap();
    symlink("elsewhere", top.path().join("copies")).unwrap();
    let error = RunFolders::new(&top.path().join("copies"), "a.1", lease()).unwrap_err();
    assert!(
        error.to_string().ends_with("is a link or not a folder"),
        "{error}"
    );
    assert!(find_leftovers(&top.path().join("copies")).is_err());
    assert_eq!(names(&top.path().join("elsewhere")), ["run-x"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_parent_folder_of_somebody_else_is_refused_and_one_given_to_tools_is_taken_back() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can make a folder somebody else's");
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let parent = top.path().join("copies");
    fs::create_dir_all(&parent).unwrap();
    std::os::unix::fs::chown(&parent, Some(4242), Some(4242)).unwrap();
    let error = RunFolders::new(&parent, "a.1", lease()).unwrap_err();
    assert!(error.to_string().ends_with("belongs to another user"), "{error}");
}

#[test]
fn leftovers_of_dead_runs_are_listed_and_swept_and_those_of_live_ones_are_not() {
    let parent = tempfile::tempdir().unwrap();
    let live = RunFolders::new(parent.path(), "live.1", lease()).unwrap();
    let at = |name: &str| parent.path().join(name);
    for (run, file) in [
        ("run-dead.1", "home/.creds"),
        ("run-old", "tmp/x"),
        ("run-old2", "home/.creds"),
    ] {
        fs::create_dir_all(at(run).join(file).parent().unwrap()).unwrap();
        fs::write(at(run).join(file), "secret").unwrap();
    }
    fs::write(at("run-dead.1.lock"), "").unwrap();
    let found = find_leftovers(parent.path()).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|left| (left.path.clone(), left.holds_home))
        .collect();
    let expected = [("run-dead.1", true), ("run-old", false), ("run-old2", true)];
    assert_eq!(found, expected.map(|(name, home)| (at(name), home)));
    drop(RunFolders::new(parent.path(), "next.1", lease()).unwrap());
    assert_eq!(names(parent.path()), ["run-live.1", "run-live.1.lock"]);
    assert_eq!(find_leftovers(parent.path()).unwrap(), []);
    drop(live);
    assert_eq!(find_leftovers(&at("not there")).unwrap(), []);
}

#[test]
fn the_home_goes_and_the_lock_stays_while_the_folder_cannot_be_removed() {
    let parent = tempfile::tempdir().unwrap();
    let scratch = RunFolders::new(parent.path(), "a.1", lease()).unwrap();
    put_file(&scratch.home(), Path::new("key"), b"secret").unwrap();
    let (run, changes) = (parent.path().join("run-a.1"), scratch.changes());
    if !pin(&changes) {
        eprintln!("skipped: no file can be made immutable here");
        return;
    }
    drop(scratch);
    assert_eq!(names(parent.path()), ["run-a.1", "run-a.1.lock"]);
    assert!(!run.join("home").exists());
    let left = find_leftovers(parent.path()).unwrap();
    assert!(matches!(left.as_slice(), [one] if !one.holds_home), "{left:?}");
    unpin(&changes);
    drop(RunFolders::new(parent.path(), "b.1", lease()).unwrap());
    assert!(names(parent.path()).is_empty());
}

#[test]
fn a_whole_copy_is_filled_with_links_as_links() {
    let (parent, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir_all(files.path().join("a/b")).unwrap();
    fs::write(files.path().join("a/b/c"), "text").unwrap();
    symlink("/etc/passwd", files.path().join("link")).unwrap();
    let scratch = RunFolders::new(parent.path(), "a.1", lease()).unwrap();
    scratch.fill(files.path()).unwrap();
    assert_eq!(fs::read(scratch.copy().join("a/b/c")).unwrap(), b"text");
    assert_eq!(
        fs::read_link(scratch.copy().join("link")).unwrap(),
        Path::new("/etc/passwd")
    );
    let folder = OpenFolder::open_root(&scratch.copy()).unwrap();
    let owner = folder.inspect_entry(OsStr::new("link")).unwrap().unwrap().owner;
    assert_eq!(owner, folder.inspect().unwrap().owner);
}
