//! Files found for a task that names none.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::CliOutput;
use serde_json::{Value, json};

use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Reply};

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
    README.md      whole  8 B   named
    src/basket.rs  whole  69 B  basket_total, basket, total
    .env           whole  41 B  basket
    definitions alone: src/lib.rs

    window                 16384 tokens  assumed, because neither server nor profile states it
    instructions and task  225 tokens
    files                  132 tokens    of 11551 that they may have
    definitions            98 tokens     of files that are not shown as a whole
    kept for the answer    4096 tokens
    reserve                512 tokens    the counts are estimates
    118 B from 5 files
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

/// A file of which only the last function is about the task, and which does not fit a small window.
fn repo_with_large_file() -> TestRepo {
    let repo = small_repo();
    let mut text = String::new();
    for number in 0..800 {
        text.push_str(&format!(
            "pub fn other_{number}(a: i64) -> i64 {{\n    a.pow(3) + {number}\n}}\n\n"
        ));
    }
    text.push_str("pub fn basket_total(a: i64, b: i64) -> i64 {\n    a - b\n}\n");
    repo.write("src/large.rs", text);
    repo.commit_all("large");
    repo
}

const LARGE_FIX: &str = "src/large.rs\n<<<<<<< SEARCH\npub fn basket_total(a: i64, b: i64) -> i64 {\n    a - b\n=======\n\
pub fn basket_total(a: i64, b: i64) -> i64 {\n    a + b\n>>>>>>> REPLACE\n";

