//! A boundary that is crossed is seen, and named.

use agentos_executor::{ExecError, Receipt, TargetSpec};
use agentos_testkit::repo::{TestRepo, remove_file, set_mode};

use crate::support::{example, land, open, program, text};

#[test]
fn reading_changes_nothing() {
    let repo = example();
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    let _ = (repo.read("a.txt"), repo.git(&["log", "--oneline"]));
    let after = repository.measure().unwrap();
    assert_eq!(before, after);
    assert!(before.changed_paths(&after, 10).is_empty());
}

#[test]
fn what_git_tidies_up_by_itself_is_no_write() {
    let repo = example();
    repo.git(&["branch", "side"]);
    repo.git(&["update-server-info"]);
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    // As a command of git may start it in the background: it packs refs and objects, and lists them in `info/refs`.
    repo.git(&["commit-graph", "write", "--reachable"]);
    repo.git(&["gc", "--quiet"]);
    repo.git(&["update-server-info", "--force"]);
    assert_eq!(before, repository.measure().unwrap());
}

#[test]
fn a_wide_work_tree_is_seen_as_a_narrow_one_is() {
    let repo = example();
    for number in 0..40 {
        repo.write(&format!("wide{number:02}/deep/file"), "x");
    }
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    assert_eq!(before, repository.measure().unwrap());
    repo.write("wide07/deep/file", "y");
    repo.write("wide31/new", "y");
    let after = repository.measure().unwrap();
    let changed = before.changed_paths(&after, 10);
    assert_eq!(changed, ["wide07/deep/file", "wide31/new"]);
}

#[test]
fn each_kind_of_write_shows_in_its_part() {
    type Write = fn(&TestRepo);
    let cases: [(&str, Write, &str, &[&str]); 14] = [
        ("edit", |r| r.write("a.txt", "x"), "worktree", &["a.txt"]),
        (
            "same bytes",
            |r| r.write("a.txt", "one\ntwo\nthree\n"),
            "worktree",
            &["a.txt"],
        ),
        (
            "new file",
            |r| r.write("dir/n.txt", "x"),
            "worktree",
            &["dir/n.txt"],
        ),
        (
            "new ignored",
            |r| r.write("target/x.o", "x"),
            "worktree",
            &["target/x.o"],
        ),
        (
            "mode",
            |r| set_mode(&r.path().join("a.txt"), 0o755),
            "worktree",
            &["a.txt"],
        ),
        (
            "removed",
            |r| agentos_testkit::repo::remove_file(&r.path().join("dir/b.txt")),
            "worktree",
            &["dir/b.txt"],
        ),
        (
            "staged",
            |r| drop(r.git(&["rm", "--quiet", "--cached", "a.txt"])),
            "index",
            &[],
        ),
        ("branch", |r| drop(r.git(&["branch", "other"])), "refs", &[]),
        ("tag", |r| drop(r.git(&["tag", "t"])), "refs", &[]),
        (
            "switch",
            |r| drop(r.git(&["symbolic-ref", "HEAD", "refs/heads/none"])),
            "head",
            &[],
        ),
        (
            "commit",
            |r| drop(r.git(&["commit", "--quiet", "--allow-empty", "-m", "x"])),
            "head refs",
            &[],
        ),
        (
            "configuration",
            |r| drop(r.git(&["config", "x.y", "z"])),
            "git_files",
            &[],
        ),
        (
            "hook",
            |r| r.write(".git/hooks/post-commit", "x"),
            "git_files",
            &[],
        ),
        (
            "our own state",
            |r| r.write(".git/agentos/tape.jsonl", "x"),
            "",
            &[],
        ),
    ];
    for (name, write, parts, paths) in cases {
        let repo = example();
        let repository = open(&repo);
        let before = repository.measure().unwrap();
        write(&repo);
        let after = repository.measure().unwrap();
        let (b, a) = (before.state(), after.state());
        let differ = [
            ("head", b.head != a.head),
            ("refs", b.refs != a.refs),
            ("index", b.index != a.index),
            ("worktree", b.worktree != a.worktree),
            ("git_files", b.git_files != a.git_files),
        ];
        let found: Vec<&str> = differ
            .iter()
            .filter(|(_, differs)| *differs)
            .map(|(part, _)| *part)
            .collect();
        assert_eq!(found.join(" "), parts, "{name}");
        assert_eq!(before.changed_paths(&after, 10), paths, "{name}");
        assert_eq!(after.changed_paths(&before, 10), paths, "{name}");
    }
}

