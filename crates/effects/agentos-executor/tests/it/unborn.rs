//! The first commit of a branch that has none.

use agentos_executor::{NO_COMMIT, TargetSpec};
use agentos_testkit::repo::TestRepo;

use crate::support::{Sink, accept, assert_sound, land, land_clean, land_in, open, program, text};

#[test]
fn the_first_commit_has_no_parent() {
    let repo = TestRepo::new();
    let receipt = land_clean(&repo, &[("a.txt", text("a\n")), ("dir/run", program("r\n"))]);
    assert_eq!(receipt.parent, NO_COMMIT);
    assert_eq!(
        repo.git(&["rev-list", "--parents", "HEAD"]),
        receipt.commit.unwrap()
    );
    assert_eq!(repo.read("dir/run"), b"r\n");
    // The next one follows it as any other.
    land_clean(&repo, &[("a.txt", None), ("dir/run", None)]);
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn an_orphan_branch_keeps_what_is_staged_and_lands_its_first_commit() {
    let repo = TestRepo::new();
    repo.write("old.txt", "old\n");
    repo.commit_all("first");
    repo.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    let staged = land(&repo, &TargetSpec::CurrentBranch, &[("old.txt", text("new\n"))]);
    assert_eq!(staged.unwrap_err().code(), "dirty-overlap");
    land(&repo, &TargetSpec::CurrentBranch, &[("new.txt", text("new\n"))]).unwrap();
    assert_eq!(repo.status(), "A  old.txt");
    assert_eq!(repo.git(&["ls-tree", "--name-only", "HEAD"]), "new.txt");
    assert_sound(&repo);
}

#[test]
fn without_a_commit_the_branch_stays_unborn() {
    let repo = TestRepo::new();
    land(&repo, &TargetSpec::WorkTreeOnly, &[("a.txt", text("a\n"))]).unwrap();
    assert_eq!(repo.status(), "A  a.txt");
    assert!(!repo.git_ok(&["rev-parse", "--verify", "HEAD"]));
    let dry = TargetSpec::DryRun(Box::new(TargetSpec::CurrentBranch));
    let fresh = TestRepo::new();
    land(&fresh, &dry, &[("b.txt", text("b\n"))]).unwrap();
    assert_eq!(fresh.status(), "");
}

#[test]
fn a_bare_repository_gets_its_first_commit() {
    let repo = TestRepo::bare();
    land(
        &repo,
        &TargetSpec::Branch("main".to_owned()),
        &[("a.txt", text("a\n"))],
    )
    .unwrap();
    assert_eq!(repo.git(&["show", "main:a.txt"]), "a");
}

#[test]
fn a_commit_that_somebody_makes_meanwhile_is_not_replaced() {
    let repo = TestRepo::new();
    let repository = open(&repo);
    let mut sink = Sink(|intent: &_| {
        let empty = repo.git(&["mktree"]);
        let theirs = repo.git(&["commit-tree", &empty, "-m", "theirs"]);
        repo.git(&["update-ref", "refs/heads/main", &theirs]);
        accept(intent)
    });
    let landed = land_in(
        &repository,
        &TargetSpec::CurrentBranch,
        &[("a.txt", text("a\n"))],
        &mut sink,
    );
    assert_eq!(landed.unwrap_err().code(), "base-moved");
    assert_eq!(repo.git(&["log", "--format=%s"]), "theirs");
    assert_sound(&repo);
}
