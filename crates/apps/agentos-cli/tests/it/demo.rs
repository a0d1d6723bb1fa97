//! `agentos demo`: the newcomer's first minute.

use crate::support::agentos;
use agentos_testkit::repo::TestRepo;

#[test]
fn the_demo_shows_the_whole_way_and_ends_with_success() {
    let holder = TestRepo::new();
    let dir = holder.outside().join("demo");
    let dir = dir.to_str().unwrap();
    let output = agentos().run(&["demo", "--dir", dir]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    for station in [
        "landed",
        "path-escape",
        "git-dir",
        "consent needed",
        "verified",
        "changed",
        "evidence show",
        "undo",
    ] {
        assert!(
            output.stdout.contains(station),
            "`{station}` is missing\n{output}"
        );
    }
    // The story is true: the repository is there, fixed, clean, and its evidence holds.
    let lib = holder.git_in(std::path::Path::new(dir), &["show", "HEAD:src/lib.rs"]);
    assert!(lib.contains("sum += item.cents * item.count;"));
    assert_eq!(
        holder.git_in(std::path::Path::new(dir), &["status", "--porcelain"]),
        ""
    );
    let output = agentos().run(&["evidence", "verify", "--repo", dir]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(!holder.outside().join("outside.txt").exists());
}

#[test]
fn the_demo_does_not_write_into_a_folder_that_exists() {
    let holder = TestRepo::new();
    let output = agentos()
        .run(&["demo", "--dir", holder.path().to_str().unwrap()])
        .unwrap();
    assert_eq!(output.code, Some(2), "{output}");
}
