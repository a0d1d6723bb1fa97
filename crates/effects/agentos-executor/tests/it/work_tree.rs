//! The work tree after landing: files, folders, modes, and what belongs to the user.

use agentos_executor::{FailPoints, TargetSpec};
use agentos_testkit::repo::{make_hard_link, make_link, read_file, set_mode, write_file};

use crate::support::{Sink, accept, assert_sound, example, land, land_clean, land_in, open, program, text};

#[test]
fn a_file_becomes_a_folder_and_back() {
    let repo = example();
    land_clean(
        &repo,
        &[
            ("a.txt", None),
            ("a.txt/main.toml", text("x\n")),
            ("a.txt/b/c", text("y\n")),
        ],
    );
    assert_eq!(repo.read("a.txt/b/c"), b"y\n");
    land_clean(
        &repo,
        &[
            ("a.txt/main.toml", None),
            ("a.txt/b/c", None),
            ("a.txt", text("file\n")),
        ],
    );
    assert_eq!(repo.read("a.txt"), b"file\n");
}

#[test]
fn modes_follow_the_change() {
    let repo = example();
    land_clean(&repo, &[("run.sh", program("#!/bin/sh\n"))]);
    land_clean(
        &repo,
        &[
            ("run.sh", program("#!/bin/sh\nexit\n")),
            ("a.txt", program("one\ntwo\nthree\n")),
        ],
    );
    assert_eq!(
        repo.git(&["ls-files", "--stage", "a.txt", "run.sh"])
            .matches("100755")
            .count(),
        2
    );
    land_clean(&repo, &[("a.txt", text("one\ntwo\nthree\n"))]);
    assert!(repo.git(&["ls-files", "--stage", "a.txt"]).starts_with("100644"));
}

#[test]
fn empty_folders_go_and_others_stay() {
    let repo = example();
    repo.write("deep/er/x.txt", "x\n");
    repo.write("kept/x.txt", "x\n");
    repo.commit_all("more");
    repo.write("kept/untracked", "mine\n");
    land(
        &repo,
        &TargetSpec::CurrentBranch,
        &[("deep/er/x.txt", None), ("kept/x.txt", None)],
    )
    .unwrap();
    assert!(!repo.has("deep"));
    assert_eq!(repo.read("kept/untracked"), b"mine\n");
    assert_sound(&repo);
}

#[test]
fn all_files_can_go() {
    let repo = example();
    land_clean(&repo, &[("a.txt", None), ("dir/b.txt", None)]);
    assert_eq!(repo.git(&["ls-tree", "HEAD"]), "");
}

#[test]
fn work_elsewhere_stays_as_it_was() {
    let repo = example();
    repo.write("dir/b.txt", "staged\n");
    repo.write("new.txt", "staged too\n");
    repo.git(&["add", "--all"]);
    repo.write("dir/b.txt", "edited after\n");
    repo.write("untracked", "mine\n");
    let before = repo.git(&["ls-files", "--stage", "dir", "new.txt"]);
    land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap();
    assert_eq!(repo.status(), "MM dir/b.txt\nA  new.txt\n?? untracked");
    assert_eq!(repo.git(&["ls-files", "--stage", "dir", "new.txt"]), before);
    assert_eq!(repo.read("dir/b.txt"), b"edited after\n");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "a.txt");
    assert_sound(&repo);
}

