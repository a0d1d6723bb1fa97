//! What another program does while a change lands.

use agentos_executor::{FailPoints, TargetSpec};
use agentos_testkit::repo::write_file;

use crate::support::{Sink, accept, assert_sound, example, land_in, open, text};

#[test]
fn a_switch_of_branches_under_way_is_seen_and_nothing_is_written() {
    for (place, path, content, expected) in [
        ("index held", ".git/HEAD.lock", "", "head-locked"),
        ("index held", ".git/HEAD", "ref: refs/heads/other\n", "base-moved"),
        ("staged", ".git/HEAD.lock", "", "head-locked"),
        ("staged", ".git/HEAD", "ref: refs/heads/other\n", "base-moved"),
    ] {
        let repo = example();
        repo.git(&["branch", "other"]);
        let head = repo.git(&["rev-parse", "main"]);
        let theirs = repo.path().join(path);
        let fail = FailPoints::meeting(place, move || write_file(&theirs, content));
        let repository = open(&repo).with_fail_points(fail);
        let edits = [("a.txt", text("x\n"))];
        let landed = land_in(&repository, &TargetSpec::CurrentBranch, &edits, &mut Sink(accept));
        assert_eq!(landed.unwrap_err().code(), expected, "{place}");
        assert_eq!(
            (repo.status(), repo.git(&["rev-parse", "main"])),
            (String::new(), head)
        );
        assert_sound(&repo);
    }
}
