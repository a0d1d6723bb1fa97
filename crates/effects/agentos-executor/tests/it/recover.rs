//! What a killed landing leaves is finished or taken back.

use agentos_durable::SyncFile;
use agentos_executor::{
    ExecError, Intent, IntentSink, Receipt, RecoveryOutcome, Repository, TargetSpec, Writes,
};
use agentos_testkit::repo::{TestRepo, make_link, read_file, remove_file, write_file};
use serde_json::json;

use crate::support::{Sink, accept, assert_sound, example, land, land_in, open, program, text};

/// Lands a change whose last step fails: a file stands where a folder must be made, put there at the last moment.
fn cut_short(repo: &TestRepo, spec: &TargetSpec) -> ExecError {
    let mut sink = Sink(|intent: &_| {
        repo.write("z", "in the way");
        accept(intent)
    });
    let edits = [
        ("a.txt", program("x\n")),
        ("dir/b.txt", None),
        ("n/m", text("m\n")),
        ("z/y", text("y\n")),
    ];
    land_in(&open(repo), spec, &edits, &mut sink).unwrap_err()
}

#[test]
fn a_change_that_is_made_is_finished_by_the_next_call() {
    for spec in [TargetSpec::CurrentBranch, TargetSpec::WorkTreeOnly] {
        let repo = example();
        let error = cut_short(&repo, &spec);
        assert_eq!(error.code(), "unfinished", "{error}");
        remove_file(&repo.path().join("z"));
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(
            (recovered.run.as_str(), recovered.outcome),
            ("run-1", RecoveryOutcome::Finished)
        );
        assert_eq!(recovered.kept, Vec::<String>::new());
        let staged = if spec == TargetSpec::WorkTreeOnly {
            "M  a.txt\nD  dir/b.txt\nA  n/m\nA  z/y"
        } else {
            ""
        };
        assert_eq!(repo.status(), staged);
        assert!(repo.git(&["ls-files", "--stage", "a.txt"]).starts_with("100755"));
        assert_eq!(open(&repo).recover().unwrap(), None);
        assert_sound(&repo);
    }
}

#[test]
fn the_next_landing_finishes_it_first_and_tells() {
    let repo = example();
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    let receipt = land(&repo, &TargetSpec::CurrentBranch, &[("next.txt", text("n\n"))]).unwrap();
    assert_eq!(
        receipt.recovered.map(|recovered| recovered.outcome),
        Some(RecoveryOutcome::Finished)
    );
    assert_eq!(repo.status(), "");
    assert_sound(&repo);
}

#[test]
fn what_was_finished_before_a_refusal_is_told_all_the_same() {
    let repo = example();
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    let repository = open(&repo);
    repo.write("mine.txt", "mine\n");
    let edits = [("mine.txt", text("theirs\n"))];
    let error = land_in(&repository, &TargetSpec::CurrentBranch, &edits, &mut Sink(accept)).unwrap_err();
    assert_eq!(error.code(), "dirty-overlap");
    let recovered = repository.take_recovered().unwrap();
    assert_eq!(recovered.outcome, RecoveryOutcome::Finished);
    assert_eq!(repository.take_recovered(), None);
    assert_eq!(repo.status(), "?? mine.txt");
}

#[test]
fn what_a_user_edited_since_is_kept() {
    let repo = example();
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    repo.write("n/m", "edited since\n");
    let recovered = open(&repo).recover().unwrap().unwrap();
    assert_eq!(recovered.kept, ["n/m"]);
    assert_eq!(repo.read("n/m"), b"edited since\n");
    assert_eq!(repo.status(), " M n/m");
    assert_sound(&repo);
}

#[test]
fn a_branch_that_moved_on_is_left_alone() {
    let repo = example();
    cut_short(&repo, &TargetSpec::CurrentBranch);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "moved on"]);
    let before = repo.status().replace("?? .agentos-run-1-3.tmp\n", "");
    let recovered = open(&repo).recover().unwrap().unwrap();
    assert_eq!(recovered.outcome, RecoveryOutcome::Superseded);
    assert_eq!(repo.status(), before);
    assert_sound(&repo);
}

