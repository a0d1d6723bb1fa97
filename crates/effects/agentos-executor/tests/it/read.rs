//! What landing and policy read: the base commit, never the work tree.

use agentos_executor::{Repository, Target, TargetSpec};
use agentos_landing::{Base, EntryKind, FileMode};
use agentos_testkit::repo::{TestRepo, make_link, set_mode};

use crate::support::{example, open};

fn opened(repo: &TestRepo) -> (Repository, Target) {
    let repository = open(repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    (repository, target)
}

#[test]
fn the_base_is_the_commit() {
    let repo = example();
    repo.write("run.sh", "#!/bin/sh\n");
    set_mode(&repo.path().join("run.sh"), 0o755);
    make_link(&repo.path().join("link"), "dir");
    repo.commit_all("more");
    repo.write("a.txt", "not committed\n");
    repo.write("untracked", "x");
    let (repository, target) = opened(&repo);
    let base = repository.base(&target).unwrap();
    let cases = [
        ("a.txt", Some(EntryKind::File(FileMode::Regular))),
        ("run.sh", Some(EntryKind::File(FileMode::Executable))),
        ("link", Some(EntryKind::Symlink)),
        ("dir", Some(EntryKind::Directory)),
        ("", Some(EntryKind::Directory)),
        ("untracked", None),
        ("a.txt/x", None),
        ("link/b.txt", None),
        ("../a.txt", None),
        ("/a.txt", None),
        ("dir/", None),
        ("nul\0", None),
    ];
    for (path, expected) in cases {
        assert_eq!(
            base.entry(path).unwrap().map(|entry| entry.kind),
            expected,
            "{path:?}"
        );
    }
    let id = base.entry("a.txt").unwrap().unwrap().id;
    assert_eq!(&*base.read(&id).unwrap(), b"one\ntwo\nthree\n");
    assert!(base.read(&"0".repeat(40)).is_err());
    let names: Vec<_> = base
        .list("")
        .unwrap()
        .into_iter()
        .map(|found| String::from_utf8(found.name).unwrap())
        .collect();
    assert_eq!(names, ["a.txt", "dir", "link", "run.sh"]);
    assert_eq!(base.list("dir").unwrap().len(), 1);
    assert_eq!(base.list("nowhere").unwrap(), []);
}

#[test]
fn a_blob_is_found_by_the_beginning_of_its_id() {
    let repo = example();
    let gone = repo.git(&["rev-parse", "HEAD:a.txt"]);
    repo.write("a.txt", "later\n");
    let commit = repo.commit_all("later");
    let (repository, target) = opened(&repo);
    let base = repository.base(&target).unwrap();
    let (short, _) = gone.split_at(8);
    let (id, content) = base.blob_by_prefix(short).unwrap().unwrap();
    assert_eq!((id, &*content), (gone, b"one\ntwo\nthree\n".as_slice()));
    for unknown in ["0000000", "abc", "", "zzzzzzz", &commit, &"a".repeat(41)] {
        assert!(base.blob_by_prefix(unknown).unwrap().is_none(), "{unknown}");
    }
}

#[test]
fn files_are_found_by_the_end_of_their_path() {
    let repo = example();
    repo.write("x/dir/b.txt", "x");
    repo.write("x/mydir/b.txt", "x");
    repo.commit_all("more");
    let (repository, target) = opened(&repo);
    let base = repository.base(&target).unwrap();
    assert_eq!(
        base.paths_ending_with("dir/b.txt", 10).unwrap(),
        ["dir/b.txt", "x/dir/b.txt"]
    );
    assert_eq!(base.paths_ending_with("b.txt", 10).unwrap().len(), 3);
    assert_eq!(base.paths_ending_with("b.txt", 2).unwrap().len(), 2);
    assert_eq!(base.paths_ending_with("dir", 10).unwrap(), Vec::<String>::new());
}

#[test]
fn policy_is_read_from_the_base_commit() {
    let repo = example();
    let (repository, target) = opened(&repo);
    assert_eq!(repository.policy_files(&target).unwrap(), []);
    repo.write(".agentos/policy/b.toml", "b = 1\n");
    repo.write(".agentos/policy/a.toml", "a = 1\n");
    repo.write(".agentos/policy/README", "words");
    repo.commit_all("policy");
    repo.write(".agentos/policy/a.toml", "a = 2 # not committed\n");
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let pair = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let expected = [
        pair(".agentos/policy/a.toml", "a = 1\n"),
        pair(".agentos/policy/b.toml", "b = 1\n"),
    ];
    assert_eq!(repository.policy_files(&target).unwrap(), expected);
}

#[test]
fn policy_that_cannot_be_read_is_not_passed_over() {
    type Spoil = fn(&TestRepo);
    let cases: [(&str, Spoil); 13] = [
        (
            "`.agentos/policy/d.tml` would not be read as rules: give it a name that ends with `.toml`, or remove it",
            |r| r.write(".agentos/policy/d.tml", "version = 1\n"),
        ),
        (
            "`.agentos/policy/sub` is a folder, and rules in it would not be read: move them to the folder above",
            |r| r.write(".agentos/policy/sub/d.toml", "version = 1\n"),
        ),
        (
            "`.agentos/policy.toml` would not be read as rules: move it into the folder `policy`",
            |r| r.write(".agentos/policy.toml", "version = 1\n"),
        ),
        ("is not UTF-8 text", |r| {
            r.write(".agentos/policy/x.toml", b"\xff")
        }),
        ("is not a regular file", |r| {
            r.write(".agentos/policy/y", "");
            make_link(&r.path().join(".agentos/policy/x.toml"), "y");
        }),
        ("is too large", |r| {
            r.write(".agentos/policy/x.toml", vec![b'#'; (1 << 20) + 1])
        }),
        ("`.agentos/policy` is not a folder", |r| {
            r.write(".agentos/policy", "x")
        }),
        ("`.agentos/profiles` is not a folder", |r| {
            r.write(".agentos/profiles", "x");
        }),
        ("`.agentos` is not a folder", |r| r.write(".agentos", "x")),
        (
            "is a symbolic link, not a folder: the rules behind it would not be read",
            |r| {
                r.write("other/policy/x.toml", "version = 1\n");
                make_link(&r.path().join(".agentos"), "other");
            },
        ),
        (
            "`.AgentOS` is spelled in other letters: rename it, or the rules in it would not be read",
            |r| {
                r.write(".AgentOS/policy/x.toml", "version = 1\n");
            },
        ),
        (
            "`.agentos/Policy` is spelled in other letters: rename it, or the rules in it would not be read",
            |r| {
                r.write(".agentos/Policy/x.toml", "version = 1\n");
            },
        ),
        (
            "`.agentos` is a submodule, not a folder: the rules in it would not be read",
            |r| {
                r.git(&["init", "--quiet", ".agentos"]);
                let there = r.path().join(".agentos");
                for args in [
                    ["config", "user.name", "a"],
                    ["config", "user.email", "a@b.example"],
                ] {
                    r.git_in(&there, &args);
                }
                r.git_in(&there, &["commit", "--quiet", "--allow-empty", "-m", "rules"]);
            },
        ),
    ];
    for (why, spoil) in cases {
        let repo = example();
        spoil(&repo);
        repo.commit_all("policy");
        let (repository, target) = opened(&repo);
        let error = repository.policy_files(&target).unwrap_err();
        assert_eq!(error.code(), "unreadable-policy");
        assert!(error.to_string().ends_with(why), "{error}");
    }
}

#[test]
fn a_name_that_means_no_commit_is_told() {
    let repo = example();
    let repository = open(&repo);
    for range in ["nowhere", "HEAD..nowhere", "", "0123456", "HEAD:a.txt"] {
        let error = repository.commits_in(range, 10).unwrap_err();
        assert_eq!(error.code(), "unknown-revision", "{range}");
        assert_eq!(error.to_string(), format!("`{range}` names no commit here"));
    }
}

#[test]
fn what_is_gone_from_the_disk_is_told_by_its_place() {
    let repo = example();
    let linked = repo.outside().join("linked");
    repo.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    let there = Repository::discover(&linked).unwrap();
    agentos_testkit::repo::move_path(&linked, &repo.outside().join("moved"));
    let error = there.measure().unwrap_err();
    assert_eq!(error.code(), "unreadable-file");
    let said = error.to_string();
    assert!(
        said.starts_with("cannot read `") && said.contains("linked"),
        "{said}"
    );
}

#[test]
fn an_object_that_is_gone_is_told_and_nothing_is_written() {
    let repo = example();
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let (folder, file) = tree.split_at(2);
    agentos_testkit::repo::remove_file(&repo.path().join(".git/objects").join(folder).join(file));
    let head = repo.git(&["rev-parse", "HEAD"]);
    let repository = open(&repo);
    for spec in [TargetSpec::CurrentBranch, TargetSpec::Branch("topic".to_owned())] {
        let target = repository.resolve(&spec).unwrap();
        let error = repository.base(&target).err().unwrap();
        assert_eq!(error.code(), "unreadable-repository", "{error}");
        assert!(error.to_string().starts_with("cannot read "), "{error}");
    }
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn the_links_of_a_base_are_those_of_its_tree() {
    let repo = example();
    let links = |repo: &TestRepo| {
        let (repository, target) = opened(repo);
        repository.base_links(&target.base_tree).unwrap()
    };
    assert_eq!(links(&repo), []);
    let unborn = TestRepo::new();
    assert_eq!(links(&unborn), []);
    make_link(&repo.path().join("Makefile"), "dir/b.txt");
    repo.write("deep/er/x", "x");
    make_link(&repo.path().join("deep/er/link"), "../../dir");
    repo.commit_all("links");
    make_link(&repo.path().join("later"), "dir");
    let expected = [("Makefile", "dir/b.txt"), ("deep/er/link", "../../dir")];
    let expected = expected.map(|(path, target)| (path.to_owned(), target.to_owned()));
    assert_eq!(links(&repo), expected);
}
