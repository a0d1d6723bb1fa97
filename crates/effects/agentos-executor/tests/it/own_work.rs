//! A change beside a person's uncommitted work in the same file.

use agentos_executor::{ExecError, RecoveryOutcome, TargetSpec};
use agentos_testkit::repo::{TestRepo, remove_file, set_mode};

use crate::support::{Sink, accept, assert_sound, land, land_in, open, program, text};

/// Nine lines, some of them other ones.
fn nine(edits: &[(usize, &str)]) -> String {
    let line = |at: usize| {
        let edit = edits.iter().find(|(line, _)| *line == at);
        edit.map_or_else(|| format!("{at}\n"), |(_, text)| (*text).to_owned())
    };
    (1..=9).map(line).collect()
}

fn numbered() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("n.txt", nine(&[]));
    repo.write("other.txt", "other\n");
    repo.commit_all("first");
    repo
}

/// Content of the file in commit, index and working tree.
fn places(repo: &TestRepo) -> [String; 3] {
    let shown = |name: &str| repo.git(&["show", name]) + "\n";
    let on_disk = String::from_utf8(repo.read("n.txt")).unwrap();
    [shown("HEAD:n.txt"), shown(":n.txt"), on_disk]
}

const FIVE: (usize, &str) = (5, "five\n");