#[test]
fn a_branch_that_was_renamed_since_is_finished_under_its_new_name() {
    let ways: [&[&str]; 2] = [
        &["branch", "-m", "main", "trunk"],
        &["checkout", "--quiet", "-b", "own"],
    ];
    for way in ways {
        let repo = example();
        cut_short(&repo, &TargetSpec::CurrentBranch);
        remove_file(&repo.path().join("z"));
        repo.git(way);
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, RecoveryOutcome::Finished);
        assert_eq!((recovered.kept, repo.status()), (Vec::new(), String::new()));
        assert_sound(&repo);
    }
}

#[test]
fn a_commit_that_a_user_took_away_since_was_made_all_the_same() {
    let ways: [&[&str]; 3] = [
        &["reset", "--quiet", "--soft", "HEAD^"],
        &[
            "commit",
            "--quiet",
            "--amend",
            "--allow-empty",
            "-m",
            "in other words",
        ],
        &["checkout", "--quiet", "--force", "-B", "main", "HEAD^"],
    ];
    for way in ways {
        let repo = example();
        cut_short(&repo, &TargetSpec::CurrentBranch);
        let made = repo.git(&["rev-parse", "HEAD"]);
        repo.git(way);
        let before = repo.status().replace("?? .agentos-run-1-3.tmp\n", "");
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, RecoveryOutcome::Superseded);
        assert_eq!((recovered.commit, repo.status()), (Some(made), before));
        assert_sound(&repo);
    }
}

#[test]
fn another_branch_that_is_checked_out_by_now_is_left_alone() {
    for (spec, switch) in [
        (TargetSpec::CurrentBranch, "--quiet"),
        (TargetSpec::CurrentBranch, "--detach"),
        (TargetSpec::WorkTreeOnly, "--quiet"),
    ] {
        let repo = example();
        repo.git(&["branch", "other"]);
        cut_short(&repo, &spec);
        remove_file(&repo.path().join("z"));
        repo.git(&["checkout", "--quiet", "--force", switch, "other"]);
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, RecoveryOutcome::Superseded);
        assert_eq!(recovered.commit.is_some(), spec == TargetSpec::CurrentBranch);
        assert_eq!(repo.git(&["diff", "--name-only", "HEAD"]), "");
        assert_eq!(open(&repo).recover().unwrap(), None);
        assert_sound(&repo);
    }
}

#[test]
fn a_branch_that_cannot_be_read_is_no_landing_taken_back() {
    let repo = example();
    cut_short(&repo, &TargetSpec::CurrentBranch);
    let head = repo.read(".git/refs/heads/main");
    repo.write(".git/refs/heads/main", "not an id\n");
    let error = open(&repo).recover().unwrap_err();
    assert_eq!(error.code(), "recovery-blocked");
    let said = error.to_string();
    let lead = "run `run-1` was interrupted and cannot be finished now: cannot read the branch: ";
    assert!(said.starts_with(lead), "{said}");
    assert!(repo.has(".git/agentos/journal.json"));
    repo.write(".git/refs/heads/main", head);
    remove_file(&repo.path().join("z"));
    let recovered = open(&repo).recover().unwrap().unwrap();
    assert_eq!(recovered.outcome, RecoveryOutcome::Finished);
}

/// The branch's file as a loss of power may leave it, and the logs.
fn lose_the_branch(repo: &TestRepo, file: &str, logs_too: bool) {
    for log in [".git/logs/refs/heads/main", ".git/logs/HEAD"] {
        let lines = String::from_utf8(repo.read(log)).unwrap();
        let (before, _) = lines.trim_end().rsplit_once('\n').unwrap();
        if logs_too {
            repo.write(log, format!("{before}\n"));
        }
    }
    repo.write(".git/refs/heads/main", file);
}

/// The work tree as it was before the landing.
fn lose_the_work_tree(repo: &TestRepo, before: &str) {
    repo.git(&["checkout", "--quiet", "--force", before, "--", "."]);
    repo.git(&["clean", "--quiet", "-d", "--force"]);
}

/// The machine was started since the journal was written.
fn start_anew(repo: &TestRepo) {
    forge(repo, &[("boot", json!("another"))]);
}

/// The journal, with other values for members that it has.
fn forge(repo: &TestRepo, members: &[(&str, serde_json::Value)]) {
    let path = ".git/agentos/journal.json";
    let mut journal: serde_json::Value = serde_json::from_slice(&repo.read(path)).unwrap();
    for (name, value) in members {
        assert_ne!(journal[name], json!(null), "{name}");
        journal[name] = value.clone();
    }
    repo.write(path, journal.to_string());
}

