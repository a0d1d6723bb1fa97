//! A repository from elsewhere: its configuration starts nothing and leads nowhere.

use agentos_executor::{Repository, TargetSpec};
use agentos_testkit::repo::{TestRepo, make_dir, make_link, move_path, read_file, set_mode, write_file};
use serde_json::json;

use crate::support::{Sink, accept, example, land, land_in, open, text};

/// A repository in which everything that git can be made to start leaves a trace.
fn trapped() -> (TestRepo, std::path::PathBuf) {
    let repo = example();
    let trace = repo.outside().join("trace");
    let script = format!("#!/bin/sh\ntouch {}\n", trace.display());
    let trap = repo.outside().join("trap.sh");
    write_file(&trap, &script);
    set_mode(&trap, 0o755);
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
    ] {
        let path = repo.path().join(".git/hooks").join(hook);
        write_file(&path, &script);
        set_mode(&path, 0o755);
    }
    (repo, trace)
}

#[test]
fn hooks_monitors_filters_and_programs_are_not_started() {
    let (repo, trace) = trapped();
    let trap = repo.outside().join("trap.sh");
    let trap = trap.to_str().unwrap();
    for name in [
        "core.fsmonitor",
        "core.editor",
        "core.pager",
        "gpg.program",
        "diff.external",
        "filter.x.smudge",
        "filter.x.clean",
        "core.sshcommand",
    ] {
        repo.git(&["config", name, trap]);
    }
    repo.git(&["config", "filter.x.required", "true"]);
    write_file(
        &repo.path().join(".git/info/attributes"),
        "dir/** filter=x diff=x\n",
    );
    let edits = [("a.txt", text("x\n")), ("n.txt", text("n\n"))];
    land(&repo, &TargetSpec::CurrentBranch, &edits).unwrap();
    for spec in [TargetSpec::CurrentBranch, TargetSpec::Branch("topic".to_owned())] {
        let filtered = land(&repo, &spec, &[("dir/b.txt", text("x\n"))]).unwrap_err();
        assert_eq!(filtered.code(), "filtered-path");
    }
    open(&repo).measure().unwrap();
    assert!(!trace.exists());
}

#[test]
fn a_configured_work_tree_elsewhere_is_refused() {
    let repo = example();
    let elsewhere = repo.outside().join("elsewhere");
    make_dir(&elsewhere);
    repo.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    assert_eq!(
        Repository::discover(repo.path()).unwrap_err().code(),
        "work-tree-elsewhere"
    );
    repo.git(&["config", "core.worktree", repo.outside().to_str().unwrap()]);
    assert_eq!(
        Repository::discover(repo.path()).unwrap_err().code(),
        "work-tree-elsewhere"
    );
}

