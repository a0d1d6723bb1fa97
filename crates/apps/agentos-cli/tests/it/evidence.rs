//! `agentos evidence`: what a reviewer sees, and that spoiled evidence is found.

use std::path::{Path, PathBuf};

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, read_file, write_file};

use crate::calls::can_trace;
use crate::kill::{Kind, Place, everything};
use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, pipe_in, run_in, seen, signing, small_repo};

fn with_two_runs() -> TestRepo {
    let repo = small_repo();
    let cli = signing(&repo);
    for (answer, code) in [(SLOPPY_FIX, 0), (WORKFLOW_EDIT, 4)] {
        let output = cli.run_with_input(&["apply"], answer.as_bytes()).unwrap();
        assert_eq!(output.code, Some(code), "{output}");
    }
    repo
}

#[test]
fn runs_are_listed_with_how_they_ended() {
    let repo = with_two_runs();
    let output = run_in(&repo, &["evidence", "list", "--json"]);
    let json = output.json().unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 2);
    assert_eq!(json["runs"][0]["commit"], repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(json["runs"][1]["last"], "refusal");
}

#[test]
fn a_run_is_told_as_a_story() {
    let repo = with_two_runs();
    let json = run_in(&repo, &["evidence", "list", "--json"]).json().unwrap();
    let run = json["runs"][0]["run"].as_str().unwrap();
    let output = run_in(&repo, &["evidence", "show", run]);
    let story: String = seen(&output, &repo)
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    let story: String = story
        .lines()
        .map(|line| format!("{}\n", without_key(without_time(line))))
        .collect();
    insta::assert_snapshot!(story, @r"
    exit: 0
    --- stdout
    task        apply by patch on main: a change from standard input
    answer      188 bytes, blob [ID]
    landing     1 file found (exact-moved)
    decision    allow by default.edit, default.land
    intent      about to write tree [ID]
    receipt     commit [ID], tree [ID]
    checkpoint  signed by SHA256:[KEY]
    records 1 to 7, head sha256:[ID]
    --- stderr
    ");
}

/// Every machine has a key of its own.
fn without_key(line: &str) -> String {
    match line.split_once("SHA256:") {
        Some((before, _)) => format!("{before}SHA256:[KEY]"),
        None => line.to_owned(),
    }
}

/// The time of day at the start of a line.
fn without_time(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, rest)) if time.contains(':') && time.len() == 12 => rest,
        Some(_) | None => line,
    }
}

#[test]
fn evidence_that_holds_is_said_to_hold() {
    let repo = with_two_runs();
    let output = run_in(&repo, &["evidence", "verify", "--json"]);
    assert_eq!(output.code, Some(0), "{output}");
    let json = output.json().unwrap();
    assert_eq!(json["ok"], true);
    assert_eq!(json["commits"], 1);
    assert_eq!((&json["signed"], &json["unsigned"]), (&2.into(), &0.into()));
}

#[test]
fn without_a_keyring_no_key_is_made_unasked_and_runs_end_unsigned() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let before = listing(cli.home());
    let output = cli.run_with_input(&["apply"], SLOPPY_FIX.as_bytes()).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(
        listing(cli.home()),
        before,
        "nothing is written to the home folder"
    );
    let json = cli
        .run(&["evidence", "verify", "--json"])
        .unwrap()
        .json()
        .unwrap();
    assert_eq!((&json["ok"], &json["unsigned"]), (&true.into(), &1.into()));
}

