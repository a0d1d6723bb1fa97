//! Every state in which nothing is written, with its code.

use agentos_api::NextStep;
use agentos_executor::{ExecError, Repository, TargetSpec};
use agentos_testkit::repo::{TestRepo, make_dir, write_file};

use crate::support::{
    Sink, accept, approved, assert_sound, change, example, land, land_in, open, plan, text,
};

fn code(repo: &TestRepo, spec: &TargetSpec) -> String {
    match Repository::discover(repo.path()).and_then(|repository| repository.resolve(spec)) {
        Ok(target) => format!("lands on {}", target.refname),
        Err(error) => error.code().to_owned(),
    }
}

fn branch(name: &str) -> TargetSpec {
    TargetSpec::Branch(name.to_owned())
}

#[test]
fn a_repository_that_is_not_ready_is_refused_by_name() {
    type Spoil = fn(&TestRepo);
    let conflict: Spoil = |r| {
        r.git(&["checkout", "--quiet", "-b", "side"]);
        r.write("a.txt", "side\n");
        r.commit_all("side");
        r.git(&["checkout", "--quiet", "main"]);
        r.write("a.txt", "main\n");
        r.commit_all("main");
    };
    let cases: [(&str, Spoil); 8] = [
        ("detached-head", |r| {
            drop(r.git(&["checkout", "--quiet", "--detach"]))
        }),
        ("merge-in-progress", |r| {
            r.git_ok(&["merge", "side"]);
        }),
        ("rebase-in-progress", |r| {
            r.git_ok(&["rebase", "side"]);
        }),
        ("cherry-pick-in-progress", |r| {
            r.git_ok(&["cherry-pick", "side"]);
        }),
        ("revert-in-progress", |r| {
            r.git_ok(&["revert", "--no-edit", "main^"]);
        }),
        ("mailbox-in-progress", |r| {
            let mail = r.git(&["format-patch", "--stdout", "-1", "side"]);
            write_file(&r.outside().join("mail"), mail + "\n");
            r.git_ok(&["am", "../mail"]);
        }),
        ("bisect-in-progress", |r| drop(r.git(&["bisect", "start"]))),
        ("partial-clone", |r| {
            r.git(&["config", "core.repositoryformatversion", "1"]);
            r.git(&["config", "extensions.partialclone", "origin"]);
        }),
    ];
    for (expected, spoil) in cases {
        let repo = example();
        conflict(&repo);
        spoil(&repo);
        assert_eq!(code(&repo, &TargetSpec::CurrentBranch), expected);
    }
}

#[test]
fn without_any_commit_there_is_no_base_for_another_branch() {
    for repo in [TestRepo::new(), TestRepo::bare()] {
        assert_eq!(code(&repo, &branch("topic")), "unborn-branch");
        assert_eq!(code(&repo, &branch("main")), "lands on refs/heads/main");
    }
}

#[test]
fn what_is_in_progress_here_does_not_hinder_another_branch() {
    let repo = example();
    repo.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(code(&repo, &branch("main")), "lands on refs/heads/main");
    assert_eq!(code(&repo, &TargetSpec::WorkTreeOnly), "lands on HEAD");
    assert_eq!(code(&repo, &TargetSpec::AtHead), "lands on HEAD");
}

#[test]
fn an_unsupported_format_is_refused_by_name() {
    let cases = [
        ("reftable", vec!["init", "--quiet", "--ref-format=reftable"]),
        (
            "sha256-repository",
            vec!["init", "--quiet", "--object-format=sha256"],
        ),
    ];
    for (expected, mut init) in cases {
        let repo = TestRepo::new();
        let dir = repo.outside().join("other");
        make_dir(&dir);
        init.push(".");
        repo.git_in(&dir, &init);
        assert_eq!(Repository::discover(&dir).unwrap_err().code(), expected);
    }
    let repo = example();
    repo.git(&["update-index", "--split-index"]);
    assert_eq!(code(&repo, &TargetSpec::CurrentBranch), "split-index");
    repo.git(&["config", "core.repositoryformatversion", "1"]);
    repo.git(&["config", "extensions.fromthefuture", "1"]);
    assert_eq!(code(&repo, &TargetSpec::CurrentBranch), "unsupported-extension");
}

