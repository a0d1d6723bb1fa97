//! Files found for a task that names none.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::CliOutput;
use agentos_testkit::repo::TestRepo;

use crate::support::{SLOPPY_FIX, agentos, chat_server, openai_at, run_in, seen, small_repo};

const TASK: &str = "add() subtracts: mend it";

fn shop() -> TestRepo {
    let repo = small_repo();
    repo.write(
        "src/basket.rs",
        "pub fn basket_total(items: &[u64]) -> u64 {\n    items.iter().sum()\n}\n",
    );
    repo.write(".env", "BASKET_TOKEN=basket basket basket basket\n");
    repo.write("data/basket.csv", "basket,basket,basket\n");
    repo.write(".agentosignore", "data/\n");
    repo.commit_all("more files");
    repo
}

fn ask(repo: &TestRepo, task: &str, flags: &[&str]) -> CliOutput {
    let args = ["run", "-p", "lmstudio", task];
    run_in(repo, &[&args, flags].concat())
}

#[test]
fn what_would_be_sent_is_shown_with_the_reason() {
    let repo = shop();
    let output = ask(
        &repo,
        "the basket_total is wrong; see also README.md",
        &["--context", "show"],
    );
    insta::assert_snapshot!(seen(&output, &repo), @r"
    exit: 0
    --- stdout
    README.md      8 B   named in the task
    src/basket.rs  69 B  basket_total, basket, total
    77 B of 15.0 KB that fit, from 5 files
    --- stderr
    ");
    // Looking asks nobody and leaves no run.
    assert!(!repo.path().join(".git/agentos/tape.jsonl").exists());
    let json = ask(
        &repo,
        "the basket_total is wrong",
        &["--context", "show", "--json"],
    );
    let json = json.json().unwrap();
    assert!(validate_value(SchemaName::Context, &json).is_ok(), "{json:#}");
    assert_eq!(json["files"][0]["path"], "src/basket.rs");
    assert_eq!(json["ranked"], json["read"]);
}

#[test]
fn what_policy_keeps_from_a_cloud_model_is_not_even_proposed() {
    let repo = shop();
    let args = [
        "run",
        "-p",
        "openai",
        "the BASKET_TOKEN of the basket",
        "--context",
        "show",
        "--json",
    ];
    let json = run_in(&repo, &args).json().unwrap();
    let paths: Vec<&str> = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["src/basket.rs"], "{json:#}");
}

#[test]
fn a_run_without_files_sends_what_it_found_and_says_so() {
    let repo = shop();
    let server = chat_server(SLOPPY_FIX, || {});
    let flags = openai_at(&server.url());
    let mut args: Vec<&str> = vec!["run", TASK];
    args.extend(flags.iter().map(String::as_str));
    let cli = agentos().in_dir(repo.path()).env("OPENAI_API_KEY", "k");
    let output = cli.run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("context: src/lib.rs"), "{output}");
    let asked: Vec<String> = server
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert!(
        asked.first().is_some_and(|body| body.contains("pub fn multiply")),
        "{asked:?}"
    );

    // Without context the tool sees the task alone.
    args.extend(["--context", "none", "--dry-run"]);
    let count = server.requests().len();
    cli.run(&args).unwrap();
    let later: Vec<String> = server
        .requests()
        .iter()
        .skip(count)
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert!(
        !later.is_empty() && !later.iter().any(|body| body.contains("pub fn multiply")),
        "{later:?}"
    );
}

#[test]
fn a_program_needs_no_context() {
    let repo = small_repo();
    let output = run_in(
        &repo,
        &["run", "-p", "command", "--context", "show", "--", "true"],
    );
    assert_eq!(output.code, Some(2), "{output}");
}
