//! Resolving a path piece by piece where `openat2` is missing.

use agentos_testkit::repo::{make_dir, make_link, write_file};

use super::*;

#[test]
fn without_openat2_links_are_refused_as_with_it() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    make_dir(&top.join("a/b"));
    write_file(&top.join("file"), "x");
    make_link(&top.join("link"), "a");
    let folder = rustix::fs::open(top, folder_flags(), Mode::empty()).unwrap();
    let plainly = |name: &str| open_plainly(folder.as_fd(), OsStr::new(name), folder_flags());
    let quickly = |name: &str| open_one(folder.as_fd(), OsStr::new(name), folder_flags());
    for open in [&plainly as &dyn Fn(&str) -> _, &quickly] {
        assert!(open("a").is_ok());
        assert!(matches!(open("link"), Err(Errno::LOOP | Errno::NOTDIR)));
        assert!(matches!(open("file"), Err(Errno::NOTDIR)));
        assert!(matches!(open("none"), Err(Errno::NOENT)));
    }
    let beneath = |path: &str| open_folders(folder.as_fd(), Path::new(path));
    assert!(beneath("a/b").is_ok() && beneath("").is_ok());
    assert!(matches!(beneath("link/b"), Err(TreeError::NotAFolder(_))));
    assert!(matches!(beneath("a/../a"), Err(TreeError::BadName(_))));
    assert!(beneath("a/none").unwrap_err().is_missing());
    let deep = "a/".repeat(MAX_DEPTH + 1);
    assert!(matches!(beneath(&deep), Err(TreeError::TooDeep(MAX_DEPTH))));
}
