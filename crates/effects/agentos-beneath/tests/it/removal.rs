//! Removing what nobody else removes.
//!
//! Owns: deep trees, closed folders, links out. Never: races; those are in `race`.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use agentos_beneath::{OpenFolder, TreeError};
use agentos_testkit::repo::{make_dir, make_link, set_mode, write_file};

use crate::support::{is_ordinary_user, limit_descriptors, nest_folders, roomy_folder};

#[test]
fn a_tree_24000_levels_deep_is_removed_with_64_descriptors() {
    let top = roomy_folder();
    make_dir(&top.path().join("run"));
    write_file(&top.path().join("run/beside"), "x");
    nest_folders(&top.path().join("run"), 24_000);
    limit_descriptors(64);
    let folder = OpenFolder::open_root(top.path()).unwrap();
    folder.remove_tree(OsStr::new("run")).unwrap();
    assert!(folder.read_names(1).unwrap().is_empty());
}

#[test]
fn whatever_a_name_stands_for_goes_and_nothing_outside_does() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    write_file(&top.join("outside/kept"), "theirs");
    set_mode(&top.join("outside"), 0o555);
    write_file(&top.join("run/a/b/c/file"), "x");
    make_dir(&top.join("run/empty"));
    make_link(&top.join("run/a/link"), "../../outside");
    make_link(&top.join("link"), "outside");
    make_link(&top.join("dangling"), "nowhere");
    write_file(&top.join("file"), "x");
    let folder = OpenFolder::open_root(top).unwrap();
    for name in ["run", "link", "dangling", "file", "never there"] {
        folder.remove_tree(OsStr::new(name)).unwrap();
    }
    assert_eq!(folder.read_names(9).unwrap(), ["outside"]);
    assert_eq!(std::fs::read(top.join("outside/kept")).unwrap(), b"theirs");
    let mode = std::fs::metadata(top.join("outside"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o555);
    set_mode(&top.join("outside"), 0o755);
}

#[test]
fn many_folders_in_one_are_removed_in_several_listings() {
    let top = roomy_folder();
    for number in 0..20_000 {
        make_dir(&top.path().join(format!("{number}")));
    }
    let above = OpenFolder::open_root(top.path().parent().unwrap()).unwrap();
    above.remove_tree(top.path().file_name().unwrap()).unwrap();
    assert!(!top.path().exists());
}

#[test]
fn folders_that_nobody_may_enter_are_removed() {
    if !is_ordinary_user("removal::folders_that_nobody_may_enter_are_removed") {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let run = top.path().join("run");
    for (number, mode) in [0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600]
        .into_iter()
        .enumerate()
    {
        let closed = run.join(format!("above/{number}"));
        write_file(&closed.join("below/file"), "x");
        set_mode(&closed.join("below"), mode);
        set_mode(&closed, mode);
    }
    set_mode(&run.join("above"), 0o000);
    let folder = OpenFolder::open_root(top.path()).unwrap();
    folder.remove_tree(OsStr::new("run")).unwrap();
    assert!(!run.exists());
}

#[test]
fn what_cannot_be_removed_is_named_and_the_rest_goes() {
    if !is_ordinary_user("removal::what_cannot_be_removed_is_named_and_the_rest_goes") {
        return;
    }
    // The parent folder forbids it: its mode is not ours to change, since it is not part of the tree.
    let top = tempfile::tempdir().unwrap();
    write_file(&top.path().join("run/a/file"), "x");
    set_mode(top.path(), 0o500);
    let folder = OpenFolder::open_root(top.path()).unwrap();
    let error = folder.remove_tree(OsStr::new("run")).unwrap_err();
    set_mode(top.path(), 0o700);
    assert!(
        matches!(error, TreeError::Io { ref name, .. } if name == "run"),
        "{error}"
    );
    assert_eq!(
        folder
            .open_folder(OsStr::new("run"))
            .unwrap()
            .read_names(9)
            .unwrap(),
        Vec::<&str>::new()
    );
}