/// What a branch's file holds after the move of it was lost.
fn left_of(before: &str, torn: bool) -> String {
    if torn {
        String::new()
    } else {
        format!("{before}\n")
    }
}

#[test]
fn a_branch_that_a_loss_of_power_took_back_is_moved_again() {
    let lost = [
        (false, false, false),
        (false, false, true),
        (false, true, false),
        (true, false, false),
        (true, true, false),
        (true, true, true),
    ];
    for (torn, logs_too, work_tree_too) in lost {
        let repo = example();
        let before = repo.git(&["rev-parse", "HEAD"]);
        cut_short(&repo, &TargetSpec::CurrentBranch);
        let made = repo.git(&["rev-parse", "HEAD"]);
        remove_file(&repo.path().join("z"));
        lose_the_branch(&repo, &left_of(&before, torn), logs_too);
        if work_tree_too {
            lose_the_work_tree(&repo, &before);
        }
        start_anew(&repo);
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(
            (recovered.outcome, recovered.commit.as_deref()),
            (RecoveryOutcome::Finished, Some(made.as_str())),
            "torn {torn}, logs {logs_too}, work tree {work_tree_too}"
        );
        assert_eq!(
            (repo.git(&["rev-parse", "HEAD"]), repo.status()),
            (made, String::new())
        );
        assert_sound(&repo);
    }
}

#[test]
fn a_branch_is_not_moved_again_where_nothing_or_somebody_says_that_it_was_moved() {
    type Then = fn(&TestRepo, &str);
    let cases: [(&str, bool, Then, RecoveryOutcome); 4] = [
        (
            "nothing was lost: the machine was not started since",
            false,
            |repo, before| lose_the_branch(repo, &format!("{before}\n"), false),
            RecoveryOutcome::Superseded,
        ),
        (
            "the work tree is as it was before",
            true,
            |repo, before| {
                lose_the_work_tree(repo, before);
                lose_the_branch(repo, &format!("{before}\n"), true);
            },
            RecoveryOutcome::RolledBack,
        ),
        (
            "somebody moved it back",
            true,
            |repo, _| drop(repo.git(&["reset", "--quiet", "--soft", "HEAD^"])),
            RecoveryOutcome::Superseded,
        ),
        (
            "another branch is checked out",
            true,
            |repo, before| {
                repo.git(&["branch", "--quiet", "own", before]);
                repo.write(".git/HEAD", "ref: refs/heads/own\n");
                lose_the_branch(repo, &format!("{before}\n"), true);
            },
            RecoveryOutcome::RolledBack,
        ),
    ];
    for (name, started, then, outcome) in cases {
        let repo = example();
        let before = repo.git(&["rev-parse", "HEAD"]);
        cut_short(&repo, &TargetSpec::CurrentBranch);
        remove_file(&repo.path().join("z"));
        then(&repo, &before);
        if started {
            start_anew(&repo);
        }
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, outcome, "{name}");
        assert_eq!(repo.git(&["rev-parse", "main"]), before, "{name}");
    }
}

#[test]
fn a_branch_whose_move_was_only_logged_was_not_moved() {
    let repo = example();
    let before = repo.git(&["rev-parse", "HEAD"]);
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    lose_the_work_tree(&repo, &before);
    lose_the_branch(&repo, &format!("{before}\n"), false);
    let recovered = open(&repo).recover().unwrap().unwrap();
    assert_eq!(
        (recovered.outcome, recovered.commit),
        (RecoveryOutcome::RolledBack, None)
    );
    assert_eq!(
        (repo.git(&["rev-parse", "main"]), repo.status()),
        (before, String::new())
    );
    assert_sound(&repo);
}

#[test]
fn a_change_that_was_not_made_is_taken_back() {
    let repo = example();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let planned = repo.git(&["commit-tree", &tree, "-p", &head, "-m", "planned"]);
    repo.write(".agentos-run-9-0.tmp", "half a fi");
    let old = json!({ "oid": repo.git(&["rev-parse", "HEAD:a.txt"]), "mode": "regular" });
    let file = json!({ "path": "a.txt", "old": old, "new": { "oid": "0".repeat(40), "mode": "regular" } });
    for (writes, commit) in [
        (Writes::CommitAndWorkTree, Some(planned)),
        (Writes::WorkTreeOnly, None),
    ] {
        let journal = json!({
            "v": 1, "run": "run-9", "writes": writes, "refname": "refs/heads/main", "parent": head,
            "commit": commit, "decided": false, "work_dir": open(&repo).work_dir(),
            "files": [{ "file": file, "temp": ".agentos-run-9-0.tmp" }],
        });
        repo.write(".git/agentos/journal.json", journal.to_string());
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(
            (recovered.outcome, recovered.commit),
            (RecoveryOutcome::RolledBack, None)
        );
        assert_eq!(repo.status(), "");
        assert_sound(&repo);
    }
}