#[test]
fn no_more_paths_are_named_than_asked_for() {
    let repo = example();
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    for n in 0..20 {
        repo.write(&format!("n{n:02}"), "x");
    }
    let after = repository.measure().unwrap();
    assert_eq!(before.changed_paths(&after, 2), ["n00", "n01"]);
}

#[test]
fn a_bare_repository_can_be_measured() {
    let repo = TestRepo::bare();
    let state = open(&repo).measure().unwrap();
    assert_eq!(state.state().head, "refs/heads/main no commit");
}

/// Lands three files on the branch that is checked out, and removes one.
fn landed(repo: &TestRepo) -> Result<Receipt, ExecError> {
    let edits = [
        ("a.txt", text("other\n")),
        ("new/deep.txt", text("n\n")),
        ("run.sh", program("#!/bin/sh\n")),
        ("dir/b.txt", None),
    ];
    land(repo, &TargetSpec::CurrentBranch, &edits)
}

#[test]
fn a_landing_of_our_own_accounts_for_what_it_did_and_for_nothing_else() {
    type Write = fn(&TestRepo);
    let cases: [(&str, Write, bool); 12] = [
        ("nothing else", |_| {}, true),
        ("the same file, edited", |r| r.write("a.txt", "mine\n"), false),
        ("another file", |r| r.write("c.txt", "x"), false),
        (
            "a file in its new folder",
            |r| r.write("new/other.txt", "x"),
            false,
        ),
        (
            "its new file is gone",
            |r| remove_file(&r.path().join("run.sh")),
            false,
        ),
        ("its mode", |r| set_mode(&r.path().join("a.txt"), 0o755), false),
        ("a removed file is back", |r| r.write("dir/b.txt", "b\n"), false),
        ("a branch", |r| drop(r.git(&["branch", "side"])), false),
        (
            "a commit on top",
            |r| drop(r.git(&["commit", "--allow-empty", "-qm", "theirs"])),
            false,
        ),
        (
            "staged content",
            |r| {
                let id = r.git(&["hash-object", "-w", "new/deep.txt"]);
                let entry = format!("100644,{},a.txt", id.trim());
                r.git(&["update-index", "--cacheinfo", &entry]);
            },
            false,
        ),
        (
            "a setting",
            |r| drop(r.git(&["config", "core.pager", "x"])),
            false,
        ),
        ("a hook", |r| r.write(".git/hooks/post-commit", "x"), false),
    ];
    for (what, write, expected) in cases {
        let repo = example();
        let repository = open(&repo);
        let before = repository.measure().unwrap();
        let receipt = landed(&repo).unwrap();
        write(&repo);
        let after = repository.measure_settled().unwrap();
        assert_ne!(before.state(), after.state(), "{what}");
        let receipts = [receipt];
        assert_eq!(
            repository.accounts_for(&before, &after, &receipts),
            expected,
            "{what}"
        );
        assert!(!repository.accounts_for(&before, &after, &[]), "{what}");
    }
}

#[test]
fn landings_on_each_other_account_for_their_sum_in_their_order_alone() {
    let repo = example();
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    let first = landed(&repo).unwrap();
    let edits = [("a.txt", text("again\n"))];
    let second = land(&repo, &TargetSpec::CurrentBranch, &edits).unwrap();
    let side = TargetSpec::Branch("side".to_owned());
    let third = land(&repo, &side, &[("b", text("b\n"))]).unwrap();
    let after = repository.measure_settled().unwrap();
    let accounted = |receipts: &[&Receipt]| {
        let receipts: Vec<Receipt> = receipts.iter().map(|receipt| (*receipt).clone()).collect();
        repository.accounts_for(&before, &after, &receipts)
    };
    assert!(accounted(&[&first, &second, &third]));
    assert!(accounted(&[&third, &first, &second]));
    assert!(!accounted(&[&second, &first, &third]));
    assert!(!accounted(&[&first, &third]));
    assert!(!accounted(&[&first, &second]));
}