#[test]
fn a_branch_that_cannot_move_is_refused_by_name() {
    let repo = example();
    let linked = repo.outside().join("linked");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ]);
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    let cases = [
        ("side", "branch-checked-out"),
        ("alias", "symbolic-branch"),
        ("-x", "bad-branch-name"),
        ("HEAD", "bad-branch-name"),
        ("a..b", "bad-branch-name"),
        ("a b", "bad-branch-name"),
        ("", "bad-branch-name"),
    ];
    for (name, expected) in cases {
        assert_eq!(code(&repo, &branch(name)), expected, "{name}");
    }
    let from_linked = Repository::discover(&linked)
        .unwrap()
        .resolve(&branch("main"))
        .unwrap_err();
    assert_eq!(from_linked.code(), "branch-checked-out");
    assert!(from_linked.to_string().contains(repo.path().to_str().unwrap()));
}

#[test]
fn a_branch_that_two_work_trees_have_is_refused() {
    let repo = example();
    let linked = repo.outside().join("linked");
    let to = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", "--force", to, "main"]);
    let there = Repository::discover(&linked)
        .unwrap()
        .resolve(&TargetSpec::CurrentBranch);
    assert_eq!(there.unwrap_err().code(), "branch-checked-out");
    for spec in [TargetSpec::CurrentBranch, branch("main")] {
        assert_eq!(code(&repo, &spec), "branch-checked-out");
    }
    assert_eq!(code(&repo, &TargetSpec::WorkTreeOnly), "lands on refs/heads/main");
    repo.git(&["worktree", "remove", to]);
    assert_eq!(
        code(&repo, &TargetSpec::CurrentBranch),
        "lands on refs/heads/main"
    );
}

#[test]
fn a_repository_of_its_own_in_the_work_tree_is_not_written_to() {
    let repo = example();
    let nested = repo.path().join("lib/own");
    make_dir(&nested);
    repo.git_in(&nested, &["init", "--quiet"]);
    let edits = [("lib/own/src/x.txt", text("x\n"))];
    for spec in [TargetSpec::CurrentBranch, TargetSpec::WorkTreeOnly] {
        let error = land(&repo, &spec, &edits).unwrap_err();
        let expected =
            "`lib/own/src/x.txt` is in another repository, `lib/own`, that lies in this working tree";
        assert_eq!(
            (error.code(), error.to_string()),
            ("submodule", expected.to_owned())
        );
    }
    assert!(land(&repo, &branch("topic"), &edits).is_ok());
    assert!(land(&repo, &TargetSpec::CurrentBranch, &[("lib/x.txt", text("x\n"))]).is_ok());
}

#[test]
fn a_branch_is_not_made_where_its_name_is_a_folder_of_branches_or_the_reverse() {
    let edits = [("a.txt", text("x\n"))];
    for packed in [false, true] {
        let repo = example();
        repo.git(&["branch", "a/b/c"]);
        repo.git(&["branch", "x"]);
        if packed {
            repo.git(&["pack-refs", "--all"]);
        }
        let objects = repo.git(&["count-objects", "-v"]);
        for (name, other) in [("a", "a/b/c"), ("a/b", "a/b/c"), ("x/y", "x"), ("x/y/z", "x")] {
            let error = land(&repo, &branch(name), &edits).unwrap_err();
            assert_eq!(error.code(), "branch-conflict", "{name} {packed}");
            let expected = format!("the branch `{name}` cannot be created while the branch `{other}` exists");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(repo.git(&["count-objects", "-v"]), objects);
        land(&repo, &branch("a/b/d"), &edits).unwrap();
        land(&repo, &branch("xy"), &edits).unwrap();
    }
}

#[test]
fn a_branch_that_a_rebase_or_bisect_will_move_is_refused_by_name() {
    type Begin = fn(&TestRepo, &dyn Fn(&[&str]) -> bool);
    let begin: [(&str, Begin); 4] = [
        ("rebase", |_, git| assert!(!git(&["rebase", "main"]))),
        ("rebase", |_, git| assert!(!git(&["rebase", "--apply", "main"]))),
        ("bisect", |_, git| {
            assert!(git(&["bisect", "start", "HEAD", "HEAD^"]))
        }),
        ("rebase", |_, git| {
            git(&["branch", "lower", "HEAD"]);
            git(&["checkout", "--quiet", "-b", "upper"]);
            git(&["rebase", "--update-refs", "main"]);
        }),
    ];
    for (number, (expected, begin)) in begin.into_iter().enumerate() {
        let repo = example();
        repo.git(&["checkout", "--quiet", "-b", "side"]);
        repo.write("a.txt", "side\n");
        repo.commit_all("side");
        repo.git(&["checkout", "--quiet", "main"]);
        repo.write("a.txt", "main\n");
        repo.commit_all("main");
        let linked = repo.outside().join("linked");
        repo.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "side"]);
        begin(&repo, &|args| {
            repo.git_ok(&[&["-C", linked.to_str().unwrap()], args].concat())
        });
        let branch = branch(if number == 3 { "lower" } else { "side" });
        let error = open(&repo).resolve(&branch).unwrap_err();
        let is_ours = matches!(error.code(), "branch-in-use" | "branch-checked-out");
        assert!(is_ours, "{expected}: {error}");
        if error.code() == "branch-in-use" {
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("a {expected} of the branch")),
                "{error}"
            );
            assert!(error.to_string().contains("linked"), "{error}");
        }
        // Seen from the work tree in which it happens, too.
        let there = Repository::discover(&linked)
            .unwrap()
            .resolve(&branch)
            .unwrap_err();
        assert!(
            matches!(there.code(), "branch-in-use" | "bisect-in-progress"),
            "{there}"
        );
    }
}

