//! A program that nests folders so deep that neither a path name nor a recursive walk gets to their end.
//!
//! The run ends with one sentence, or as if nothing were, and leaves nothing behind. Few descriptors are all it takes.

#![cfg(target_os = "linux")]

use std::process::Output;

use agentos_testkit::cli::program;
use agentos_testkit::repo::TestRepo;

use crate::support::{agentos, cache_of, runs_in, sandbox_holds, small_repo};

/// Joins two chains of 1,000 folders by renaming.
const NEST: &str = "p=$(printf 'd/%.0s' $(seq 1000)) && mkdir -p t/$p && mkdir -p u/$p && mv t u/${p}t";

/// Runs a script as a tool, with fewer descriptors than there are folders in each other.
fn run_script(repo: &TestRepo, script: &str) -> Output {
    let run = ["run", "-p", "command", "--", "sh", "-c", script];
    let cli = agentos()
        .in_dir(repo.path())
        .env("XDG_CACHE_HOME", cache_of(repo));
    let plain = cli.command(&run);
    let mut limited = program("sh");
    limited
        .args(["-c", "ulimit -S -n 256; exec \"$@\"", "sh"])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(repo.path())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.output().unwrap()
}

fn runs_left(repo: &TestRepo) -> usize {
    assert!(cache_of(repo).join("agentos/copies").is_dir());
    runs_in(&cache_of(repo)).len()
}

#[test]
fn deep_folders_in_the_answer_end_the_run_with_one_sentence_and_the_next_one_works() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    let ended = run_script(&repo, &format!("{NEST} && echo x >> README.md"));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        said.contains("the tool nested folders more than 1024 levels deep, so its answer was discarded"),
        "{said}"
    );
    assert_eq!((ended.status.code(), runs_left(&repo)), (Some(5), 0), "{said}");
    let ended = run_script(&repo, "echo x >> README.md");
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert_eq!(runs_left(&repo), 0);
}

#[test]
fn deep_folders_elsewhere_are_removed_with_the_run() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    let closed = "mkdir closed && echo x > closed/file && chmod 000 closed";
    let ended = run_script(
        &repo,
        &format!("echo x >> README.md; cd \"$HOME\" && {NEST} && {closed}"),
    );
    assert_eq!(
        ended.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert_eq!(runs_left(&repo), 0);
}

#[test]
fn doctor_reports_what_a_dead_run_left_and_the_next_run_removes_it() {
    let repo = small_repo();
    // Where earlier versions had the folders of runs.
    let copies = repo.path().join(".git/agentos/copies");
    agentos_testkit::repo::write_file(&copies.join("run-dead.1/home/.claude/credentials.json"), "{}");
    let doctor = || {
        let found = agentos().in_dir(repo.path()).run(&["doctor"]).unwrap();
        let lines = found.stdout.lines();
        lines
            .filter(|line| line.contains("run-dead"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let said = doctor();
    assert!(
        matches!(said.as_slice(), [line] if line.contains("sign-in files")),
        "{said:?}"
    );
    if !sandbox_holds() {
        return;
    }
    assert_eq!(run_script(&repo, "echo x >> README.md").status.code(), Some(0));
    assert_eq!((doctor(), runs_left(&repo)), (Vec::new(), 0));
}
