//! Repositories with settings and layouts of their own: landing works as git would, or is refused by name.

use agentos_executor::{Repository, TargetSpec};
use agentos_testkit::repo::{TestRepo, remove_file, set_mode, set_modified, write_file};

use crate::support::{Sink, accept, assert_sound, change, example, land, land_clean, land_in, program, text};

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
fn a_young_file_that_nobody_changed_is_still_seen_as_unchanged() {
    // Younger than any index. Marked as edited, programs that trust the index, as `git apply --index` does, would
    // refuse to go on; `diff-files` trusts it as well.
    let repo = example();
    repo.write("young.txt", "aaaa\n");
    set_modified(&repo.path().join("young.txt"), 2_000_000_000);
    repo.git(&["add", "young.txt"]);
    repo.git(&["commit", "--quiet", "-m", "young"]);
    land_clean(&repo, &[("a.txt", text("x\n"))]);
    assert_eq!(repo.git(&["diff-files", "--name-only"]), "");
    let staged = repo.git(&["ls-files", "--debug", "young.txt"]);
    assert!(staged.contains("size: 5"), "{staged}");
}

#[test]
fn attributes_that_are_staged_only_count() {
    let repo = example();
    repo.write(".gitattributes", "a.txt ident\n");
    repo.commit_all("attributes");
    remove_file(&repo.path().join(".gitattributes"));
    let refused = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap_err();
    assert_eq!(refused.code(), "filtered-path");
    assert_eq!(repo.status(), " D .gitattributes");
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

#[test]
fn without_trusted_modes_a_change_and_a_change_of_mode_land_all_the_same() {
    let repo = example();
    repo.git(&["config", "core.filemode", "off"]);
    // A disk that cannot keep the bit shows every file as executable.
    set_mode(&repo.path().join("a.txt"), 0o755);
    let receipt = land_clean(&repo, &[("a.txt", text("x\n"))]);
    assert_eq!(receipt.kept, Vec::<String>::new());
    let receipt = land_clean(&repo, &[("a.txt", program("x\n")), ("dir/b.txt", program("b\n"))]);
    assert_eq!(receipt.kept, Vec::<String>::new());
    assert_eq!(repo.git(&["ls-files", "--stage"]).matches("100755").count(), 2);
}

#[test]
fn a_shallow_clone_lands() {
    let repo = example();
    repo.write("a.txt", "second\n");
    repo.commit_all("second");
    let dir = repo.outside().join("shallow");
    let from = format!("file://{}", repo.path().display());
    repo.git(&["clone", "--quiet", "--depth=1", &from, dir.to_str().unwrap()]);
    let shallow = Repository::discover(&dir).unwrap();
    let edits = [("a.txt", text("x\n"))];
    land_in(&shallow, &TargetSpec::CurrentBranch, &edits, &mut Sink(accept)).unwrap();
    assert_eq!(repo.git_in(&dir, &["status", "--porcelain"]), "");
    assert_eq!(repo.git_in(&dir, &["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(shallow.agentos_commits(10).unwrap().len(), 1);
    repo.git_in(&dir, &["fsck", "--strict"]);
}

#[test]
fn replacements_and_grafts_do_not_change_what_is_landed_on() {
    let repo = example();
    let real = repo.git(&["rev-parse", "HEAD"]);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let other = repo.git(&["commit-tree", &tree, "-m", "another story"]);
    repo.git(&["replace", &real, &other]);
    repo.write(".git/info/grafts", format!("{real} {other}\n"));
    let blob = repo.git(&["hash-object", "-w", "dir/b.txt"]);
    repo.git(&["replace", &repo.git(&["rev-parse", "HEAD:a.txt"]), &blob]);
    let receipt = land(&repo, &TargetSpec::CurrentBranch, &[("dir/b.txt", text("x\n"))]).unwrap();
    assert_eq!(receipt.parent, real);
    let plain = |args: &[&str]| repo.git(&[&["--no-replace-objects"], args].concat());
    assert_eq!(
        plain(&["cat-file", "-p", "HEAD"]).lines().nth(1),
        Some(format!("parent {real}").as_str())
    );
    assert_eq!(plain(&["show", "HEAD:a.txt"]), "one\ntwo\nthree");
    assert_eq!(plain(&["diff", "--name-only", "HEAD^", "HEAD"]), "dir/b.txt");
}

#[test]
fn an_index_with_parts_that_only_git_knows_stays_good() {
    let repo = example();
    repo.git(&["config", "core.untrackedCache", "true"]);
    repo.git(&["config", "index.threads", "2"]);
    repo.git(&["update-index", "--untracked-cache"]);
    repo.git(&["status"]);
    land_clean(&repo, &[("a.txt", text("x\n"))]);
    repo.git(&["config", "core.fsmonitor", "false"]);
    repo.git(&["update-index", "--force-write-index"]);
    land_clean(&repo, &[("a.txt", text("y\n"))]);
}