#[test]
fn a_dry_run_is_refused_where_the_landing_would_be() {
    type Spoil = fn(&TestRepo);
    let cases: [(&str, TargetSpec, Spoil); 10] = [
        ("dirty-overlap", TargetSpec::CurrentBranch, |r| {
            r.write("a.txt", "mine\n")
        }),
        ("dirty-overlap", TargetSpec::WorkTreeOnly, |r| {
            r.write("a.txt", "mine\n");
            r.git(&["checkout", "--quiet", "--detach"]);
        }),
        ("filtered-path", TargetSpec::CurrentBranch, |r| {
            r.write(".git/info/attributes", "a.txt filter=lfs\n");
        }),
        ("index-locked", TargetSpec::CurrentBranch, |r| {
            r.write(".git/index.lock", "")
        }),
        ("head-locked", TargetSpec::CurrentBranch, |r| {
            r.write(".git/HEAD.lock", "")
        }),
        ("ref-locked", TargetSpec::CurrentBranch, |r| {
            r.write(".git/refs/heads/main.lock", "")
        }),
        ("ref-locked", branch("topic"), |r| {
            r.git(&["branch", "topic"]);
            r.write(".git/refs/heads/topic.lock", "");
        }),
        ("detached-head", TargetSpec::CurrentBranch, |r| {
            drop(r.git(&["checkout", "--quiet", "--detach"]));
        }),
        ("bisect-in-progress", TargetSpec::CurrentBranch, |r| {
            drop(r.git(&["bisect", "start"]))
        }),
        ("bad-branch-name", branch("a..b"), |_| {}),
    ];
    for (expected, real, spoil) in cases {
        let repo = example();
        spoil(&repo);
        let dry = TargetSpec::DryRun(Box::new(real.clone()));
        let edits = [("a.txt", text("x\n"))];
        let refused = [&dry, &real].map(|spec| land(&repo, spec, &edits).unwrap_err().to_string());
        assert_eq!(refused[0], refused[1]);
        assert_eq!(land(&repo, &dry, &edits).unwrap_err().code(), expected);
    }
}

#[test]
fn a_bare_repository_has_no_work_tree_and_no_current_branch() {
    let from = example();
    let bare = TestRepo::bare();
    from.git(&["push", "--quiet", bare.path().to_str().unwrap(), "main"]);
    assert_eq!(code(&bare, &TargetSpec::CurrentBranch), "bare-without-branch");
    assert_eq!(code(&bare, &TargetSpec::WorkTreeOnly), "no-work-tree");
    assert_eq!(code(&bare, &branch("main")), "lands on refs/heads/main");
}

#[test]
fn a_folder_outside_any_repository_is_told() {
    let repo = TestRepo::new();
    let error = Repository::discover(repo.outside()).unwrap_err();
    assert_eq!(error.code(), "not-a-repository");
    assert_eq!(error.next_steps(), [NextStep::NameRepository]);
}

#[test]
fn a_locked_index_is_told_before_anything_is_written() {
    let repo = example();
    let head = repo.git(&["rev-parse", "HEAD"]);
    repo.write(".git/index.lock", "");
    let error = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap_err();
    assert_eq!(error.code(), "index-locked");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.read("a.txt"), b"one\ntwo\nthree\n");
}