#[test]
fn another_work_tree_can_finish_it() {
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
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    let recovered = Repository::discover(&linked).unwrap().recover().unwrap().unwrap();
    assert_eq!(recovered.outcome, RecoveryOutcome::Finished);
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git_in(&linked, &["status", "--porcelain"]), "");
}

#[test]
fn a_journal_that_cannot_be_read_stops_everything() {
    let repo = example();
    repo.write(".git/agentos/journal.json", "{");
    assert_eq!(open(&repo).recover().unwrap_err().code(), "bad-journal");
    let error = land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap_err();
    assert_eq!(error.code(), "bad-journal");
    assert_eq!(repo.status(), "");
}

#[test]
fn what_a_loss_of_power_leaves_of_a_journal_is_none() {
    let blocks = [b"{ \"run\": \"".as_slice(), &[b'x'; 4086]].concat();
    for left in [Vec::new(), vec![0; 300], blocks] {
        let repo = example();
        repo.write(".git/agentos/journal.json", &left);
        assert_eq!(open(&repo).recover().unwrap(), None);
        land(&repo, &TargetSpec::CurrentBranch, &[("a.txt", text("x\n"))]).unwrap();
        assert_sound(&repo);
    }
}

#[test]
fn an_index_that_a_dead_landing_holds_is_let_go_and_nobody_elses() {
    let repo = example();
    repo.write(".git/index.lock", "agentos landing run-7\n");
    let recovered = open(&repo).recover().unwrap().unwrap();
    assert_eq!(
        (recovered.run.as_str(), recovered.outcome),
        ("run-7", RecoveryOutcome::RolledBack)
    );
    assert!(!repo.has(".git/index.lock"));
    for theirs in ["", "DIRC\0\0\0\u{2}", "agentos"] {
        repo.write(".git/index.lock", theirs);
        assert_eq!(open(&repo).recover().unwrap(), None);
        assert!(repo.has(".git/index.lock"), "{theirs:?}");
    }
}

#[test]
fn a_branch_that_a_dead_landing_holds_is_let_go_and_nobody_elses() {
    let repo = example();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let planned = repo.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "planned"]);
    let journal = json!({
        "v": 1, "run": "run-9", "writes": Writes::CommitOnly, "refname": "refs/heads/main", "parent": head,
        "commit": planned, "decided": false, "work_dir": null, "files": [],
    });
    let lock = ".git/refs/heads/main.lock";
    for (before, after, is_ours) in [
        (None, Some(String::new()), true),
        (None, Some(format!("{planned}\n")), true),
        (None, Some(format!("{head}\n")), false),
        (Some(String::new()), None, false),
    ] {
        for (text, journal_follows) in [(&before, true), (&after, false)] {
            if let Some(text) = text {
                repo.write(lock, text);
                let age = std::time::Duration::from_secs(if journal_follows { 60 } else { 0 });
                let file = std::fs::OpenOptions::new()
                    .write(true)
                    .open(repo.path().join(lock))
                    .unwrap();
                let modified = file.metadata().unwrap().modified().unwrap();
                file.set_modified(modified - age).unwrap();
            }
            if journal_follows {
                repo.write(".git/agentos/journal.json", journal.to_string());
            }
        }
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, RecoveryOutcome::RolledBack);
        assert_eq!(repo.has(lock), !is_ours, "{before:?} {after:?}");
        if repo.has(lock) {
            remove_file(&repo.path().join(lock));
        }
    }
}

