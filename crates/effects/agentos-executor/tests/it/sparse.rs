//! Sparse checkouts and partial clones: landed as git itself changes them.

use agentos_api::NextStep;
use agentos_executor::{ExecError, Repository, TargetSpec};
use agentos_landing::{Base, BaseError};
use agentos_testkit::repo::{TestRepo, make_dir, remove_file};

use crate::support::{Edit, Sink, accept, assert_sound, change, land, land_in, open, program, text};

/// Files in and out of the cone `in`.
fn wide() -> TestRepo {
    let repo = TestRepo::new();
    for path in [
        "root.txt",
        "in/a.txt",
        "out/b.txt",
        "out/deep/c.txt",
        "other/d.txt",
    ] {
        repo.write(path, format!("{path}\n"));
    }
    repo.commit_all("first");
    repo
}

/// Sets up one kind of sparse checkout.
type Setup = fn(&TestRepo);

const KINDS: [(&str, Setup); 4] = [
    ("cone", |r| {
        drop(r.git(&["sparse-checkout", "set", "--cone", "in"]))
    }),
    ("no cone", |r| {
        drop(r.git(&[
            "sparse-checkout",
            "set",
            "--no-cone",
            "/root.txt",
            "/in/",
            "!/in/new*",
        ]));
    }),
    ("sparse index", |r| {
        drop(r.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]));
    }),
    ("sparse index 4", |r| {
        r.git(&["update-index", "--index-version", "4"]);
        r.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    }),
];

/// Edits in and out of the cone: changed, new, deleted, a folder that ends, a file where a folder was.
const CASES: [&[(&str, Option<&str>)]; 7] = [
    &[("in/a.txt", Some("A\n"))],
    &[("out/b.txt", Some("B\n"))],
    &[
        ("out/deep/c.txt", Some("C\n")),
        ("in/a.txt", Some("A\n")),
        ("root.txt", None),
    ],
    &[
        ("out/new.txt", Some("n\n")),
        ("fresh/new.txt", Some("n\n")),
        ("in/new.txt", Some("n\n")),
    ],
    &[("other/d.txt", None)],
    &[
        ("out/b.txt", None),
        ("out/deep/c.txt", None),
        ("new-root.txt", Some("n\n")),
    ],
    &[("out/deep/c.txt", None), ("out/deep/e/f.txt", Some("f\n"))],
];

fn shown(repo: &TestRepo) -> [String; 3] {
    let tags = repo.git(&["ls-files", "-t", "--stage"]);
    let tree = repo.git(&["write-tree"]);
    let mut files: Vec<_> = [
        "root.txt",
        "in/a.txt",
        "in/new.txt",
        "out/b.txt",
        "out/new.txt",
        "fresh/new.txt",
        "new-root.txt",
    ]
    .into_iter()
    .filter(|path| repo.has(path))
    .collect();
    files.sort_unstable();
    [tags, tree, files.join(" ")]
}

#[test]
fn a_sparse_checkout_changes_as_git_changes_it() {
    for (kind, setup) in KINDS {
        for edits in CASES {
            // git makes the same change from a commit that another clone made.
            let theirs = wide();
            theirs.git(&["checkout", "--quiet", "-b", "change"]);
            for (path, new) in edits {
                match new {
                    Some(new) => theirs.write(path, new),
                    None => remove_file(&theirs.path().join(path)),
                }
            }
            theirs.commit_all("change");
            theirs.git(&["checkout", "--quiet", "main"]);
            setup(&theirs);
            theirs.git(&["cherry-pick", "change"]);

            let ours = wide();
            setup(&ours);
            let edits: Vec<Edit<'_>> = edits
                .iter()
                .map(|(path, new)| (*path, new.and_then(text)))
                .collect();
            land(&ours, &TargetSpec::CurrentBranch, &edits).unwrap();
            assert_eq!(shown(&ours), shown(&theirs), "{kind} {edits:?}");
            assert_eq!(ours.status(), "", "{kind} {edits:?}");
            assert_sound(&ours);
            // The index stays sparse: git expands it only when it has to.
            let folders = |repo: &TestRepo| repo.git(&["ls-files", "--sparse"]).contains("out/\n");
            assert_eq!(
                folders(&ours),
                kind.starts_with("sparse") && folders(&theirs),
                "{kind} {edits:?}"
            );
        }
    }
}