#[test]
fn content_shared_by_a_hard_link_outside_stays() {
    let repo = example();
    let outside = repo.outside().join("shared");
    make_hard_link(&repo.path().join("a.txt"), &outside);
    land_clean(&repo, &[("a.txt", text("new\n"))]);
    assert_eq!(read_file(&outside), b"one\ntwo\nthree\n");
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_written() {
    type Spoil = fn(&agentos_testkit::repo::TestRepo);
    let cases: [(&str, Spoil, &str, &str); 13] = [
        ("edited", |r| r.write("a.txt", "mine\n"), "a.txt", "a.txt"),
        (
            "edited and staged",
            |r| {
                r.write("a.txt", "mine\n");
                r.git(&["add", "a.txt"]);
            },
            "a.txt",
            "a.txt",
        ),
        (
            "staged, then taken back in the work tree",
            |r| {
                r.write("a.txt", "x");
                r.git(&["add", "a.txt"]);
                r.write("a.txt", "one\ntwo\nthree\n");
            },
            "a.txt",
            "a.txt",
        ),
        (
            "removed",
            |r| {
                r.git(&["rm", "--quiet", "a.txt"]);
            },
            "a.txt",
            "a.txt",
        ),
        (
            "removed, not staged",
            |r| agentos_testkit::repo::remove_file(&r.path().join("a.txt")),
            "a.txt",
            "a.txt",
        ),
        (
            "made executable",
            |r| set_mode(&r.path().join("a.txt"), 0o755),
            "a.txt",
            "a.txt",
        ),
        (
            "untracked",
            |r| r.write("new.txt", "mine\n"),
            "new.txt",
            "new.txt",
        ),
        (
            "untracked and the same",
            |r| r.write("new.txt", "x\n"),
            "new.txt",
            "new.txt",
        ),
        (
            "a link in its place",
            |r| make_link(&r.path().join("new.txt"), "/nowhere"),
            "new.txt",
            "new.txt",
        ),
        (
            "staged, removed on disk",
            |r| {
                r.write("new.txt", "x");
                r.git(&["add", "new.txt"]);
                agentos_testkit::repo::remove_file(&r.path().join("new.txt"));
            },
            "new.txt",
            "new.txt",
        ),
        (
            "a file where a folder must be",
            |r| r.write("new", "mine\n"),
            "new/deep/x",
            "new",
        ),
        (
            "a folder where a file must be",
            |r| r.write("new/mine", "mine\n"),
            "new",
            "new/mine",
        ),
        (
            "an ignored file",
            |r| {
                r.write(".git/info/exclude", "*.o\n");
                r.write("x.o", "mine");
            },
            "x.o",
            "x.o",
        ),
    ];
    for (name, spoil, path, told) in cases {
        let repo = example();
        spoil(&repo);
        let (head, status) = (repo.git(&["rev-parse", "HEAD"]), repo.status());
        let repository = open(&repo);
        let error = land(&repo, &TargetSpec::CurrentBranch, &[(path, text("x\n"))]).unwrap_err();
        assert_eq!(error.code(), "dirty-overlap", "{name}: {error}");
        // Lines are named too if the file could have been joined with the change.
        let begins = format!("uncommitted work is in the way: `{told}`");
        assert!(error.to_string().starts_with(&begins), "{name}: {error}");
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head, "{name}");
        assert_eq!(repo.status(), status, "{name}");
        let other = TargetSpec::Branch("other".to_owned());
        let receipt = land_in(&repository, &other, &[(path, text("x\n"))], &mut Sink(accept));
        assert!(receipt.is_ok(), "{name}: on another branch it is in nobody's way");
        assert_sound(&repo);
    }
}

#[test]
fn a_folder_with_unknown_files_makes_no_room() {
    let repo = example();
    repo.write("dir/mine", "mine\n");
    let edits = [("dir/b.txt", None), ("dir", text("file\n"))];
    let error = land(&repo, &TargetSpec::CurrentBranch, &edits).unwrap_err();
    assert_eq!(error.to_string(), "uncommitted work is in the way: `dir/mine`");
    agentos_testkit::repo::remove_file(&repo.path().join("dir/mine"));
    agentos_testkit::repo::make_dir(&repo.path().join("dir/empty/deep"));
    land_clean(&repo, &edits);
    assert_eq!(repo.read("dir"), b"file\n");
}

#[test]
fn a_path_through_an_untracked_link_is_refused() {
    let repo = example();
    let outside = repo.outside().join("outside");
    write_file(&outside.join("x.txt"), "theirs\n");
    make_link(&repo.path().join("link"), "../outside");
    let error = land(&repo, &TargetSpec::CurrentBranch, &[("link/y.txt", text("y\n"))]).unwrap_err();
    assert_eq!(error.code(), "symlink-traversal");
    assert!(!outside.join("y.txt").exists());
    assert_sound(&repo);
}

#[test]
fn a_path_through_a_tracked_link_is_refused_on_every_target() {
    let repo = example();
    make_link(&repo.path().join("link"), "dir");
    repo.commit_all("link");
    for spec in [
        TargetSpec::CurrentBranch,
        TargetSpec::Branch("other".to_owned()),
        TargetSpec::AtHead,
        TargetSpec::DryRun(Box::new(TargetSpec::CurrentBranch)),
    ] {
        let error = land(&repo, &spec, &[("link/y.txt", text("y\n"))]).unwrap_err();
        assert_eq!(error.code(), "symlink-traversal", "{spec:?}");
    }
}

#[test]
fn work_saved_while_the_change_lands_is_kept_and_told() {
    let repo = example();
    let repository = open(&repo);
    let mut sink = Sink(|intent: &_| {
        repo.write("a.txt", "saved just now\n");
        accept(intent)
    });
    let edits = [("a.txt", text("x\n")), ("dir/b.txt", text("y\n"))];
    let receipt = land_in(&repository, &TargetSpec::CurrentBranch, &edits, &mut sink).unwrap();
    assert_eq!(receipt.kept, ["a.txt"]);
    assert_eq!(repo.read("a.txt"), b"saved just now\n");
    assert_eq!(repo.status(), " M a.txt");
    assert_sound(&repo);
}

