//! Changes around withheld files, on the effects in memory.

use agentos_policy::ToolFacts;
use agentos_tool::{ExecutionMode, RunId, Timestamp};

use crate::open_requests::{
    ApprovalConsent, ApprovalOrder, PreviewedChange, approve_request, preview_request,
};
use crate::ports::Clock as _;
use crate::settle::{Proposal, RunEffects, apply_answer, patch_facts, told_state};
use crate::test_ports::{NoonClock, TestRepository, TestTape};
use crate::test_runs::{propose, run_with_effects};
use crate::{Outcome, OutcomeKind};

/// Withholds a folder from clouds.
const RULES: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
    paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n";
const PLAN: &str = "We buy the company Example in May.\npin: 1234\nuser: ann\nroom: 17\n";
const COPY: &str = "diff --git a/private/plan.txt b/docs/notes.md\nsimilarity index 100%\ncopy from private/plan.txt\ncopy to docs/notes.md\n";
const RENAME: &str = "diff --git a/private/plan.txt b/docs/notes.md\nsimilarity index 100%\nrename from private/plan.txt\nrename to docs/notes.md\n";
const SMALL: &str =
    "--- /dev/null\n+++ b/docs/new.md\n@@ -0,0 +1 @@\n+Nothing of interest to anybody is here.\n";

fn repository() -> TestRepository {
    let repo = TestRepository::with_files(&[
        ("private/plan.txt", PLAN),
        ("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"),
        ("b.txt", "This sentence is in a file for everybody.\n"),
        ("private/b.txt", "This sentence is in a file for everybody.\n"),
    ]);
    repo.set_policy(RULES);
    repo
}

fn facts(provider: &str, execution_mode: ExecutionMode) -> ToolFacts {
    ToolFacts {
        provider: provider.to_owned(),
        execution_mode,
        ..patch_facts(NoonClock::default().now())
    }
}

/// Takes the answer of a tool to its end, in a run that nobody can be asked about.
fn land_as(repo: &TestRepository, tape: &TestTape, name: &str, tool: ToolFacts, answer: &str) -> Outcome {
    let reader = tape.reader();
    run_with_effects(
        repo,
        &mut tape.begin_run(name),
        name,
        async |effects, run, cancel| {
            let mut effects = RunEffects {
                repo: effects.repo,
                evidence: &mut *effects.evidence,
                consent: &mut *effects.consent,
                clock: effects.clock,
                hooks: None,
                requests: Some(&reader),
            };
            let proposal = Proposal {
                tool,
                ..propose(run, answer)
            };
            apply_answer(&mut effects, "run", "x", &proposal, cancel).await
        },
    )
}

fn added(path: &str, lines: &str) -> String {
    let count = lines.lines().count();
    let lines: String = lines.lines().map(|line| format!("+{line}\n")).collect();
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{lines}")
}

#[test]
fn a_change_that_takes_withheld_text_waits_for_a_person() {
    let (far, near) = (
        || facts("far", ExecutionMode::Cloud),
        || facts("near", ExecutionMode::Local),
    );
    let two_hunks = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,4 @@\n one\n+pin: 1234\n+user: ann\n two\n@@ -8,2 +10,3 @@\n eight\n+room: 17\n nine\n";
    let pasted = added("docs/n.md", "  > We buy the company Example in May.");
    let readable = added("docs/n.md", "This sentence is in a file for everybody.");
    let short = added("docs/n.md", "pin: 1234");
    let cases = [
        ("a copy", far(), COPY, OutcomeKind::ConsentNeeded),
        ("a rename", far(), RENAME, OutcomeKind::ConsentNeeded),
        ("a pasted line", far(), &pasted, OutcomeKind::ConsentNeeded),
        (
            "three lines in two hunks",
            far(),
            two_hunks,
            OutcomeKind::ConsentNeeded,
        ),
        ("a line of a readable file", far(), &readable, OutcomeKind::Landed),
        ("one short line", far(), &short, OutcomeKind::Landed),
        ("another text", far(), SMALL, OutcomeKind::Landed),
        (
            "another text of a tool that may read all",
            near(),
            SMALL,
            OutcomeKind::Landed,
        ),
        (
            "a copy by a tool that may read it",
            near(),
            COPY,
            OutcomeKind::ConsentNeeded,
        ),
        (
            "a person",
            patch_facts(Timestamp::from_unix_seconds(0)),
            COPY,
            OutcomeKind::Landed,
        ),
    ];
    for (what, tool, answer, kind) in cases {
        let outcome = land_as(&repository(), &TestTape::default(), "r", tool, answer);
        assert_eq!(outcome.outcome, kind, "{what}: {}", outcome.message);
    }
    let outcome = land_as(&repository(), &TestTape::default(), "r", far(), COPY);
    insta::assert_snapshot!(
        outcome.message,
        @"policy asks for a person's consent for `main`: `docs/notes.md`: takes lines of `private/plan.txt`, which policy withholds from `far` (rule withheld-text)"
    );
    insta::assert_snapshot!(told_state(&outcome), @"policy allows it, and it waits until a person lands it on `main`");
}