/// A lock on the branch, as libgit2 leaves it where it dies, or as a loss of power brings it back.
#[test]
fn a_lock_that_a_loss_of_power_brought_back_does_not_keep_the_branch_where_it_was() {
    for torn in [false, true] {
        for empty in [false, true] {
            let repo = example();
            let before = repo.git(&["rev-parse", "HEAD"]);
            cut_short(&repo, &TargetSpec::CurrentBranch);
            let made = repo.git(&["rev-parse", "HEAD"]);
            remove_file(&repo.path().join("z"));
            lose_the_branch(&repo, &left_of(&before, torn), true);
            start_anew(&repo);
            let lock = if empty { String::new() } else { format!("{made}\n") };
            repo.write(".git/refs/heads/main.lock", lock);
            let recovered = open(&repo).recover().unwrap().unwrap();
            assert_eq!(
                recovered.outcome,
                RecoveryOutcome::Finished,
                "torn {torn}, empty {empty}"
            );
            assert_eq!(
                (repo.git(&["rev-parse", "HEAD"]), repo.status()),
                (made, String::new())
            );
            assert!(!repo.has(".git/refs/heads/main.lock"));
            assert_sound(&repo);
        }
    }
}

#[test]
fn a_branch_that_somebody_moved_back_and_on_and_back_again_is_not_moved_again() {
    let repo = example();
    let before = repo.git(&["rev-parse", "HEAD"]);
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    start_anew(&repo);
    repo.git(&["reset", "--quiet", "--soft", "HEAD^"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "other"]);
    repo.git(&["reset", "--quiet", "--soft", "HEAD^"]);
    open(&repo).recover().unwrap().unwrap();
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
}

#[test]
fn a_branch_is_not_moved_again_to_a_commit_that_is_not_the_change() {
    for torn in [false, true] {
        let repo = example();
        let before = repo.git(&["rev-parse", "HEAD"]);
        cut_short(&repo, &TargetSpec::CurrentBranch);
        remove_file(&repo.path().join("z"));
        let tree = format!("{before}^{{tree}}");
        let theirs = repo.git(&["commit-tree", "-p", &before, "-m", "theirs", &tree]);
        lose_the_branch(&repo, &format!("{before}\n"), true);
        forge(&repo, &[("boot", json!("another")), ("commit", json!(theirs))]);
        if torn {
            repo.write(".git/refs/heads/main", "");
            // A branch that cannot be read is told.
            open(&repo).recover().unwrap_err();
            assert_eq!(repo.read(".git/refs/heads/main"), b"");
        } else {
            let recovered = open(&repo).recover().unwrap().unwrap();
            assert_eq!(recovered.outcome, RecoveryOutcome::RolledBack);
            assert_eq!(repo.git(&["rev-parse", "main"]), before);
        }
    }
}

#[test]
fn a_branch_is_not_moved_again_to_a_commit_whose_content_was_lost() {
    let repo = example();
    let before = repo.git(&["rev-parse", "HEAD"]);
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    let blob = repo.git(&["rev-parse", "HEAD:n/m"]);
    lose_the_branch(&repo, &format!("{before}\n"), true);
    start_anew(&repo);
    let (first, rest) = blob.split_at(2);
    remove_file(&repo.path().join(format!(".git/objects/{first}/{rest}")));
    let recovered = open(&repo).recover().unwrap().unwrap();
    assert_eq!(recovered.outcome, RecoveryOutcome::RolledBack);
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
}

#[cfg(unix)]
#[test]
fn a_journal_does_not_lead_to_a_branch_outside() {
    let repo = example();
    cut_short(&repo, &TargetSpec::CurrentBranch);
    remove_file(&repo.path().join("z"));
    let outside = repo.outside().join("theirs");
    write_file(&outside.join("__init__.py"), "");
    make_link(&repo.path().join(".git/refs/heads/d"), outside.to_str().unwrap());
    let refname = json!("refs/heads/d/__init__.py");
    forge(&repo, &[("boot", json!("another")), ("refname", refname)]);
    drop(open(&repo).recover());
    assert_eq!(read_file(&outside.join("__init__.py")), b"");
}

/// Keeps the journal that is removed right after the receipt: a loss of power can bring it back.
struct KeepJournal<'a>(&'a TestRepo, Vec<u8>);

impl IntentSink for KeepJournal<'_> {
    fn intent(&mut self, intent: &Intent) -> Result<String, String> {
        accept(intent)
    }

    fn receipt(&mut self, _: &Receipt, _: &mut SyncFile<'_>) {
        self.1 = self.0.read(".git/agentos/journal.json");
    }
}