#[test]
fn commit_index_and_work_tree_each_get_the_change_on_what_they_have() {
    let one = (1, "staged\n");
    let nine_th = (9, "mine\n");
    // What is staged, what is on the disk, and both after the change.
    type Case<'a> = (&'a [(usize, &'a str)], &'a [(usize, &'a str)]);
    let cases: [Case<'_>; 7] = [
        (&[], &[one]),
        (&[one], &[one]),
        (&[one], &[one, nine_th]),
        (&[one], &[]),
        (&[(1, "")], &[(1, ""), (9, "")]),
        (&[], &[(1, "0\n1\n"), (9, "9")]),
        (&[(3, "3\nx\n")], &[(7, "\u{0}\n".trim_matches('\0'))]),
    ];
    for (staged, on_disk) in cases {
        for spec in [TargetSpec::CurrentBranch, TargetSpec::WorkTreeOnly] {
            let repo = numbered();
            repo.write("n.txt", nine(staged));
            repo.git(&["add", "n.txt"]);
            repo.write("n.txt", nine(on_disk));
            let with = |edits: &[(usize, &str)]| nine(&[edits, &[FIVE]].concat());
            let dry = TargetSpec::DryRun(Box::new(spec.clone()));
            let edits = [("n.txt", text(&nine(&[FIVE])))];
            let receipt = land(&repo, &dry, &edits).unwrap();
            assert_eq!(receipt.merged, ["n.txt"]);
            assert_eq!(places(&repo), [nine(&[]), nine(staged), nine(on_disk)]);
            let receipt = land(&repo, &spec, &edits).unwrap();
            assert_eq!(receipt.merged, ["n.txt"]);
            let committed = match spec {
                TargetSpec::CurrentBranch => nine(&[FIVE]),
                _ => nine(&[]),
            };
            let [commit, index, tree] = places(&repo);
            assert_eq!(commit, committed, "{staged:?} {on_disk:?}");
            assert_eq!(
                index.trim_end(),
                with(staged).trim_end(),
                "{staged:?} {on_disk:?}"
            );
            assert_eq!(tree, with(on_disk), "{staged:?} {on_disk:?}");
            assert_sound(&repo);
            if spec == TargetSpec::CurrentBranch {
                // The way back is a change as any other.
                land(&repo, &spec, &[("n.txt", text(&nine(&[])))]).unwrap();
                assert_eq!(repo.read("n.txt"), nine(on_disk).as_bytes());
                assert_eq!(repo.git(&["show", ":n.txt"]), nine(staged).trim_end());
                assert_sound(&repo);
            }
        }
    }
}

#[test]
fn git_sees_what_is_not_committed() {
    let repo = numbered();
    repo.write("n.txt", nine(&[(1, "mine\n")]));
    land(
        &repo,
        &TargetSpec::CurrentBranch,
        &[("n.txt", text(&nine(&[FIVE])))],
    )
    .unwrap();
    assert_eq!(repo.status(), " M n.txt");
    let diff = repo.git(&["diff", "--unified=0", "n.txt"]);
    assert!(diff.ends_with("@@ -1 +1 @@\n-1\n+mine"), "{diff}");
}

#[test]
fn work_that_the_change_touches_is_refused_with_its_lines() {
    type Spoil = fn(&TestRepo);
    let cases: [(&str, Spoil, &str); 9] = [
        (
            "the same line",
            |r| r.write("n.txt", nine(&[(5, "mine\n")])),
            "`n.txt` (line 5)",
        ),
        (
            "the line above",
            |r| r.write("n.txt", nine(&[(4, "mine\n")])),
            "`n.txt` (line 4)",
        ),
        (
            "a line put below",
            |r| r.write("n.txt", nine(&[(5, "5\nmine\n")])),
            "`n.txt` (line 6)",
        ),
        (
            "several lines",
            |r| r.write("n.txt", nine(&[(1, "0\n1\n"), (5, "mine\n"), (6, "mine\n")])),
            "`n.txt` (lines 6 to 7)",
        ),
        (
            "a deleted line",
            |r| r.write("n.txt", nine(&[(6, "")])),
            "`n.txt` (lines deleted before line 6)",
        ),
        (
            "the same line, staged only",
            |r| {
                r.write("n.txt", nine(&[(5, "mine\n")]));
                r.git(&["add", "n.txt"]);
                r.write("n.txt", nine(&[]));
            },
            "`n.txt` (line 5)",
        ),
        (
            "binary content",
            |r| r.write("n.txt", nine(&[(1, "\0\n")])),
            "`n.txt`",
        ),
        (
            "another mode",
            |r| {
                r.write("n.txt", nine(&[(1, "mine\n")]));
                set_mode(&r.path().join("n.txt"), 0o755);
            },
            "`n.txt`",
        ),
        (
            "a conflict",
            |r| {
                let id = r.git(&["rev-parse", ":n.txt"]);
                r.git(&["update-index", "--force-remove", "n.txt"]);
                let line = |stage: u8| format!("100644 {id} {stage}\tn.txt\n");
                agentos_testkit::repo::write_file(&r.outside().join("info"), [1, 2, 3].map(line).concat());
                let place = r.outside().join("info");
                r.git(&[
                    "-c",
                    &format!("alias.feed=!git update-index --index-info < {}", place.display()),
                    "feed",
                ]);
            },
            "`n.txt`",
        ),
    ];
    for (name, spoil, told) in cases {
        let repo = numbered();
        spoil(&repo);
        let (head, status, tree) = (
            repo.git(&["rev-parse", "HEAD"]),
            repo.status(),
            repo.read("n.txt"),
        );
        let error = land(
            &repo,
            &TargetSpec::CurrentBranch,
            &[("n.txt", text(&nine(&[FIVE])))],
        )
        .unwrap_err();
        assert_eq!(error.code(), "dirty-overlap", "{name}: {error}");
        assert_eq!(
            error.to_string(),
            format!("uncommitted work is in the way: {told}"),
            "{name}"
        );
        assert_eq!(
            (head, status, tree),
            (
                repo.git(&["rev-parse", "HEAD"]),
                repo.status(),
                repo.read("n.txt")
            ),
            "{name}"
        );
        assert_sound(&repo);
    }
}

#[test]
fn a_change_of_more_than_lines_is_refused_beside_work() {
    let repo = numbered();
    repo.write("n.txt", nine(&[(1, "mine\n")]));
    let edits = [
        [("n.txt", None), ("other.txt", None)],
        [("n.txt", program(&nine(&[FIVE]))), ("other.txt", text("o\n"))],
        [
            ("n.txt", text(&nine(&[FIVE]))),
            (".gitattributes", text("*.txt text eol=crlf\n")),
        ],
    ];
    for edits in edits {
        let error = land(&repo, &TargetSpec::CurrentBranch, &edits).unwrap_err();
        assert_eq!(error.code(), "dirty-overlap", "{error}");
        assert_eq!(repo.status(), " M n.txt");
    }
    assert_sound(&repo);
}

#[test]
fn line_ends_of_the_work_tree_stay() {
    let repo = numbered();
    repo.write(".gitattributes", "n.txt text eol=crlf\n");
    repo.commit_all("attributes");
    let crlf = |edits: &[(usize, &str)]| nine(edits).replace('\n', "\r\n");
    repo.write("n.txt", crlf(&[(1, "mine\n")]));
    land(
        &repo,
        &TargetSpec::CurrentBranch,
        &[("n.txt", text(&nine(&[FIVE])))],
    )
    .unwrap();
    assert_eq!(repo.read("n.txt"), crlf(&[(1, "mine\n"), FIVE]).as_bytes());
    assert_eq!(repo.git(&["show", "HEAD:n.txt"]) + "\n", nine(&[FIVE]));
    assert_eq!(repo.status(), " M n.txt");
}

/// Lands beside work, and is stopped after the branch moved.
fn cut_short(repo: &TestRepo) -> ExecError {
    let mut sink = Sink(|intent: &_| {
        repo.write("z", "in the way");
        accept(intent)
    });
    let edits = [("n.txt", text(&nine(&[FIVE]))), ("z/y", text("y\n"))];
    let error = land_in(&open(repo), &TargetSpec::CurrentBranch, &edits, &mut sink).unwrap_err();
    remove_file(&repo.path().join("z"));
    error
}

#[test]
fn a_later_save_is_kept_by_landing_and_recovery() {
    let mine = nine(&[(1, "mine\n")]);
    let later = nine(&[(1, "mine\n"), (9, "later\n")]);
    let repo = numbered();
    repo.write("n.txt", &mine);
    let mut sink = Sink(|intent: &_| {
        repo.write("n.txt", &later);
        accept(intent)
    });
    let edits = [("n.txt", text(&nine(&[FIVE])))];
    let receipt = land_in(&open(&repo), &TargetSpec::CurrentBranch, &edits, &mut sink).unwrap();
    assert_eq!(receipt.kept, ["n.txt"]);
    assert_eq!(repo.read("n.txt"), later.as_bytes());
    assert_sound(&repo);

    for (saved, kept) in [(None, false), (Some(later.as_str()), true)] {
        let repo = numbered();
        repo.write("n.txt", &mine);
        assert_eq!(cut_short(&repo).code(), "unfinished");
        if let Some(saved) = saved {
            repo.write("n.txt", saved);
        }
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.outcome, RecoveryOutcome::Finished);
        assert_eq!(recovered.kept.is_empty(), !kept);
        let expected = saved.map_or_else(|| nine(&[(1, "mine\n"), FIVE]), str::to_owned);
        assert_eq!(repo.read("n.txt"), expected.as_bytes());
        assert_eq!(repo.git(&["show", ":n.txt"]) + "\n", nine(&[FIVE]));
        assert_sound(&repo);
    }
}