#[test]
fn a_guess_about_a_withheld_file_has_one_answer() {
    let guess = |line: &str| {
        format!("--- a/private/plan.txt\n+++ b/private/plan.txt\n@@ -2,1 +2,1 @@\n-{line}\n+x\n")
    };
    let copied = |line: &str| {
        format!(
            "diff --git a/private/plan.txt b/docs/n.md\ncopy from private/plan.txt\ncopy to docs/n.md\n--- a/private/plan.txt\n\
             +++ b/docs/n.md\n@@ -2,1 +2,1 @@\n-{line}\n+x\n"
        )
    };
    let told = |answer: &str| {
        let repo = repository();
        let outcome = land_as(
            &repo,
            &TestTape::default(),
            "r",
            facts("far", ExecutionMode::Cloud),
            answer,
        );
        (
            outcome.outcome,
            outcome.cause,
            outcome.code,
            repo.text("docs/n.md"),
        )
    };
    for answer in [
        guess("pin: 1234"),
        copied("pin: 1234"),
        added("private/plan.txt", PLAN),
    ] {
        let told = told(&answer);
        assert_eq!(told.2.as_deref(), Some("withheld-file"), "{told:?} {answer}");
    }
    assert_eq!(told(&guess("pin: 1234")), told(&guess("pin: 9999")));
    assert_eq!(told(&copied("pin: 1234")), told(&copied("pin: 9999")));
}

#[test]
fn an_answer_that_was_not_placed_is_placed_when_a_person_looks() {
    let guess = |line: &str| {
        format!("--- a/private/plan.txt\n+++ b/private/plan.txt\n@@ -2,1 +2,1 @@\n-{line}\n+x\n")
    };
    let (repo, tape) = (repository(), TestTape::default());
    let far = || facts("far", ExecutionMode::Cloud);
    land_as(&repo, &tape, "wrong", far(), &guess("pin: 9999"));
    let reader = tape.reader();
    let now = NoonClock::default().now();
    let run = RunId::parse("look").unwrap();
    let preview = |id: &str| {
        preview_request(&repo, &reader, (&run, id), None, &now)
            .unwrap()
            .change
    };
    assert!(matches!(preview("wrong"), PreviewedChange::Refused(_)));
    // The file has the line by now.
    repo.commit_files(&[("private/plan.txt", "a\npin: 9999\nb\n")]);
    let PreviewedChange::Placed(placed) = preview("wrong") else {
        panic!("it is placed");
    };
    assert!(placed.decision.is_about_withheld());
    // Nobody has seen the change on the new base.
    assert!(placed.drift.is_some());
}

#[test]
fn text_stays_withheld_unless_a_person_releases_it() {
    for releases_withheld in [false, true] {
        let (repo, tape) = (repository(), TestTape::default());
        land_as(&repo, &tape, "asks", facts("far", ExecutionMode::Cloud), COPY);
        let order = ApprovalOrder {
            request: "asks",
            consent: ApprovalConsent::Named {
                who: "dana".to_owned(),
                releases_withheld,
            },
            revision: None,
        };
        let reader = tape.reader();
        let mut own = tape.begin_run("approves");
        let outcome = run_with_effects(&repo, &mut own, "approves", async |effects, run, cancel| {
            approve_request(effects, &reader, run, &order, cancel).await
        });
        assert_eq!(outcome.unwrap().outcome, OutcomeKind::Landed);
        assert_eq!(repo.text("docs/notes.md").as_deref(), Some(PLAN));
        let kept: Vec<String> = repo
            .kept
            .borrow()
            .iter()
            .map(|taken| format!("{} {}", taken.path, taken.from))
            .collect();
        let expected: &[&str] = if releases_withheld {
            &[]
        } else {
            &["docs/notes.md private/plan.txt"]
        };
        assert_eq!(kept, expected);
    }
}

#[test]
fn after_three_such_changes_in_a_day_every_change_waits() {
    let (repo, tape) = (repository(), TestTape::default());
    let far = || facts("far", ExecutionMode::Cloud);
    for (name, answer) in [
        ("one", COPY.to_owned()),
        ("two", added("docs/n.md", "We buy the company Example in May.")),
        (
            "three",
            "--- a/private/plan.txt\n+++ b/private/plan.txt\n@@ -2,1 +2,1 @@\n-pin: 1\n+x\n".to_owned(),
        ),
    ] {
        let before = land_as(
            &repo,
            &tape,
            &format!("{name}-before"),
            far(),
            &added(&format!("docs/{name}.md"), "x"),
        );
        assert_eq!(before.outcome, OutcomeKind::Landed, "{name}: {}", before.message);
        let waits = land_as(&repo, &tape, name, far(), &answer);
        assert_eq!(
            waits.outcome,
            OutcomeKind::ConsentNeeded,
            "{name}: {}",
            waits.message
        );
    }
    let after = land_as(&repo, &tape, "after", far(), SMALL);
    insta::assert_snapshot!(
        after.message,
        @"policy asks for a person's consent for `main`: 3 changes of the last day have text of withheld files, so each change waits (rule withheld-often)"
    );
    // A tool from which nothing is withheld goes on.
    let near = land_as(&repo, &tape, "near", facts("near", ExecutionMode::Local), SMALL);
    assert_eq!(near.outcome, OutcomeKind::Landed);
}
