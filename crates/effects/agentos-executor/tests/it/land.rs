//! Where a change can land, and what it looks like afterwards.

use agentos_executor::{Intent, IntentSink, Receipt, Repository, SyncFile, TargetSpec, Writes};
use agentos_testkit::repo::{TestRepo, read_file, write_file};

use crate::support::{PIN, Sink, accept, assert_sound, example, land, land_clean, land_in, open, text};

#[test]
fn a_change_becomes_a_commit_with_its_story() {
    let repo = example();
    let before = repo.git(&["rev-parse", "HEAD"]);
    let receipt = land_clean(
        &repo,
        &[("a.txt", text("one\n2\nthree\n")), ("new/c.txt", text("c\n"))],
    );
    assert_eq!(receipt.parent, before);
    assert_eq!(repo.read("a.txt"), b"one\n2\nthree\n");
    assert_eq!(repo.read("new/c.txt"), b"c\n");
    let log = repo.git(&["log", "-1", "--format=%an <%ae> %ai%n%cn%n%B"]);
    insta::assert_snapshot!(log, @"
    Lander <lander@example.com> 2026-11-21 10:14:00 +0100
    Lander
    Say it better

    Because it was not good.

    Assisted-by: test:model
    AgentOS-Run: run-1
    AgentOS-Evidence: sha256:1111111111111111111111111111111111111111111111111111111111111111
    ");
    assert_eq!(
        repo.git(&["reflog", "-1", "--format=%gs", "main"]),
        "agentos: Say it better"
    );
    assert_eq!(
        repo.git(&["diff", "--name-status", "HEAD^", "HEAD"]),
        "M\ta.txt\nA\tnew/c.txt"
    );
}

#[test]
fn a_landing_leaves_no_object_but_those_of_its_commit() {
    for count in [1, 120] {
        let repo = example();
        let many = (0..count).map(|number| (format!("many/{number}.txt"), text(&format!("{number}\n"))));
        let many = Vec::from_iter(many);
        let edits = many.iter().map(|(path, file)| (path.as_str(), file.clone()));
        land_clean(
            &repo,
            &Vec::from_iter(edits.chain([("a.txt", text("one\n2\nthree\n"))])),
        );
        assert_eq!(
            repo.git(&["fsck", "--unreachable", "--no-reflogs"]),
            "",
            "{count} files"
        );
    }
}

/// What the branch says and whether there is a journal, at each moment that the evidence is asked for something.
struct Moments<'a>(&'a TestRepo, Vec<(&'static str, String, bool)>);

impl Moments<'_> {
    fn note(&mut self, moment: &'static str) {
        let tip = self.0.git(&["rev-parse", "side"]);
        self.1
            .push((moment, tip, self.0.has(".git/agentos/journal.json")));
    }
}

impl IntentSink for Moments<'_> {
    fn intent(&mut self, _intent: &Intent) -> Result<String, String> {
        self.note("intent");
        Ok(PIN.to_owned())
    }

    fn durable(&mut self, _sync: &mut SyncFile<'_>) -> Result<(), String> {
        self.note("durable");
        Ok(())
    }

    fn receipt(&mut self, receipt: &Receipt, _sync: &mut SyncFile<'_>) {
        assert!(receipt.commit.is_some());
        self.note("receipt");
    }
}

#[test]
fn the_branch_moves_between_the_durable_intent_and_the_receipt() {
    let repo = example();
    repo.git(&["branch", "side"]);
    let before = repo.git(&["rev-parse", "side"]);
    let mut moments = Moments(&repo, Vec::new());
    let spec = TargetSpec::Branch("side".to_owned());
    let receipt = land_in(&open(&repo), &spec, &[("a.txt", text("x\n"))], &mut moments).unwrap();
    let after = receipt.commit.unwrap();
    let expected = [
        ("intent", before.clone(), false),
        ("durable", before, true),
        // A loss of power that keeps the receipt and not the branch is told by the journal.
        ("receipt", after, true),
    ];
    assert_eq!(moments.1, expected);
    assert_sound(&repo);
}