#[test]
fn nobody_can_stage_or_commit_in_the_work_tree_while_a_change_lands() {
    let repo = example();
    repo.write("mine.txt", "mine\n");
    let mut tried = Vec::new();
    let mut sink = Sink(|intent: &_| {
        tried.push(repo.git_ok(&["add", "mine.txt"]));
        tried.push(repo.git_ok(&["commit", "--quiet", "--allow-empty", "-m", "theirs"]));
        accept(intent)
    });
    land_in(
        &open(&repo),
        &TargetSpec::CurrentBranch,
        &[("a.txt", text("x\n"))],
        &mut sink,
    )
    .unwrap();
    assert_eq!(tried, [false, false]);
    assert_eq!(repo.status(), "?? mine.txt");
    assert!(repo.git_ok(&["add", "mine.txt"]));
}

#[test]
fn a_locked_branch_is_told_and_what_was_begun_is_taken_back() {
    let repo = example();
    repo.write(".git/refs/heads/main.lock", "");
    let error = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap_err();
    assert_eq!(error.code(), "ref-locked", "{error}");
    assert_eq!(
        (repo.status(), repo.read("a.txt")),
        (String::new(), b"one\ntwo\nthree\n".to_vec())
    );
    assert_sound(&repo);
}

#[test]
fn an_approval_is_good_for_exactly_what_it_was_given_for() {
    let repo = example();
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let other_base = {
        repo.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
        repository.resolve(&TargetSpec::CurrentBranch).unwrap()
    };
    let other_ref = repository.resolve(&branch("topic")).unwrap();
    let mut other_policy = plan(&target);
    other_policy.policy_sha256 = "0".repeat(64);
    let cases = [
        (other_policy, "approval-void"),
        (plan(&other_base), "approval-void"),
        (plan(&other_ref), "approval-void"),
        (plan(&target), "base-moved"),
    ];
    for (plan, expected) in cases {
        let change = change(&repository, &target, &[("a.txt", text("x\n"))]);
        let error = repository
            .land(approved(change, &target), &plan, &mut Sink(accept))
            .unwrap_err();
        assert_eq!(error.code(), expected);
    }
    assert_eq!(repo.status(), "");
}

#[test]
fn a_branch_that_moves_while_a_change_lands_is_not_overwritten() {
    let repo = example();
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let change = change(&repository, &target, &[("a.txt", text("x\n"))]);
    let theirs = repo.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "theirs"]);
    let mut sink = Sink(|intent: &_| {
        repo.git(&["update-ref", "refs/heads/main", &theirs]);
        accept(intent)
    });
    let error = repository
        .land(approved(change, &target), &plan(&target), &mut sink)
        .unwrap_err();
    assert!(matches!(error, ExecError::BaseMoved { .. }), "{error}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "theirs");
    assert_eq!(
        (repo.status(), repo.read("a.txt")),
        (String::new(), b"one\ntwo\nthree\n".to_vec())
    );
    assert_sound(&repo);
}

#[test]
fn without_a_durable_intent_nothing_is_written() {
    let repo = example();
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    for spec in [
        TargetSpec::CurrentBranch,
        branch("topic"),
        TargetSpec::WorkTreeOnly,
    ] {
        let target = repository.resolve(&spec).unwrap();
        let change = change(&repository, &target, &[("a.txt", text("x\n"))]);
        let mut full = Sink(|_: &_| Err("the disk is full".to_owned()));
        let error = repository
            .land(approved(change, &target), &plan(&target), &mut full)
            .unwrap_err();
        let said = "the intent could not be recorded: the disk is full";
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("evidence-not-durable", said)
        );
        assert_eq!(repository.measure().unwrap(), before);
    }
}

#[test]
fn a_commit_needs_an_identity_and_a_work_tree_change_does_not() {
    let repo = example();
    let repository = open(&repo);
    for (spec, expected) in [
        (TargetSpec::CurrentBranch, Some("no-identity")),
        (TargetSpec::WorkTreeOnly, None),
    ] {
        let target = repository.resolve(&spec).unwrap();
        let change = change(&repository, &target, &[("a.txt", text("x\n"))]);
        let mut plan = plan(&target);
        plan.authorship = None;
        let landed = repository.land(approved(change, &target), &plan, &mut Sink(accept));
        assert_eq!(landed.err().map(|error| error.code()), expected);
    }
}
