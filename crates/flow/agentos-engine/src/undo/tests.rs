//! Which run is taken back, where, and what is said of it.

use super::*;
use crate::OutcomeKind;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, land_answer, landed_once, run_with_effects};

fn undo(
    repo: &TestRepository,
    tape: &TestTape,
    run: &str,
    named: Option<&str>,
    is_dry: bool,
) -> Result<Outcome, EffectError> {
    let reader = tape.reader();
    run_with_effects(
        repo,
        &mut tape.begin_run(run),
        run,
        async |effects, run, cancel| {
            let order = UndoOrder { run, named, is_dry };
            undo_run(effects, &reader, repo, &order, cancel).await
        },
    )
}

fn on_main() -> LandingPlace {
    LandingPlace::Branch("main".to_owned())
}

#[test]
fn an_undo_restores_the_text_and_can_be_undone() {
    let (repo, tape) = landed_once();
    let looked = undo(&repo, &tape, "looks", None, true).unwrap();
    assert!(
        looked.message.contains("would undo run lands (commit "),
        "{}",
        looked.message
    );
    assert_eq!(repo.text("a.txt").as_deref(), Some("two\n"));
    let undone = undo(&repo, &tape, "undoes", None, false).unwrap();
    assert!(
        undone.message.contains("; undoes run lands (commit "),
        "{}",
        undone.message
    );
    assert_eq!(repo.text("a.txt").as_deref(), Some("one\n"));
    let again = undo(&repo, &tape, "again", Some("undoes"), false).unwrap();
    assert!(
        again
            .message
            .ends_with("; this undoes an undo: it lands the change of run lands again"),
        "{}",
        again.message
    );
    assert_eq!(repo.text("a.txt").as_deref(), Some("two\n"));
    assert_eq!(
        repo.aims(),
        [LandingPlace::DryRun(Box::new(on_main())), on_main(), on_main()]
    );
}

#[test]
fn a_landing_whose_receipt_is_lost_is_known_by_its_commit() {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = TestTape::default();
    let mut killed = TestTape {
        fails_on: Some(RecordKind::Receipt),
        ..tape.begin_run("killed")
    };
    assert!(land_answer(&repo, &mut killed, "killed", DIFF).commit.is_some());
    let undone = undo(&repo, &tape, "undoes", None, false).unwrap();
    assert!(
        undone.message.contains("undoes run killed (commit "),
        "{}",
        undone.message
    );
    assert_eq!(repo.text("a.txt").as_deref(), Some("one\n"));
}

#[test]
fn a_branch_that_is_gone_is_looked_for_where_its_commit_went() {
    let (repo, tape) = landed_once();
    repo.rename_branch();
    undo(&repo, &tape, "undoes", None, false).unwrap();
    assert_eq!(repo.aims(), [LandingPlace::CheckedOut]);
}

#[test]
fn what_cannot_be_taken_back_says_why() {
    let (repo, tape) = landed_once();
    let cases = [
        (
            "unknown",
            Some("nobody"),
            "usage",
            "there is no run `nobody` on the tape",
        ),
        (
            "a run that landed nothing",
            Some("refused"),
            "usage",
            "run `refused` landed nothing",
        ),
    ];
    let refused = land_answer(&repo, &mut tape.begin_run("refused"), "refused", DIFF);
    assert_eq!(refused.cause, Cause::Landing);
    for (what, named, code, words) in cases {
        let error = undo(&repo, &tape, "undoes", named, false).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            (code, words),
            "{what}"
        );
    }
    let (empty, blank) = (TestRepository::with_files(&[]), TestTape::default());
    let error = undo(&empty, &blank, "undoes", None, false).unwrap_err();
    assert_eq!(error.code, "nothing-to-undo");
}

#[test]
fn an_undo_without_a_place_says_what_became_of_the_landing() {
    type Step = fn(&TestRepository);
    let cases: [(&str, Step, &str); 3] = [
        (
            "edited since",
            |repo| repo.commit_files(&[("a.txt", "three\n")]),
            "the files have changed since run lands",
        ),
        (
            "back already",
            |repo| repo.commit_files(&[("a.txt", "one\n")]),
            "run lands was undone already",
        ),
        (
            "gone from the history",
            |repo| {
                repo.commit_files(&[("a.txt", "one\n")]);
                repo.forget_landings();
            },
            "is on no branch any more",
        ),
    ];
    for (what, happens, words) in cases {
        let (repo, tape) = landed_once();
        happens(&repo);
        let outcome = undo(&repo, &tape, "undoes", None, false).unwrap();
        assert_eq!(outcome.cause, Cause::Landing, "{what}");
        let hint = outcome.hint.unwrap_or_default();
        assert!(hint.contains(words), "{what}: {hint}");
    }
}

#[test]
fn a_removal_at_an_edge_is_undone_only_if_nothing_else_is_there() {
    const LAST: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n";
    const FIRST: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n+zero\n one\n two\n";
    let cases = [
        (
            "the last line, changed",
            LAST,
            "one\ntwo\nTHREE\n",
            "the files have changed since",
        ),
        ("the last line, gone", LAST, "one\ntwo\n", "was undone already"),
        (
            "the last line, gone and more above",
            LAST,
            "more\none\ntwo\n",
            "was undone already",
        ),
        (
            "the first line, changed",
            FIRST,
            "ZERO\none\ntwo\n",
            "the files have changed since",
        ),
        ("the first line, gone", FIRST, "one\ntwo\n", "was undone already"),
    ];
    for (what, diff, now, words) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\ntwo\n")]);
        let tape = TestTape::default();
        let outcome = land_answer(&repo, &mut tape.begin_run("lands"), "lands", diff);
        assert_eq!(outcome.outcome, OutcomeKind::Landed, "{}", outcome.message);
        repo.commit_files(&[("a.txt", now)]);
        let outcome = undo(&repo, &tape, "undoes", None, false).unwrap();
        let hint = outcome.hint.unwrap_or_default();
        assert!(hint.contains(words), "{what}: {hint}");
        assert_eq!(repo.text("a.txt").as_deref(), Some(now), "{what}");
    }
}
