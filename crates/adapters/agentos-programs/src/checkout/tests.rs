//! Which paths of the working tree may be shared with a program.

use agentos_testkit::repo::{make_dir, make_link, write_file};

use super::*;

#[test]
fn a_path_through_a_link_or_a_file_is_not_shared() {
    let files = tempfile::tempdir().unwrap();
    make_dir(&files.path().join("folder"));
    write_file(&files.path().join("file"), "x");
    make_link(&files.path().join("link"), "folder");
    let cases = [
        ("folder", false),
        ("folder/new", false),
        ("new/deep", false),
        ("link", true),
        ("link/new", true),
        ("file/new", true),
        ("../elsewhere", true),
        ("/elsewhere", true),
    ];
    for (name, expected) in cases {
        assert_eq!(is_below_link(files.path(), Path::new(name)), expected, "{name}");
    }
}
