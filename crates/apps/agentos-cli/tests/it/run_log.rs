//! `agentos log`, and the references by which every verb finds a run.

use agentos_testkit::repo::TestRepo;
use serde_json::Value;

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, pipe_in, run_in, seen, small_repo};

/// A patch that fits nowhere.
const STALE: &str = "\
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1 +1 @@
-no such line
+another
";

/// A run that landed, one that was refused and one that waits for a person, in this order.
fn with_three_runs() -> TestRepo {
    let repo = small_repo();
    for (answer, code) in [(SLOPPY_FIX, 0), (STALE, 6), (WORKFLOW_EDIT, 4)] {
        let output = pipe_in(&repo, &["apply"], answer);
        assert_eq!(output.code, Some(code), "{output}");
    }
    repo
}

fn log_of(repo: &TestRepo, flags: &[&str]) -> Value {
    let output = run_in(repo, &[&["log", "--json"], flags].concat());
    assert_eq!(output.code, Some(0), "{output}");
    output.json().unwrap()
}

/// The whole ids of the runs, newest first.
fn ids_of(log: &Value) -> Vec<String> {
    let runs = log["runs"].as_array().into_iter().flatten();
    runs.filter_map(|run| run["run"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn the_log_shows_one_line_for_each_run_newest_first() {
    let repo = with_three_runs();
    let output = run_in(&repo, &["log"]);
    let text: String = seen(&output, &repo)
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            // How long ago a run was depends on the machine.
            words.join(" ").replace("[DURATION] ago", "[AGO]") + "\n"
        })
        .collect();
    insta::assert_snapshot!(text, @r"
    exit: 0
    --- stdout
    RUN WHEN BY BRANCH RESULT FILES TASK
    [ID] [AGO] patch main waits for you 1 a change from standard input
    [ID] [AGO] patch main refused does-not-apply 1 a change from standard input
    [ID] [AGO] patch main landed [ID] 1 a change from standard input
    --- stderr
    ");
    let listed = run_in(&repo, &["evidence", "list"]);
    assert_eq!(listed.stdout.lines().count(), output.stdout.lines().count());
}

#[test]
fn filters_select_and_what_the_limit_leaves_out_is_counted() {
    let repo = with_three_runs();
    let all = ids_of(&log_of(&repo, &[]));
    assert_eq!(all.len(), 3);
    let cases: [(&[&str], &[usize]); 9] = [
        (&["--landed"], &[2]),
        (&["--refused"], &[1]),
        (&["--waiting"], &[0]),
        (&["--landed", "--waiting"], &[0, 2]),
        (&["--grep", "WORKFLOWS/ci"], &[0]),
        (&["--grep", "standard input"], &[0, 1, 2]),
        (&["--branch", "other"], &[]),
        (&["--branch", "main", "--provider", "patch", "-n", "1"], &[0]),
        (&["--provider", "ollama"], &[]),
    ];
    for (flags, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|at| all[*at].clone()).collect();
        assert_eq!(ids_of(&log_of(&repo, flags)), expected, "{flags:?}");
    }
    let log = log_of(&repo, &["-n", "1"]);
    assert_eq!((&log["not_shown"], &log["all"]), (&2.into(), &3.into()));
    for verb in [&["log"][..], &["evidence", "list"]] {
        let output = run_in(&repo, &[verb, &["-n", "1"]].concat());
        assert!(output.stderr.starts_with("2 older runs not shown"), "{output}");
    }
    let output = run_in(&repo, &["log", "--grep", "nothing like this"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""), "{output}");
}

#[test]
fn every_verb_finds_a_run_by_every_reference() {
    let repo = with_three_runs();
    let all = ids_of(&log_of(&repo, &[]));
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let short = |at: usize| all[at].rsplit_once('-').unwrap().1;
    let landed = [
        "@--",
        "@~2",
        all[2].as_str(),
        short(2),
        short(2).get(..6).unwrap(),
        commit.as_str(),
        commit.get(..10).unwrap(),
    ];
    for reference in landed {
        let shown = run_in(&repo, &["evidence", "show", reference, "--json"]);
        assert_eq!(
            shown.json().unwrap()["run"],
            all[2].as_str(),
            "{reference}: {shown}"
        );
        let replayed = run_in(&repo, &["evidence", "replay", reference, "--json"]);
        assert_eq!(
            replayed.json().unwrap()["runs"][0]["run"],
            all[2].as_str(),
            "{reference}"
        );
    }
    let shown = run_in(&repo, &["approve", "@", "--show"]);
    assert_eq!(
        (shown.code, shown.stdout.contains("+on: [push]")),
        (Some(0), true),
        "{shown}"
    );
    let denied = run_in(&repo, &["deny", short(0), "--json"]);
    assert_eq!(
        denied.json().unwrap()["run"],
        all[0].as_str(),
        "the whole id: {denied}"
    );
    let undone = run_in(&repo, &["undo", commit.get(..8).unwrap(), "--json"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(
        run_in(&repo, &["log", "--landed", "--json"]).json().unwrap()["runs"][0]["verb"],
        "undo"
    );
}

#[test]
fn a_run_is_approved_by_its_short_id() {
    let repo = small_repo();
    let asked = pipe_in(&repo, &["apply"], WORKFLOW_EDIT);
    let id = ids_of(&log_of(&repo, &[])).remove(0);
    let short = id.rsplit_once('-').unwrap().1.to_owned();
    let times = asked.to_string().matches(&short).count();
    assert_eq!(times, 1, "the message names the run once: {asked}");
    assert!(
        !asked.stderr.contains(&id),
        "people are shown the short id: {asked}"
    );
    let approved = run_in(&repo, &["approve", &short, "--yes"]);
    assert_eq!(approved.code, Some(0), "{approved}");
    let log = log_of(&repo, &[]);
    assert_eq!(log["runs"][1]["result"]["kind"], "approved");
    assert_eq!(
        log["runs"][0]["result"]["commit"],
        repo.git(&["rev-parse", "HEAD"])
    );
}

#[test]
fn a_reference_that_names_no_one_run_is_refused_with_what_it_fits() {
    let repo = with_three_runs();
    let all = ids_of(&log_of(&repo, &[]));
    // All three began in the same century.
    for verb in [
        &["evidence", "show"][..],
        &["approve"],
        &["deny"],
        &["undo"],
        &["evidence", "replay"],
    ] {
        let output = run_in(&repo, &[verb, &["20"]].concat());
        assert_eq!(output.code, Some(2), "{verb:?}: {output}");
        assert!(output.stderr.contains("`20` fits 3 runs"), "{verb:?}: {output}");
        let output = run_in(&repo, &[verb, &["@~9"]].concat());
        assert!(output.stderr.contains("there are 3 runs"), "{verb:?}: {output}");
    }
    let mut typed = all[0].clone();
    typed.pop();
    typed.push('x');
    let output = run_in(&repo, &["undo", &typed]);
    let near = all[0].rsplit_once('-').unwrap().1;
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output.stderr.contains(&format!("did you mean `{near}`?")),
        "{output}"
    );
    assert_eq!(
        ids_of(&log_of(&repo, &[])),
        all,
        "a wrong reference leaves no record"
    );
}