/// Every file below a folder.
fn listing(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn a_range_is_checked_and_what_is_required_is_missed() {
    let repo = with_two_runs();
    repo.write("notes.txt", "by hand\n");
    repo.commit_all("by hand");
    let range: [(&[&str], i32); 5] = [
        (&["--range", "HEAD~2..HEAD~1", "--require"], 0),
        (&["--range", "HEAD~2..HEAD"], 0),
        (&["--range", "HEAD~2..HEAD", "--require"], 7),
        (&["--commit", "HEAD", "--require"], 7),
        (&["--commit", "nowhere"], 2),
    ];
    for (flags, code) in range {
        let args = [&["evidence", "verify"], flags].concat();
        let output = run_in(&repo, &args);
        assert_eq!(output.code, Some(code), "{flags:?}: {output}");
    }
}

#[test]
fn a_run_signed_by_somebody_else_is_found_until_the_key_is_trusted() {
    let repo = small_repo();
    let (mine, other) = (signing(&repo), signing(&repo));
    let apply = |cli: &Cli, answer: &str| {
        let output = cli.run_with_input(&["apply"], answer.as_bytes()).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
    };
    apply(&mine, SLOPPY_FIX);
    apply(
        &other,
        "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# small\n+# tiny\n",
    );
    let found = mine.run(&["evidence", "verify", "--json"]).unwrap();
    assert_eq!(found.code, Some(7), "{found}");
    assert_eq!(found.json().unwrap()["findings"][0]["tampering"], "key-unknown");
    let shown = other.run(&["evidence", "key", "show", "--json"]).unwrap();
    let line = shown.json().unwrap()["key"]["public"]
        .as_str()
        .unwrap()
        .to_owned();
    let trusted = mine
        .run(&["evidence", "key", "trust", &line, "--name", "other"])
        .unwrap();
    assert_eq!(trusted.code, Some(0), "{trusted}");
    let found = mine.run(&["evidence", "verify", "--require"]).unwrap();
    assert_eq!(found.code, Some(0), "{found}");
}

#[test]
fn a_rotated_key_signs_on_and_the_old_one_still_counts() {
    let repo = small_repo();
    let cli = signing(&repo);
    let fix = cli.run_with_input(&["apply"], SLOPPY_FIX.as_bytes()).unwrap();
    assert_eq!(fix.code, Some(0), "{fix}");
    let rotated = cli
        .run(&["evidence", "key", "rotate", "--store", "file", "--json"])
        .unwrap();
    assert_eq!(rotated.code, Some(0), "{rotated}");
    assert_eq!(rotated.json().unwrap()["trusted"].as_array().unwrap().len(), 2);
    assert_eq!(cli.run(&["undo"]).unwrap().code, Some(0));
    let found = cli.run(&["evidence", "verify", "--require", "--json"]).unwrap();
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(found.json().unwrap()["keys"].as_array().unwrap().len(), 2);
}

#[test]
fn any_changed_byte_is_found_and_ends_with_seven() {
    let repo = with_two_runs();
    let tape = repo.path().join(".git/agentos/tape.jsonl");
    let good = read_file(&tape);
    // Ten places spread over the tape, each in a record of its own.
    for tenth in 0..10 {
        let mut bad = good.clone();
        let at = good.len() * tenth / 10 + 7;
        bad[at] ^= 1;
        write_file(&tape, &bad);
        let output = run_in(&repo, &["evidence", "verify"]);
        assert_eq!(output.code, Some(7), "byte {at}: {output}");
    }
    write_file(&tape, &good);
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn a_commit_whose_evidence_is_gone_is_found() {
    let repo = with_two_runs();
    agentos_testkit::repo::remove_file(&repo.path().join(".git/agentos/tape.jsonl"));
    agentos_testkit::repo::remove_file(&repo.path().join(".git/agentos/head.json"));
    let output = run_in(&repo, &["evidence", "verify", "--json"]);
    assert_eq!(output.code, Some(7), "{output}");
    assert_eq!(
        output.json().unwrap()["findings"][0]["tampering"],
        "commit-without-record"
    );
}

#[test]
fn every_blob_is_tied_to_the_tape() {
    let repo = with_two_runs();
    let blobs = repo.path().join(".git/agentos/blobs");
    let mut seen = 0;
    for entry in files_below(&blobs) {
        let bytes = read_file(&entry);
        agentos_testkit::repo::remove_file(&entry);
        let output = run_in(&repo, &["evidence", "verify"]);
        assert_eq!(
            output.code,
            Some(7),
            "{} is missed by nobody: {output}",
            entry.display()
        );
        write_file(&entry, bytes);
        seen += 1;
    }
    // Two answers, two diffs, the policy's text.
    assert!(seen >= 5, "{seen} blobs");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn nothing_lands_on_a_broken_tape() {
    let repo = with_two_runs();
    let tape = repo.path().join(".git/agentos/tape.jsonl");
    let mut bytes = read_file(&tape);
    let at = bytes.len() - 20;
    bytes[at] ^= 1;
    write_file(&tape, &bytes);
    let head = repo.git(&["rev-parse", "HEAD"]);
    let other = SLOPPY_FIX
        .replace("a - b", "a * b")
        .replace("a + b", "b * a")
        .replace("add(", "multiply(");
    let output = pipe_in(&repo, &["apply"], &other);
    assert_eq!(output.code, Some(7), "{output}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn a_broken_tape_is_told_with_a_way_out_that_works() {
    let repo = with_two_runs();
    let tape = repo.path().join(".git/agentos/tape.jsonl");
    let text = String::from_utf8(read_file(&tape)).unwrap();
    write_file(&tape, text.replacen("\"apply\"", "\"appyl\"", 1));
    let way = "mv .git/agentos .git/agentos.broken";
    for args in [
        &["evidence", "list"][..],
        &["evidence", "show"],
        &["evidence", "verify"],
        &["approve"],
        &["undo"],
        &["doctor", "--offline"],
    ] {
        let output = run_in(&repo, args);
        assert_eq!(output.code, Some(7), "{args:?}: {output}");
        let said = output.to_string();
        assert!(said.contains(way), "{args:?}: {output}");
        assert!(!said.contains("nothing is landed"), "{args:?}: {output}");
    }
    let moved = agentos_testkit::cli::program("sh")
        .args(["-c", way])
        .current_dir(repo.path())
        .status()
        .unwrap();
    assert!(moved.success());
    let output = run_in(&repo, &["undo", "--dry-run"]);
    assert_eq!(output.code, Some(2), "{output}");
    let edit = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# small\n+# tiny\n";
    let output = pipe_in(&repo, &["apply"], edit);
    assert_eq!(output.code, Some(0), "{output}");
    let json = run_in(&repo, &["evidence", "list", "--json"]).json().unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 1, "{json:#}");
}

#[test]
fn the_list_says_how_each_run_ended() {
    let repo = with_two_runs();
    let asked = run_in(&repo, &["evidence", "list", "--json"]).json().unwrap()["runs"][1]["run"]
        .as_str()
        .unwrap()
        .to_owned();
    // Of each run that landed nothing, the newest first.
    let endings = || -> Vec<String> {
        let list = run_in(&repo, &["evidence", "list"]).stdout;
        let head = list.lines().next().unwrap_or_default();
        let (from, to) = (head.find("RESULT").unwrap(), head.find("FILES").unwrap());
        let cells = list.lines().skip(1).filter_map(|line| line.get(from..to));
        cells
            .map(|cell| cell.trim().to_owned())
            .filter(|end| !end.starts_with("landed "))
            .collect()
    };
    assert_eq!(endings(), ["waits for you"]);
    let output = run_in(&repo, &["approve", &asked, "--yes"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(endings(), ["approved later"]);
    let other = WORKFLOW_EDIT.replace("ci.yml", "other.yml");
    pipe_in(&repo, &["apply", "--json"], &other);
    let open = run_in(&repo, &["approve", "--json"]).json().unwrap();
    let open = open["requests"][0]["run"].as_str().unwrap().to_owned();
    run_in(&repo, &["deny", &open]);
    pipe_in(&repo, &["apply"], "no edit\n");
    pipe_in(&repo, &["apply", "--branch", "no..branch"], SLOPPY_FIX);
    let exact = repo.git(&["diff", "HEAD~2", "HEAD", "--", "src/lib.rs"]) + "\n";
    pipe_in(&repo, &["apply"], &exact);
    assert_eq!(
        endings(),
        [
            "nothing to do",
            "failed bad-branch-name",
            "refused no-diff",
            "ended",
            "declined",
            "approved later"
        ]
    );
}

#[test]
fn the_signing_key_is_looked_up_before_a_landing_locks_anything() {
    if !can_trace() {
        return;
    }
    let place = Place::new(Kind::Normal);
    let tracer = place.tracer();
    let trace = tracer.home().join("calls");
    let args = ["-f", "-o", trace.to_str().unwrap(), "-e", "trace=%file"];
    let agentos = [env!("CARGO_BIN_EXE_agentos"), "apply", "-", "--yes"];
    let landed = tracer
        .run_with_input(&[&args[..], &agentos].concat(), everything().as_bytes())
        .unwrap();
    assert_eq!(landed.code, Some(0), "{landed}");
    let calls = String::from_utf8(read_file(&trace)).unwrap();
    let lines = |name: &str| {
        let found = calls.lines().enumerate().filter(|(_, call)| call.contains(name));
        Vec::from_iter(found.map(|(at, _)| at))
    };
    let (looked_up, locked) = (lines("credentials.json"), lines("agentos/lock\""));
    assert!(!looked_up.is_empty() && !locked.is_empty(), "{calls}");
    assert!(looked_up.iter().max() < locked.iter().min(), "{calls}");
}
