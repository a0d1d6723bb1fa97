//! Repositories with settings and layouts of their own: landing works as git would, or is refused by name.

use agentos_executor::{Repository, TargetSpec};
use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{Sink, accept, assert_sound, change, example, land, land_clean, land_in, text};

#[test]
fn settings_about_names_do_not_hinder_a_landing() {
    for (name, value) in [
        ("core.ignorecase", "true"),
        ("core.protectNTFS", "true"),
        ("core.protectHFS", "true"),
        ("core.filemode", "false"),
        ("core.symlinks", "false"),
        ("core.logAllRefUpdates", "false"),
        ("core.precomposeUnicode", "true"),
        ("core.untrackedCache", "true"),
        ("index.version", "4"),
    ] {
        let repo = example();
        repo.git(&["config", name, value]);
        repo.write("z.txt", "z\n");
        repo.commit_all("written with the setting");
        land_clean(&repo, &[("a.txt", text("x\n")), ("New/File.txt", text("n\n"))]);
    }
}

#[test]
fn input_is_converted_by_git_alone_and_needs_no_conversion_here() {
    let repo = example();
    repo.git(&["config", "core.autocrlf", "input"]);
    land_clean(&repo, &[("a.txt", text("one\nTWO\n"))]);
}

#[test]
fn objects_may_be_borrowed_from_another_repository() {
    let repo = example();
    let dir = repo.outside().join("borrower");
    let to = dir.to_str().unwrap();
    repo.git(&["clone", "--quiet", "--shared", ".", to]);
    let borrower = Repository::discover(&dir).unwrap();
    let before = repo.git(&["count-objects"]);
    let mut sink = Sink(accept);
    land_in(
        &borrower,
        &TargetSpec::CurrentBranch,
        &[("a.txt", text("x\n"))],
        &mut sink,
    )
    .unwrap();
    assert_eq!(repo.git_in(&dir, &["status", "--porcelain"]), "");
    repo.git_in(&dir, &["fsck", "--strict"]);
    assert_eq!(
        repo.git(&["count-objects"]),
        before,
        "nothing is written to the lender"
    );
}

#[test]
fn nothing_lands_in_a_submodule() {
    let repo = example();
    let library = TestRepo::new();
    library.write("lib.txt", "lib\n");
    library.commit_all("library");
    let allow = ["-c", "protocol.file.allow=always"];
    let from = library.path().to_str().unwrap();
    repo.git(&[&allow[..], &["submodule", "--quiet", "add", from, "lib"]].concat());
    repo.commit_all("a submodule");
    for path in ["lib", "lib/lib.txt", "lib/new.txt"] {
        for spec in [TargetSpec::CurrentBranch, TargetSpec::Branch("topic".to_owned())] {
            let error = land(&repo, &spec, &[(path, text("x\n"))]).unwrap_err();
            assert_eq!(error.code(), "stale", "{path}: {error}");
        }
    }
    assert_eq!(repo.status(), "");
    // Beside it, a change lands and the submodule stays as it is.
    land_clean(&repo, &[("a.txt", text("x\n"))]);
}

#[test]
fn a_young_file_that_somebody_changed_is_still_seen_as_changed() {
    // Same size, and as young as the index: only its content tells. The new index must not hide it.
    let repo = example();
    repo.write("young.txt", "aaaa\n");
    repo.git(&["add", "young.txt"]);
    repo.write("young.txt", "bbbb\n");
    land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap();
    assert_eq!(repo.status(), "AM young.txt");
    assert_sound(&repo);
}

#[test]
fn a_detached_work_tree_lands_on_a_branch_or_without_a_commit() {
    let repo = example();
    repo.git(&["checkout", "--quiet", "--detach"]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    land(
        &repo,
        &TargetSpec::Branch("topic".to_owned()),
        &[("a.txt", text("x\n"))],
    )
    .unwrap();
    land(&repo, &TargetSpec::WorkTreeOnly, &[("a.txt", text("x\n"))]).unwrap();
    assert_eq!(
        (repo.status(), repo.git(&["rev-parse", "HEAD"])),
        ("M  a.txt".to_owned(), head)
    );
}

#[test]
fn a_change_made_for_one_work_tree_does_not_land_in_another() {
    let repo = example();
    let linked = repo.outside().join("linked");
    let to = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", "-b", "side", to]);
    write_file(&linked.join("a.txt"), "mine\n");
    let here = Repository::discover(repo.path()).unwrap();
    let there = Repository::discover(&linked).unwrap();
    let target = here.resolve(&TargetSpec::CurrentBranch).unwrap();
    let change = change(&here, &target, &[("a.txt", text("x\n"))]);
    let approved = crate::support::approved(change, &target);
    let error = there
        .land(approved, &crate::support::plan(&target), &mut Sink(accept))
        .unwrap_err();
    assert_eq!(error.code(), "base-moved");
    assert_eq!(agentos_testkit::repo::read_file(&linked.join("a.txt")), b"mine\n");
}