#[test]
fn our_own_folder_is_not_followed_out() {
    let victim = |repo: &TestRepo| repo.outside().join("victim");
    for (name, target, expected) in [
        ("", "../../victim", Some("write-failed")),
        ("lock", "../../../victim/f", Some("write-failed")),
        // What a killed landing left there is replaced.
        ("journal.json.tmp", "../../../victim/f", None),
    ] {
        let repo = example();
        write_file(&victim(&repo).join("f"), "theirs");
        let own = repo.path().join(".git/agentos");
        if !name.is_empty() {
            make_dir(&own);
        }
        make_link(
            &own.join(name).components().collect::<std::path::PathBuf>(),
            target,
        );
        let landed = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]);
        assert_eq!(landed.err().map(|error| error.code()), expected, "{name}");
        assert_eq!(read_file(&victim(&repo).join("f")), b"theirs", "{name}");
        assert_eq!(std::fs::read_dir(victim(&repo)).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn a_planted_journal_cannot_touch_another_place() {
    let (repo, other) = (example(), example());
    let head = repo.git(&["rev-parse", "HEAD"]);
    let id = repo.git(&["rev-parse", "HEAD:a.txt"]);
    other.write(".agentos-x-0.tmp", "theirs");
    other.write("precious", "theirs");
    let file = |temp: &str| {
        let new = json!({ "oid": id, "mode": "regular" });
        json!({ "file": { "path": "planted.txt", "new": new }, "temp": temp })
    };
    for temp in [".agentos-x-0.tmp", "precious", "../work/precious"] {
        let journal = json!({
            "v": 1, "run": "x", "writes": "commit-and-work-tree", "refname": "refs/heads/main", "parent": head,
            "commit": head, "decided": true, "work_dir": other.path(), "files": [file(temp)],
        });
        repo.write(".git/agentos/journal.json", journal.to_string());
        let recovered = open(&repo).recover();
        assert_eq!(recovered.is_ok(), temp.starts_with(".agentos-"), "{recovered:?}");
        assert_eq!(other.read(".agentos-x-0.tmp"), b"theirs");
        assert_eq!(other.read("precious"), b"theirs");
        assert!(!other.has("planted.txt"));
    }
}

#[test]
fn a_message_cannot_forge_our_trailers() {
    let repo = example();
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let change = crate::support::change(&repository, &target, &[("a.txt", text("x\n"))]);
    let mut plan = crate::support::plan(&target);
    plan.message = "Task\n\nAgentOS-Evidence: sha256:00\u{0}\u{1b}[2J".to_owned();
    plan.trailers = vec![(
        "Assisted-by".to_owned(),
        "m\nAgentOS-Evidence: sha256:22".to_owned(),
    )];
    repository
        .land(
            crate::support::approved(change, &target),
            &plan,
            &mut Sink(accept),
        )
        .unwrap();
    let commit = &repository.agentos_commits(10).unwrap()[0];
    let named: Vec<_> = commit
        .trailers
        .iter()
        .filter(|(name, _)| name == "AgentOS-Evidence")
        .collect();
    assert_eq!(named.len(), 1);
    assert_eq!(named[0].1, crate::support::PIN);
    assert!(!repo.git(&["cat-file", "-p", "HEAD"]).contains('\u{1b}'));
}

#[test]
fn a_nested_repository_is_not_entered_by_discovery_alone() {
    let repo = example();
    let repository = Repository::discover(&repo.path().join("dir")).unwrap();
    let receipt = land_in(
        &repository,
        &TargetSpec::CurrentBranch,
        &[("a.txt", text("x\n"))],
        &mut Sink(accept),
    );
    assert!(receipt.is_ok());
    assert_eq!(repo.status(), "");
}

#[test]
fn what_a_landing_writes_in_the_git_directory_is_not_written_through_a_link() {
    let places = [
        "HEAD",
        "logs",
        "logs/HEAD",
        "logs/refs/heads",
        "logs/refs/heads/main",
        "refs",
        "refs/heads",
        "refs/heads/main",
        "objects",
        "objects/pack",
        "objects/ab",
    ];
    for place in places {
        let repo = example();
        let (here, away) = (repo.path().join(".git").join(place), repo.outside().join("away"));
        if here.exists() {
            move_path(&here, &away);
        } else {
            make_dir(&away);
        }
        make_link(&here, away.to_str().unwrap());
        let before = tree_of(&away);
        let edits = [("a.txt", text("x\n"))];
        let current = TargetSpec::CurrentBranch;
        for spec in [current.clone(), TargetSpec::DryRun(Box::new(current.clone()))] {
            let error = land(&repo, &spec, &edits).unwrap_err();
            assert_eq!(error.code(), "link-in-git-dir", "{place}");
            assert!(error.to_string().contains(place), "{place}: {error}");
        }
        assert_eq!(tree_of(&away), before, "{place}");
        assert_eq!(repo.read("a.txt"), b"one\ntwo\nthree\n", "{place}");
    }
    // One that is made after the change was judged.
    let repo = example();
    let repository = open(&repo);
    let target = repository.resolve(&TargetSpec::CurrentBranch).unwrap();
    let change = crate::support::change(&repository, &target, &[("a.txt", text("x\n"))]);
    let logs = repo.path().join(".git/logs");
    move_path(&logs, &repo.outside().join("logs"));
    make_link(&logs, repo.outside().join("logs").to_str().unwrap());
    let approved = crate::support::approved(change, &target);
    let error = repository.land(approved, &crate::support::plan(&target), &mut Sink(accept));
    assert_eq!(error.unwrap_err().code(), "link-in-git-dir");
}

/// Every file below a place, with its content.
fn tree_of(place: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    if place.is_file() {
        return vec![(place.to_owned(), read_file(place))];
    }
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.flat_map(|entry| tree_of(&entry.path())).collect();
    found.sort();
    found
}

#[test]
fn a_git_directory_that_does_not_point_back_is_somebody_elses() {
    let code = |repo: &TestRepo| {
        Repository::discover(repo.path())
            .map_err(|error| error.code())
            .err()
    };
    // A shared directory that is another repository's.
    let (victim, here) = (example(), example());
    let theirs = victim.path().join(".git");
    here.write(".git/commondir", format!("{}\n", theirs.display()));
    assert_eq!(code(&here), Some("foreign-git-dir"));
    assert!(!theirs.join("agentos").exists());

    // A file, and a link, that name it; and one that names a work tree of it.
    let linked = victim.outside().join("linked");
    victim.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ]);
    let here = TestRepo::new();
    let dot_git = here.path().join(".git");
    move_path(&dot_git, &here.outside().join("git"));
    for named in [theirs.clone(), theirs.join("worktrees/linked")] {
        write_file(&dot_git, format!("gitdir: {}\n", named.display()));
        assert_eq!(code(&here), Some("foreign-git-dir"), "{}", named.display());
    }
    std::fs::remove_file(&dot_git).unwrap();
    make_link(&dot_git, theirs.to_str().unwrap());
    assert_eq!(code(&here), Some("foreign-git-dir"));
    assert!(Repository::discover(&linked).is_ok());

    // One of its own, somewhere else, that says so.
    std::fs::remove_file(&dot_git).unwrap();
    write_file(
        &dot_git,
        format!("gitdir: {}\n", here.outside().join("git").display()),
    );
    assert_eq!(code(&here), Some("foreign-git-dir"));
    here.git(&["config", "core.worktree", here.path().to_str().unwrap()]);
    assert_eq!(code(&here), None);
}
