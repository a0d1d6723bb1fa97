//! A disk that is full or read-only, at every write: nothing is half done, and the reason is said.
//!
//! Owns: small file systems in memory, which only root can mount; elsewhere the tests say so and end.

use std::path::Path;

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::disk::{Mounted, fill};
use agentos_testkit::repo::{TestRepo, make_dir, remove_file, write_file};

use crate::support::agentos;

const CHANGE: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
/// Enough for every write of the landing.
const MOST_BLOCKS: u64 = 120;

/// Said where nothing can be mounted.
fn skip() {
    eprintln!("skipped: nothing can be mounted here, which needs root");
}

fn git(repo: &TestRepo, dir: &Path, args: &[&str]) -> String {
    repo.git_in(dir, args)
}

/// A committed file in a repository at this place; with evidence of an earlier run, or none yet.
fn prepare(repo: &TestRepo, dir: &Path, has_evidence: bool) -> Cli {
    git(
        repo,
        dir,
        &["init", "--quiet", "--initial-branch=main", "--template=", "."],
    );
    write_file(&dir.join("a.txt"), "one\ntwo\nthree\n");
    git(repo, dir, &["add", "a.txt"]);
    let who = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    git(
        repo,
        dir,
        &[&who[..], &["commit", "--quiet", "-m", "first"]].concat(),
    );
    let cli = agentos().in_dir(dir);
    if !has_evidence {
        return cli;
    }
    let add = "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n";
    let landed = cli.run_with_input(&["apply", "-"], add.as_bytes()).unwrap();
    assert_eq!(landed.code, Some(0), "{landed}");
    cli
}

fn apply(cli: &Cli) -> CliOutput {
    cli.run_with_input(&["apply", "-", "--json"], CHANGE.as_bytes())
        .unwrap()
}

/// HEAD, status and content.
fn state(repo: &TestRepo, dir: &Path) -> [String; 3] {
    [
        git(repo, dir, &["rev-parse", "HEAD^{tree}"]),
        git(repo, dir, &["status", "--porcelain"]),
        std::fs::read_to_string(dir.join("a.txt")).unwrap(),
    ]
}

#[test]
fn a_full_disk_leaves_the_repository_wholly_before_or_wholly_after() {
    fill_up(true);
}

#[test]
fn a_disk_that_is_full_at_the_first_record_leaves_nothing_half_done() {
    fill_up(false);
}

fn fill_up(has_evidence: bool) {
    let repo = TestRepo::new();
    let disk = repo.outside().join("disk");
    make_dir(&disk);
    let mut codes = std::collections::BTreeMap::<String, usize>::new();
    for blocks in 0..MOST_BLOCKS {
        let Some(_mounted) = Mounted::in_memory(&disk, "2m") else {
            return skip();
        };
        let cli = prepare(&repo, &disk, has_evidence);
        let before = state(&repo, &disk);
        fill(&disk.join("ballast"), blocks).unwrap();
        let output = apply(&cli);
        let code = match output.json() {
            Ok(json) => json["code"].as_str().unwrap_or("landed").to_owned(),
            Err(_) => panic!("{blocks}: {output}"),
        };
        let is_made = !output.json().unwrap()["commit"].is_null();
        *codes.entry(code.clone()).or_default() += 1;
        remove_file(&disk.join("ballast"));
        let recovered = cli.run(&["recover"]).unwrap();
        assert_eq!(recovered.code, Some(0), "{blocks}: {recovered}");
        let after = state(&repo, &disk);
        git(&repo, &disk, &["fsck", "--strict", "--full", "--no-dangling"]);
        let verified = cli.run(&["evidence", "verify"]).unwrap();
        assert_eq!(verified.code, Some(0), "{blocks}: {output}{verified}");
        assert_eq!(after[1], "", "{blocks}: {output}");
        if code == "landed" {
            assert_eq!((output.code, after[2].as_str()), (Some(0), "one\nTWO\nthree\n"));
            assert!(codes["disk-full"] > 5, "{codes:?}");
            eprintln!("{codes:?}");
            return;
        }
        assert_eq!(output.code, Some(8), "{blocks}: {output}");
        // Made, and its receipt found no room: that is said, with the commit.
        let unrecorded = code == "disk-full" && is_made;
        if code == "disk-full" && !is_made {
            assert_eq!(after, before, "{blocks}: {output}");
        } else {
            // It was made, the work tree could not follow, and that is said.
            assert_eq!(
                (unrecorded || code == "unfinished", after[2].as_str()),
                (true, "one\nTWO\nthree\n"),
                "{output}"
            );
        }
    }
    panic!("it never lands: {codes:?}");
}

#[test]
fn a_read_only_place_is_told_and_nothing_is_half_done() {
    for place in [".", ".git/objects", ".git/refs/heads", ".git/agentos", "sub"] {
        let repo = TestRepo::new();
        repo.write("a.txt", "one\ntwo\nthree\n");
        repo.write("sub/b.txt", "b\n");
        repo.commit_all("first");
        make_dir(&repo.path().join(".git/agentos"));
        let cli = agentos().in_dir(repo.path());
        let at = repo.path().join(place);
        let before = state(&repo, repo.path());
        let (output, doctor) = {
            let Some(_mounted) = Mounted::read_only(&at) else {
                return skip();
            };
            let doctor = cli.run(&["doctor", "--offline", "--json"]).unwrap();
            let both = format!("{CHANGE}--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-b\n+B\n");
            let output = cli.run_with_input(&["apply", "-", "--json"], both.as_bytes());
            (output.unwrap(), doctor)
        };
        if [".", ".git/agentos"].contains(&place) {
            // The evidence is not broken: it is the repository that cannot be written.
            let report = doctor.json().unwrap();
            let checks = report["checks"].as_array().unwrap();
            let wrong: Vec<_> = checks.iter().filter(|check| check["status"] == "wrong").collect();
            let named = wrong.iter().map(|check| check["code"].as_str().unwrap());
            assert_eq!(named.collect::<Vec<_>>(), ["read-only"], "{place}: {doctor}");
            assert_eq!(doctor.code, Some(8), "{place}: {doctor}");
        }
        assert_eq!(output.code, Some(8), "{place}: {output}");
        let json = output.json().unwrap();
        assert_eq!(json["code"], "read-only", "{place}: {output}");
        assert!(
            json["hint"].as_str().unwrap().contains("writable"),
            "{place}: {output}"
        );
        let recovered = cli.run(&["recover"]).unwrap();
        assert_eq!(recovered.code, Some(0), "{place}: {recovered}");
        assert_eq!(state(&repo, repo.path()), before, "{place}");
        git(
            &repo,
            repo.path(),
            &["fsck", "--strict", "--full", "--no-dangling"],
        );
    }
}