#[test]
fn an_intent_that_does_not_become_durable_stops_everything() {
    struct Full;
    impl IntentSink for Full {
        fn intent(&mut self, _intent: &Intent) -> Result<String, String> {
            Ok(PIN.to_owned())
        }
        fn durable(&mut self, _sync: &mut SyncFile<'_>) -> Result<(), String> {
            Err("the disk is full".to_owned())
        }
        fn receipt(&mut self, _receipt: &Receipt, _sync: &mut SyncFile<'_>) {
            panic!("nothing was made");
        }
    }
    for spec in [
        TargetSpec::CurrentBranch,
        TargetSpec::WorkTreeOnly,
        TargetSpec::Branch("new".to_owned()),
    ] {
        let repo = example();
        let error = land_in(&open(&repo), &spec, &[("a.txt", text("x\n"))], &mut Full).unwrap_err();
        assert_eq!(error.code(), "evidence-not-durable");
        assert_eq!(repo.status(), "");
        assert_eq!(
            repo.git(&["for-each-ref", "--format=%(refname)"]),
            "refs/heads/main"
        );
        assert_sound(&repo);
    }
}

#[test]
fn landing_works_with_packed_refs_and_packed_objects() {
    let repo = example();
    repo.git(&["pack-refs", "--all"]);
    repo.git(&["gc", "--quiet"]);
    land_clean(&repo, &[("a.txt", text("packed\n"))]);
}

#[test]
fn landing_works_in_a_linked_work_tree() {
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
    let repository = Repository::discover(&linked.join("dir")).unwrap();
    let receipt = land_in(
        &repository,
        &TargetSpec::CurrentBranch,
        &[("a.txt", text("side\n"))],
        &mut Sink(accept),
    );
    assert_eq!(receipt.unwrap().refname, "refs/heads/side");
    assert_eq!(read_file(&linked.join("a.txt")), b"side\n");
    assert_eq!(repo.git_in(&linked, &["status", "--porcelain"]), "");
    assert_eq!(
        (repo.read("a.txt"), repo.status()),
        (b"one\ntwo\nthree\n".to_vec(), String::new())
    );
    assert_sound(&repo);
}

#[test]
fn a_branch_lands_without_the_work_tree() {
    let repo = example();
    repo.write("a.txt", "my own work\n");
    for (name, creates) in [("topic", true), ("topic", false), ("deep/er", true)] {
        let spec = TargetSpec::Branch(name.to_owned());
        assert_eq!(open(&repo).resolve(&spec).unwrap().creates_branch, creates);
        let receipt = land(&repo, &spec, &[("a.txt", text(&format!("{name} {creates}\n")))]).unwrap();
        assert_eq!(receipt.commit.unwrap(), repo.git(&["rev-parse", name]));
        assert!(!receipt.work_tree_updated);
    }
    assert_eq!(repo.git(&["rev-list", "--count", "topic"]), "3");
    assert_eq!(repo.read("a.txt"), b"my own work\n");
    assert_eq!(repo.status(), " M a.txt");
    assert_sound(&repo);
}

#[test]
fn the_checked_out_branch_by_its_name_is_the_current_branch() {
    let repo = example();
    let receipt = land(
        &repo,
        &TargetSpec::Branch("main".to_owned()),
        &[("a.txt", text("x\n"))],
    )
    .unwrap();
    assert_eq!(receipt.writes, Writes::CommitAndWorkTree);
    assert_eq!(
        (repo.read("a.txt"), repo.status()),
        (b"x\n".to_vec(), String::new())
    );
}

#[test]
fn a_bare_repository_lands_on_a_branch() {
    let from = example();
    let bare = TestRepo::bare();
    from.git(&["push", "--quiet", bare.path().to_str().unwrap(), "main"]);
    let receipt = land(
        &bare,
        &TargetSpec::Branch("main".to_owned()),
        &[("a.txt", text("bare\n"))],
    )
    .unwrap();
    assert_eq!(bare.git(&["rev-parse", "main"]), receipt.commit.unwrap());
    assert_eq!(bare.git(&["show", "main:a.txt"]), "bare");
    bare.git(&["fsck", "--strict"]);
}

#[test]
fn without_a_commit_index_and_work_tree_hold_the_change() {
    let repo = example();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let receipt = land(
        &repo,
        &TargetSpec::WorkTreeOnly,
        &[("a.txt", text("x\n")), ("n.txt", text("n\n"))],
    );
    let receipt = receipt.unwrap();
    assert_eq!((receipt.commit, receipt.work_tree_updated), (None, true));
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.git(&["write-tree"]), receipt.tree);
    assert_eq!(repo.status(), "M  a.txt\nA  n.txt");
    assert_sound(&repo);
}