#[test]
fn a_journal_that_a_loss_of_power_brought_back_takes_nothing_from_the_user() {
    for spec in [TargetSpec::CurrentBranch, TargetSpec::WorkTreeOnly] {
        let repo = example();
        let mut sink = KeepJournal(&repo, Vec::new());
        let edits = [
            ("a.txt", text("x\n")),
            ("dir/b.txt", text("y\n")),
            ("n/m", text("m\n")),
        ];
        land_in(&open(&repo), &spec, &edits, &mut sink).unwrap();
        // One file is put back by hand, one deleted, one staged and edited again.
        repo.write("a.txt", "one\ntwo\nthree\n");
        remove_file(&repo.path().join("n/m"));
        repo.write("dir/b.txt", "staged\n");
        repo.git(&["add", "dir/b.txt"]);
        repo.write("dir/b.txt", "edited\n");
        let (before, staged) = (repo.status(), repo.git(&["ls-files", "--stage"]));
        repo.write(".git/agentos/journal.json", &sink.1);
        start_anew(&repo);
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, RecoveryOutcome::Finished);
        assert_eq!(repo.git(&["ls-files", "--stage"]), staged, "{spec:?}");
        assert_eq!(repo.status(), before, "{spec:?}");
        assert_sound(&repo);
    }
}

#[test]
fn a_first_commit_that_a_loss_of_power_took_back_is_made_again() {
    for (logs_too, torn) in [(false, false), (true, false), (false, true), (true, true)] {
        let repo = TestRepo::new();
        let mut sink = Sink(|intent: &_| {
            repo.write("z", "in the way");
            accept(intent)
        });
        let edits = [("a.txt", text("a\n")), ("z/y", text("y\n"))];
        let error = land_in(&open(&repo), &TargetSpec::CurrentBranch, &edits, &mut sink).unwrap_err();
        assert_eq!(error.code(), "unfinished", "{error}");
        remove_file(&repo.path().join("z"));
        let made = repo.git(&["rev-parse", "HEAD"]);
        if torn {
            repo.write(".git/refs/heads/main", "");
        } else {
            remove_file(&repo.path().join(".git/refs/heads/main"));
        }
        if logs_too {
            remove_file(&repo.path().join(".git/logs/refs/heads/main"));
            remove_file(&repo.path().join(".git/logs/HEAD"));
        }
        start_anew(&repo);
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(
            (recovered.outcome, recovered.commit.as_deref()),
            (RecoveryOutcome::Finished, Some(made.as_str())),
            "logs {logs_too}, torn {torn}"
        );
        assert_eq!(
            (repo.git(&["rev-parse", "HEAD"]), repo.status()),
            (made, String::new())
        );
        assert_sound(&repo);
    }
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_finished_without_a_file() {
    for index in ["--no-sparse-index", "--sparse-index"] {
        for spec in [TargetSpec::CurrentBranch, TargetSpec::WorkTreeOnly] {
            let repo = example();
            repo.write("kept/k.txt", "k\n");
            repo.write("other/o.txt", "o\n");
            repo.commit_all("more");
            repo.git(&["sparse-checkout", "set", "--cone", index, "kept"]);
            let mut sink = Sink(|intent: &_| {
                repo.write("kept/z", "in the way");
                accept(intent)
            });
            let edits = [
                ("dir/b.txt", text("B\n")),
                ("dir/n.txt", text("n\n")),
                ("other/o.txt", None),
                ("kept/z/y", text("y\n")),
            ];
            let error = land_in(&open(&repo), &spec, &edits, &mut sink).unwrap_err();
            assert_eq!(error.code(), "unfinished", "{error}");
            remove_file(&repo.path().join("kept/z"));
            let recovered = open(&repo).recover().unwrap().unwrap();
            assert_eq!(
                (recovered.outcome, recovered.kept),
                (RecoveryOutcome::Finished, Vec::new())
            );
            let staged = match spec {
                TargetSpec::WorkTreeOnly => "M  dir/b.txt\nA  dir/n.txt\nA  kept/z/y\nD  other/o.txt",
                _ => "",
            };
            assert_eq!(repo.status(), staged);
            assert!(!repo.has("dir/b.txt") && repo.has("kept/z/y"));
            repo.git(&["write-tree"]);
            assert_sound(&repo);
            // A journal that a loss of power brought back finds nothing left to do.
            assert_eq!(open(&repo).recover().unwrap(), None);
        }
    }
}