#[test]
fn a_refusal_that_states_the_window_leads_to_one_call_with_less_context() {
    let repo = repo_with_large_file();
    let answer = LARGE_FIX.to_owned();
    let server = FakeServer::start(move |request| {
        if request.path.ends_with("/models") {
            return Reply::json(200, &json!({ "object": "list", "data": [{ "id": "tiny-coder", "object": "model" }] }));
        }
        if request.body.len() > 16_000 {
            let message = "This model's maximum context length is 4096 tokens. However, you requested 14000 tokens.";
            return Reply::json(400, &json!({ "object": "error", "message": message, "code": 400 }));
        }
        let choice = json!({ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": answer } });
        Reply::json(200, &json!({ "object": "chat.completion", "model": "tiny-coder", "choices": [choice] }))
    })
    .unwrap();
    let flags = openai_at(&server.url());
    let mut args: Vec<&str> = vec!["run", "basket_total subtracts", "--file", "src/large.rs"];
    args.extend(flags.iter().map(String::as_str));
    let cli = agentos().in_dir(repo.path()).env("OPENAI_API_KEY", "k");
    let sizes = || {
        let requests = server.requests();
        let asked = requests
            .iter()
            .filter(|request| request.path.ends_with("/chat/completions"));
        asked
            .map(|request| request.body.len() > 16_000)
            .collect::<Vec<_>>()
    };
    let output = cli.run(&args).unwrap();
    assert_eq!((output.code, sizes()), (Some(0), vec![true, false]), "{output}");
    let replayed = cli.run(&["evidence", "replay", "--all"]).unwrap();
    assert_eq!(replayed.code, Some(0), "{replayed}");
    // The next run knows the window.
    let dry = [&args[..], &["--dry-run"]].concat();
    cli.run(&dry).unwrap();
    assert_eq!(sizes(), [true, false, false]);
}

#[test]
fn of_a_named_file_that_does_not_fit_the_parts_are_sent_and_their_edit_lands() {
    let repo = repo_with_large_file();
    let server = chat_server(LARGE_FIX, || {});
    let flags = openai_at(&server.url());
    let mut args: Vec<&str> = vec!["run", "basket_total subtracts", "--file", "src/large.rs"];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos()
        .in_dir(repo.path())
        .env("OPENAI_API_KEY", "k")
        .run(&args)
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stderr.contains("context: src/large.rs (in part)"),
        "{output}"
    );
    let sent = server.requests();
    let sent = String::from_utf8_lossy(&sent.last().unwrap().body).into_owned();
    assert!(
        sent.contains("of 3203") && sent.contains("Change only lines that you see"),
        "{sent}"
    );
    // The record alone says which lines were shown, of which window, and which definitions besides them.
    let shown = run_in(&repo, &["show", "--context"]);
    assert!(shown.stdout.contains(" of 3203"), "{shown}");
    assert!(
        shown.stdout.contains("definitions alone: src/large.rs"),
        "{shown}"
    );
    assert!(
        shown.stdout.contains("tokens  assumed, because neither"),
        "{shown}"
    );
    let shown = run_in(&repo, &["show", "--context", "--json"]).json().unwrap();
    assert!(validate_value(SchemaName::Context, &shown).is_ok(), "{shown:#}");
    // What was announced is what was sent.
    let planned = agentos()
        .in_dir(repo.path())
        .env("OPENAI_API_KEY", "k")
        .run(&[args.as_slice(), &["--context", "show", "--json"]].concat())
        .unwrap();
    let planned = planned.json().unwrap();
    for name in ["files", "outlined", "budget"] {
        assert_eq!(planned[name], shown[name], "{name}");
    }
    // The record says which lines were shown, and a replay places the answer in the same way.
    let tape = run_in(&repo, &["evidence", "show", "--json"]).stdout;
    assert!(tape.contains("\"total_lines\": 3203"), "{tape}");
    let replayed = run_in(&repo, &["evidence", "replay", "--all"]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
}

#[test]
fn a_whole_file_from_a_tool_that_saw_parts_is_refused() {
    let repo = repo_with_large_file();
    let answer = "src/large.rs\n```rust\npub fn basket_total(a: i64, b: i64) -> i64 {\n    a + b\n}\n```\n";
    let server = chat_server(answer, || {});
    let flags = openai_at(&server.url());
    let mut args: Vec<&str> = vec![
        "run",
        "basket_total subtracts",
        "--file",
        "src/large.rs",
        "--attempts",
        "1",
    ];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos()
        .in_dir(repo.path())
        .env("OPENAI_API_KEY", "k")
        .run(&args)
        .unwrap();
    assert!(output.stderr.contains("refused [ambiguous]"), "{output}");
    assert!(repo.git(&["show", "HEAD:src/large.rs"]).contains("other_799"));
}

#[test]
fn the_lines_that_a_user_names_are_shown_and_no_others() {
    let repo = repo_with_large_file();
    let args = [
        "run",
        "-p",
        "ollama",
        "x",
        "--file",
        "src/large.rs:5-7",
        "--context",
        "show",
        "--json",
    ];
    let json = run_in(&repo, &args).json().unwrap();
    assert_eq!(
        json["files"][0]["ranges"],
        serde_json::json!([[5, 7]]),
        "{json:#}"
    );
}

#[test]
fn folders_patterns_and_definitions_are_shown_and_what_does_not_fit_is_said() {
    let repo = repo_with_large_file();
    for number in 0..40 {
        let text = "pub fn side(a: i64) -> i64 {\n    a\n}\n\n".repeat(60);
        repo.write(&format!("src/more/f{number:02}.rs"), text);
    }
    repo.commit_all("more");
    let show = |flags: &[&str]| {
        let args = [
            "run",
            "-p",
            "ollama",
            "basket_total subtracts",
            "--context",
            "show",
        ];
        run_in(&repo, &[&args, flags].concat())
    };
    let listed = |flags: &[&str]| {
        let json = show(&[flags, &["--json"]].concat()).json().unwrap();
        json["files"].clone()
    };
    let files = listed(&["--symbol", "basket_total", "--file", "src/lib.rs"]);
    assert_eq!(files[0]["path"], "src/large.rs");
    assert_eq!(files[0]["ranges"], serde_json::json!([[3201, 3203]]), "{files:#}");
    assert_eq!(files[1]["path"], "src/lib.rs");
    let folder = show(&["--file", "src/more/*"]);
    assert!(
        folder
            .stdout
            .contains("src/more/* means 40 files or definitions, of which "),
        "{folder}"
    );
    // The same selection runs, and the report about what does not fit comes before the answer is paid for.
    let server = chat_server(SLOPPY_FIX, || {});
    let flags = openai_at(&server.url());
    let profile = r#"{"provider":"openai","capabilities":{"context_window":8192}}"#;
    let cli = agentos().in_dir(repo.path()).env("OPENAI_API_KEY", "k");
    write_file(&cli.home().join(".config/agentos/profiles/openai.json"), profile);
    let mut args: Vec<&str> = vec!["run", TASK, "--file", "src/more/", "--symbol", "add"];
    args.extend(flags.iter().map(String::as_str));
    let output = cli.run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("src/more/ means 40 files"), "{output}");
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

/// Returns the prompts that a server was sent, as one text each.
fn list_prompts(server: &FakeServer) -> Vec<String> {
    let sent = server.requests().into_iter();
    let sent = sent.filter(|request| request.path.ends_with("/chat/completions"));
    sent.map(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let texts = body["messages"].as_array().into_iter().flatten();
        let texts: Vec<&str> = texts.filter_map(|message| message["content"].as_str()).collect();
        texts.join("\n\n")
    })
    .collect()
}

#[test]
fn the_text_of_a_context_is_the_prompt_that_a_server_is_sent() {
    let repo = repo_with_large_file();
    let server = chat_server(SLOPPY_FIX, || {});
    let flags = openai_at(&server.url());
    let cli = agentos().in_dir(repo.path()).env("OPENAI_API_KEY", "k");
    let calls: [&[&str]; 4] = [
        &["run", TASK],
        &["run", "basket_total subtracts", "--file", "src/large.rs"],
        &["run", TASK, "--file", "src/lib.rs:2-4", "--edit-format", "json"],
        &[
            "run",
            "and document it",
            "--continue",
            "@",
            "--symbol",
            "multiply",
        ],
    ];
    for call in calls {
        let mut args = call.to_vec();
        args.extend(flags.iter().map(String::as_str));
        let count = list_prompts(&server).len();
        let text = cli
            .run(&[args.as_slice(), &["--context", "text"]].concat())
            .unwrap();
        assert_eq!(text.code, Some(0), "{text}");
        assert_eq!(list_prompts(&server).len(), count, "{call:?} sent its task");
        cli.run(&[args.as_slice(), &["--dry-run", "--attempts", "1"]].concat())
            .unwrap();
        let sent = list_prompts(&server);
        assert_eq!(sent.get(count..), Some(&[text.stdout.clone()][..]), "{call:?}");
        // And the record has the same text.
        let recorded = cli.run(&["show", "--prompt"]).unwrap();
        assert_eq!(recorded.stdout, text.stdout, "{call:?}");
    }
}

#[test]
fn a_prompt_is_no_json_and_a_recording_has_none() {
    let repo = small_repo();
    let wrong: [&[&str]; 2] = [
        &["run", "-p", "openai", TASK, "--context", "text", "--json"],
        &[
            "run",
            "-p",
            "replay",
            "--replay",
            "README.md",
            TASK,
            "--context",
            "text",
        ],
    ];
    for args in wrong {
        let output = run_in(&repo, args);
        assert_eq!(output.code, Some(2), "{output}");
    }
}

#[test]
fn a_tool_that_is_asked_once_is_shown_the_definitions_of_a_name() {
    let repo = repo_with_large_file();
    let server = chat_server("No.", || {});
    let flags = openai_at(&server.url());
    let mut args = vec!["tool", "run", "it subtracts", "--symbol", "basket_total"];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos().in_dir(repo.path()).run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let sent = list_prompts(&server).concat();
    assert!(sent.contains("pub fn basket_total("), "{sent}");
    assert!(!sent.contains("pub fn other_7("), "{sent}");
}