#[test]
fn without_a_commit_only_the_index_of_a_left_out_file_changes() {
    for (kind, setup) in KINDS {
        let repo = wide();
        setup(&repo);
        let edits = [("out/b.txt", text("B\n")), ("in/a.txt", text("A\n"))];
        land(&repo, &TargetSpec::WorkTreeOnly, &edits).unwrap();
        assert_eq!(repo.status(), "M  in/a.txt\nM  out/b.txt", "{kind}");
        assert!(!repo.has("out/b.txt"), "{kind}");
        // What is staged in such a folder is work of the user as any other, also where the index names the folder alone.
        let staged = land(
            &repo,
            &TargetSpec::CurrentBranch,
            &[("out/b.txt", text("again\n"))],
        );
        assert_eq!(staged.unwrap_err().code(), "dirty-overlap", "{kind}");
        land(
            &repo,
            &TargetSpec::CurrentBranch,
            &[("out/deep/c.txt", text("C\n"))],
        )
        .unwrap();
        assert_eq!(repo.status(), "M  in/a.txt\nM  out/b.txt", "{kind}");
        // `git fsck` looks for the trees of a sparse index, which git writes no earlier than for a commit.
        repo.git(&["write-tree"]);
        assert_sound(&repo);
    }
}

#[test]
fn a_file_in_the_place_of_a_left_out_one_is_the_users_work() {
    for (kind, setup) in KINDS {
        let repo = wide();
        setup(&repo);
        for path in ["out/b.txt", "out/new.txt"] {
            make_dir(&repo.path().join("out"));
            repo.write(path, "mine\n");
            let landed = land(&repo, &TargetSpec::CurrentBranch, &[(path, text("theirs\n"))]);
            assert_eq!(landed.unwrap_err().code(), "dirty-overlap", "{kind} {path}");
            assert_eq!(repo.read(path), b"mine\n", "{kind} {path}");
        }
        // With the base's content the file is an ordinary one: git takes the flag away.
        repo.write("out/b.txt", "out/b.txt\n");
        land(&repo, &TargetSpec::CurrentBranch, &[("out/b.txt", text("B\n"))]).map_or_else(
            |error| assert!(kind.starts_with("sparse index"), "{kind} {error}"),
            |_| assert_eq!(repo.read("out/b.txt"), b"B\n"),
        );
    }
}

#[test]
fn a_single_flag_is_no_sparse_checkout() {
    let repo = wide();
    repo.git(&["update-index", "--skip-worktree", "in/a.txt", "root.txt"]);
    land(&repo, &TargetSpec::CurrentBranch, &[("in/a.txt", program("A\n"))]).unwrap();
    assert_eq!(repo.read("in/a.txt"), b"A\n");
    // The flag that a person set stays.
    assert_eq!(
        repo.git(&["ls-files", "-t", "in/a.txt", "root.txt"]),
        "S in/a.txt\nS root.txt"
    );
    repo.write("root.txt", "mine\n");
    let hidden = land(
        &repo,
        &TargetSpec::CurrentBranch,
        &[("root.txt", text("theirs\n"))],
    )
    .unwrap_err();
    assert_eq!(hidden.code(), "dirty-overlap");
    assert_eq!(
        hidden.to_string(),
        "uncommitted work is in the way, which git hides since `git update-index --skip-worktree`: `root.txt`"
    );
    let command = "git update-index --no-skip-worktree -- root.txt".to_owned();
    assert!(hidden.next_steps().contains(&NextStep::RunGit { command }));
    assert_eq!(repo.read("root.txt"), b"mine\n");
    remove_file(&repo.path().join("root.txt"));
    land(
        &repo,
        &TargetSpec::CurrentBranch,
        &[("root.txt", text("theirs\n"))],
    )
    .unwrap();
    assert!(!repo.has("root.txt"), "a file that is left out stays out");
    assert_eq!(repo.status(), "");
}

