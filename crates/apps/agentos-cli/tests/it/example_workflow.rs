//! The example workflow for users: its steps are run here as a job would run them.
//!
//! Owns: reading the steps' scripts and plain variables. Never: checks what a runner adds around them.

use std::path::Path;

use agentos_testkit::cli::{CliOutput, program};
use agentos_testkit::repo::{TestRepo, write_file};

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, signing, small_repo};

const WORKFLOW: &str = include_str!("../../../../../.github/examples/apply-patch.yml");
const VERIFY: &str = include_str!("../../../../../.github/examples/verify-evidence.yml");

/// The lines of a step, from its name to the next.
fn step(workflow: &'static str, name: &str) -> Vec<&'static str> {
    let begins = |line: &&str| line.trim_start().starts_with("- ");
    let mut lines = workflow.lines();
    lines.find(|line| line.trim() == format!("- name: {name}"));
    let found: Vec<_> = lines.take_while(|line| !begins(line)).collect();
    assert!(!found.is_empty(), "{name}");
    found
}

/// The script of a step.
fn script(workflow: &'static str, name: &str) -> String {
    let mut lines = step(workflow, name).into_iter();
    let first = lines.find_map(|line| line.trim().strip_prefix("run: ")).unwrap();
    match first {
        "|" => lines.map(|line| format!("{}\n", line.trim())).collect(),
        line => line.to_owned(),
    }
}

/// The variables of a step that the workflow itself gives.
fn variables(name: &str) -> Vec<(&'static str, &'static str)> {
    let pairs = step(WORKFLOW, name)
        .into_iter()
        .filter_map(|line| line.trim().split_once(": "));
    pairs
        .filter(|(name, value)| {
            name.chars().all(|c| c.is_ascii_uppercase() || c == '_') && !value.contains("${{")
        })
        .collect()
}

/// Runs the job on a fresh copy of a repository; gives what each step said.
fn job(repo: &TestRepo, patch: &str) -> [CliOutput; 2] {
    let job = repo.outside().join("job");
    repo.git_in(repo.path(), &["clone", "--quiet", ".", job.to_str().unwrap()]);
    write_file(&job.join("bot.patch"), patch);
    let cli = agentos().in_dir(&job).without_identity().unwrap();
    let program_of_ours = cli.command(&[]).get_program().to_owned();
    let folder = Path::new(&program_of_ours)
        .parent()
        .unwrap()
        .display()
        .to_string();
    let run = |name: &str| {
        let mut shell = program("bash");
        shell
            .args(["-e", "-c", &script(WORKFLOW, name)])
            .current_dir(&job)
            .env_clear();
        shell.envs(cli.world()).envs(variables("apply"));
        shell.env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
        shell.env("PATCH", "bot.patch").env("BRANCH", "bot/7");
        CliOutput::from(shell.output().unwrap())
    };
    [run("apply"), run("export the evidence, also of a refusal")]
}

#[test]
fn a_bots_patch_lands_on_a_branch_with_signed_evidence() {
    if program("bash").arg("--version").output().is_err() {
        eprintln!("skipped: `bash` is not installed here");
        return;
    }
    let repo = small_repo();
    let [apply, export] = job(&repo, SLOPPY_FIX);
    assert_eq!((apply.code, export.code), (Some(0), Some(0)), "{apply}{export}");
    let pushed = repo.git(&["log", "--format=%an, %cn", "main..bot/7"]);
    assert_eq!(pushed, "agentos, agentos");
    assert!(repo.outside().join("job/evidence/index.html").is_file());
    let outcome = std::fs::read(repo.outside().join("job/outcome.json")).unwrap();
    let outcome: serde_json::Value = serde_json::from_slice(&outcome).unwrap();
    assert_eq!(outcome["outcome"], "landed");
}

#[test]
fn what_needs_a_person_ends_the_job_and_its_evidence_is_kept() {
    if program("bash").arg("--version").output().is_err() {
        eprintln!("skipped: `bash` is not installed here");
        return;
    }
    let repo = small_repo();
    let [apply, export] = job(&repo, WORKFLOW_EDIT);
    assert_ne!(apply.code, Some(0), "{apply}");
    assert!(apply.stdout.contains("\"consent-needed\""), "{apply}");
    assert_eq!(export.code, Some(0), "{export}");
    assert_eq!(repo.git(&["branch", "--list", "bot/*"]), "");
}

/// Runs the step `verify` in a clone, as a job would; gives what it said.
fn verify(repo: &TestRepo, base: &str) -> CliOutput {
    // A clone of its own for each call, as each job of CI has.
    let mut places = (1..).map(|number| repo.outside().join(format!("verify-{number}")));
    let job = places.find(|place| !place.exists()).unwrap();
    repo.git_in(repo.path(), &["clone", "--quiet", ".", job.to_str().unwrap()]);
    let cli = agentos().in_dir(&job).without_identity().unwrap();
    let program_of_ours = cli.command(&[]).get_program().to_owned();
    let folder = Path::new(&program_of_ours)
        .parent()
        .unwrap()
        .display()
        .to_string();
    let mut shell = program("bash");
    shell
        .args(["-e", "-c", &script(VERIFY, "verify")])
        .current_dir(&job)
        .env_clear();
    shell.envs(cli.world());
    shell.env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
    shell.env("RUNNER_TEMP", repo.outside());
    shell.env("BASE", base).env("TIP", "HEAD").env("FORK", "");
    CliOutput::from(shell.output().unwrap())
}

#[test]
fn published_evidence_is_verified_in_a_clone_with_the_keys_of_the_base() {
    if program("bash").arg("--version").output().is_err() {
        eprintln!("skipped: `bash` is not installed here");
        return;
    }
    let repo = small_repo();
    let cli = signing(&repo);
    let key = cli
        .run(&["evidence", "key", "show", "--json"])
        .unwrap()
        .json()
        .unwrap();
    repo.write(
        ".github/agentos_signers",
        format!("me {}\n", key["key"]["public"].as_str().unwrap()),
    );
    repo.commit_all("whose signatures count");
    let base = repo.git(&["rev-parse", "HEAD"]);
    let landed = cli.run_with_input(&["apply"], SLOPPY_FIX.as_bytes()).unwrap();
    assert_eq!(landed.code, Some(0), "{landed}");
    let nothing = verify(&repo, &base);
    assert_eq!(nothing.code, Some(7), "{nothing}");
    assert!(nothing.stdout.contains("no evidence here"), "{nothing}");
    let published = cli.run(&["evidence", "publish"]).unwrap();
    assert_eq!(published.code, Some(0), "{published}");
    let sound = verify(&repo, &base);
    assert_eq!(sound.code, Some(0), "{sound}");
    // A pull request that brings the key of its author: the base does not trust it.
    let stranger = signing(&repo);
    let published = stranger.run(&["evidence", "publish"]).unwrap();
    assert_eq!(published.code, Some(0), "{published}");
    let strange = verify(&repo, &base);
    assert_eq!(strange.code, Some(7), "{strange}");
    assert!(strange.stdout.contains("not trusted here"), "{strange}");
    // The file of keys does not exist yet: only consistency is verified.
    let first = verify(&repo, &repo.git(&["rev-parse", "HEAD~2"]));
    assert_eq!(first.code, Some(0), "{first}");
}