#[test]
fn work_saved_while_the_work_tree_is_being_written_is_kept_and_told() {
    for (place, path) in [
        ("branch moved", "a.txt"),
        ("branch moved", "c.txt"),
        ("file removed", "a.txt"),
        ("file removed", "dir/b.txt"),
        ("file removed", "new/n.txt"),
        // Once the first of the others is in its place.
        ("file in place", "dir/b.txt"),
        ("file in place", "new/n.txt"),
    ] {
        let repo = example();
        repo.write("c.txt", "c\n");
        repo.commit_all("more");
        let theirs = repo.path().join(path);
        let fail = FailPoints::meeting(place, move || write_file(&theirs, "theirs\n"));
        let repository = open(&repo).with_fail_points(fail);
        let edits = [
            ("a.txt", text("x\n")),
            ("c.txt", None),
            ("dir/b.txt", text("y\n")),
            ("new/n.txt", text("n\n")),
        ];
        let spec = TargetSpec::CurrentBranch;
        let receipt = land_in(&repository, &spec, &edits, &mut Sink(accept)).unwrap();
        assert_eq!(receipt.kept, [path], "{place}");
        assert_eq!(repo.read(path), b"theirs\n", "{place}");
        assert_eq!(repo.status().trim_start_matches([' ', 'M', '?']), path, "{place}");
        assert_sound(&repo);
    }
}

#[test]
fn a_file_that_comes_in_the_last_moment_is_not_replaced() {
    let repo = example();
    let theirs = repo.path().join("n.txt");
    let fail = FailPoints::meeting("room made", move || write_file(&theirs, "theirs\n"));
    let repository = open(&repo).with_fail_points(fail);
    let edits = [("n.txt", text("n\n"))];
    let receipt = land_in(&repository, &TargetSpec::CurrentBranch, &edits, &mut Sink(accept));
    assert_eq!(receipt.unwrap().kept, ["n.txt"]);
    assert_eq!(repo.read("n.txt"), b"theirs\n");
    assert_eq!(repo.status(), " M n.txt");
    assert_sound(&repo);
}

/// Whoever may write everywhere cannot be hindered by a mode.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_branch_moves() {
    let repo = example();
    let dir = repo.path().join("dir");
    set_mode(&dir, 0o555);
    let probe = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(dir.join("probe"));
    let is_hindered = probe.is_err();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let edits = [("a.txt", text("x\n")), ("dir/b.txt", None)];
    let landed = land(&repo, &TargetSpec::CurrentBranch, &edits);
    set_mode(&dir, 0o755);
    if !is_hindered {
        drop(landed);
        eprintln!("skipped: this user may write in a folder whatever its mode");
        return;
    }
    let error = landed.unwrap_err();
    assert_eq!(error.code(), "not-permitted", "{error}");
    assert_eq!(
        (repo.status(), repo.git(&["rev-parse", "HEAD"])),
        (String::new(), head)
    );
    assert_sound(&repo);
}

#[cfg(unix)]
#[test]
fn a_deleted_link_goes_and_what_it_leads_to_stays() {
    use agentos_landing::{Change, FileMode, FileState, RepoPath};

    use crate::support::{approved, plan};

    let repo = example();
    let secret = repo.outside().join("secret.txt");
    write_file(&secret, "secret\n");
    let leads_to = secret.to_str().unwrap().to_owned();
    make_link(&repo.path().join("latest"), &leads_to);
    repo.commit_all("a link");
    repo.git(&["config", "core.autocrlf", "true"]);
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let delete = || {
        let old = FileState {
            mode: FileMode::Symlink,
            content: leads_to.as_bytes().into(),
        };
        Change::new(vec![(RepoPath::new("latest").unwrap(), Some(old), None)]).unwrap()
    };
    let land = || repository.land(approved(delete(), &target), &plan(&target), &mut Sink(accept));
    // A user's own link, or a file in its place, is work that is not committed.
    for put in [
        &(|| make_link(&repo.path().join("latest"), "elsewhere")) as &dyn Fn(),
        &|| repo.write("latest", &leads_to),
    ] {
        agentos_testkit::repo::remove_file(&repo.path().join("latest"));
        put();
        assert_eq!(land().unwrap_err().code(), "dirty-overlap");
    }
    agentos_testkit::repo::remove_file(&repo.path().join("latest"));
    make_link(&repo.path().join("latest"), &leads_to);
    land().unwrap();
    assert!(!repo.has("latest"));
    assert_eq!(read_file(&secret), b"secret\n");
    assert_eq!(repo.git(&["ls-files", "latest"]), "");
    assert_sound(&repo);
}