#[test]
fn attributes_outside_the_cone_count_as_git_counts_them() {
    let repo = wide();
    repo.write(".gitattributes", "*.txt text eol=crlf\n");
    repo.write("in/.gitattributes", "a.txt -text\n");
    repo.commit_all("attributes");
    repo.git(&["sparse-checkout", "set", "--no-cone", "/in/*.txt", "/root.txt"]);
    assert!(!repo.has(".gitattributes"));
    let edits = [
        ("in/a.txt", text("A\n")),
        ("root.txt", text("R\n")),
        ("out/b.txt", text("B\n")),
    ];
    land(&repo, &TargetSpec::CurrentBranch, &edits).unwrap();
    assert_eq!(repo.read("in/a.txt"), b"A\n");
    assert_eq!(repo.read("root.txt"), b"R\r\n");
    assert_eq!(repo.status(), "");
}

/// A partial clone of a repository, in which only the named paths are checked out, so that only their content is there.
fn partial(origin: &TestRepo, paths: &[&str]) -> TestRepo {
    let repo = TestRepo::new();
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let from = format!("file://{}", origin.path().display());
    repo.git(&["remote", "add", "origin", &from]);
    repo.git(&["fetch", "--quiet", "--filter=blob:none", "origin", "main"]);
    repo.git(&[&["sparse-checkout", "set", "--no-cone"], paths].concat());
    repo.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    repo
}

#[test]
fn a_partial_clone_lands_what_it_has() {
    let origin = wide();
    let repo = partial(&origin, &["/in/"]);
    land(
        &repo,
        &TargetSpec::CurrentBranch,
        &[("in/a.txt", text("A\n")), ("out/new.txt", text("n\n"))],
    )
    .unwrap();
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git(&["show", "HEAD:out/new.txt"]), "n");
    land(
        &repo,
        &TargetSpec::Branch("side".to_owned()),
        &[("in/a.txt", text("B\n"))],
    )
    .unwrap();
}

#[test]
fn a_file_that_was_not_fetched_is_named_with_the_command_that_fetches_it() {
    let origin = wide();
    let repo = partial(&origin, &["/in/"]);
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let base = repository.base(&target).unwrap();
    let id = base.entry("out/b.txt").unwrap().unwrap().id;
    let missing = BaseError::NotFetched {
        id: id.clone(),
        path: Some("out/b.txt".to_owned()),
    };
    assert_eq!(base.read(&id), Err(missing));
    assert!(repo.git_ok(&["cat-file", "-e", &id]), "fetches it");
    let repository = open(&repo);
    land_in(
        &repository,
        &TargetSpec::CurrentBranch,
        &[("out/b.txt", text("B\n"))],
        &mut Sink(accept),
    )
    .unwrap();
    assert_eq!(repo.status(), "");
    drop(change(&repository, &target, &[("out/b.txt", text("B\n"))]));
}

#[test]
fn a_copy_for_a_program_is_not_made_with_holes() {
    let origin = wide();
    let repo = partial(&origin, &["/in/"]);
    let repository: Repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let shown = agentos_executor::ShownFiles {
        key: "all",
        may: &|_, _| true,
    };
    let copies = repository
        .open_copies(Some(&repo.outside().join("cache/agentos")))
        .unwrap();
    let make = || repository.copy(&copies, &target, None, &shown).map(drop);
    let error: ExecError = make().unwrap_err();
    assert_eq!(error.code(), "not-fetched");
    assert_eq!(
        error.to_string(),
        "`other/d.txt` and 3 more files have not been fetched into this partial clone"
    );
    let steps = error.next_steps();
    let [NextStep::RunGit { command }] = steps.as_slice() else {
        panic!("one git command");
    };
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    repo.git(&words);
    make().unwrap();
}