#[test]
fn a_dry_run_gives_the_tree_and_writes_nothing() {
    let repo = example();
    let repository = open(&repo);
    let before = repository.measure().unwrap();
    let objects = repo.git(&["count-objects"]);
    let edits = [("a.txt", text("x\n"))];
    let rehearsed = land(
        &repo,
        &TargetSpec::DryRun(Box::new(TargetSpec::CurrentBranch)),
        &edits,
    )
    .unwrap();
    assert_eq!(rehearsed.commit, None);
    assert_eq!(repository.measure().unwrap(), before);
    assert_eq!(repo.git(&["count-objects"]), objects);
    assert!(!repository.state_dir().exists());
    assert_eq!(land_clean(&repo, &edits).tree, rehearsed.tree);
}

#[test]
fn a_receipt_leads_back_to_the_tree_before() {
    let repo = example();
    let repository = open(&repo);
    let before = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let receipt = land_clean(
        &repo,
        &[("a.txt", None), ("dir/b.txt", text("new\n")), ("x/y", text(""))],
    );
    let inverse = repository.change_of(&receipt.files).unwrap().inverse().unwrap();
    let edits: Vec<_> = inverse
        .files()
        .iter()
        .map(|file| (file.path.as_str(), file.new.clone()))
        .collect();
    let undone = land_clean(&repo, &edits);
    assert_eq!(undone.tree, before);
    assert!(!repo.has("x"));
}

#[test]
fn the_history_tells_which_commits_are_ours() {
    let repo = example();
    let receipt = land_clean(&repo, &[("a.txt", text("x\n"))]);
    repo.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "AgentOS-Evidence: of no trailer\n\nbut a subject",
    ]);
    let found = open(&repo).agentos_commits(100).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(Some(found[0].id.clone()), receipt.commit);
    assert_eq!(found[0].trailer("agentos-run"), Some("run-1"));
    assert_eq!(open(&repo).commit(&found[0].id).as_ref(), Some(&found[0]));
    assert_eq!(open(&repo).commit(&"0".repeat(40)), None);
}

#[test]
fn many_landers_lose_nothing() {
    let repo = example();
    std::thread::scope(|scope| {
        for lander in 0..4 {
            let repo = &repo;
            scope.spawn(move || {
                for n in 0..5 {
                    let path = format!("l{lander}/{n}.txt");
                    let edits = [(path.as_str(), text("x\n"))];
                    while let Err(error) = land(repo, &TargetSpec::CurrentBranch, &edits) {
                        assert_eq!(error.code(), "base-moved", "{error}");
                    }
                }
            });
        }
    });
    assert_eq!(repo.git(&["rev-list", "--count", "--first-parent", "main"]), "21");
    assert_eq!(repo.git(&["ls-files"]).lines().count(), 22);
    assert_eq!(repo.status(), "");
    assert_sound(&repo);
}

#[test]
fn a_demonstration_repository_is_made_whole() {
    let repo = TestRepo::new();
    let dir = repo.outside().join("demo");
    let identity = agentos_executor::Identity {
        name: "Demo".to_owned(),
        email: "demo@example.com".to_owned(),
    };
    let files: [(&str, &[u8]); 2] = [("README.md", b"# demo\n"), ("src/a.rs", b"fn a() {}\n")];
    let made = Repository::create(&dir, &files, &identity, "Begin", 1_795_252_440).unwrap();
    assert_eq!(
        made.work_dir().map(|at| at.join("src/a.rs").is_file()),
        Some(true)
    );
    assert_eq!(
        repo.git_in(&dir, &["log", "--format=%an %s %D"]),
        "Demo Begin HEAD -> main"
    );
    assert_eq!(repo.git_in(&dir, &["status", "--porcelain"]), "");
    write_file(&dir.join("other"), "x");
    assert!(Repository::create(&dir, &files, &identity, "Begin", 0).is_err());
}

#[test]
fn many_files_become_one_pack() {
    let repo = example();
    let names: Vec<String> = (0..150).map(|number| format!("many/{number}.txt")).collect();
    let edits: Vec<_> = names.iter().map(|name| (name.as_str(), text(name))).collect();
    land_clean(&repo, &edits);
    assert_eq!(repo.read("many/149.txt"), b"many/149.txt");
    let counted = repo.git(&["count-objects", "--verbose"]);
    assert!(counted.contains("packs: 1"), "{counted}");
    // 150 contents, the folder and its parent.
    assert!(counted.contains("in-pack: 152"), "{counted}");
    assert_sound(&repo);
}
