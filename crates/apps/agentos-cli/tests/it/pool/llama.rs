//! Two real llama.cpp servers in a pool, the first of which is killed in mid-answer. Skipped, and said so, where the server is not
//! installed.

use std::process::Stdio;

use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_testkit::repo::TestRepo;
use serde_json::{Value, json};

use crate::llama::{is_at_work, wait_until};
use crate::pool::{add_pool, add_profile, call};
use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, small_repo};

/// A server that would write for minutes, and one that answers.
fn start_servers() -> Option<(LlamaServer, LlamaServer)> {
    let endless = LlamaServer::start(LlamaOptions {
        answer: SLOPPY_FIX,
        model_args: &["--endless", "--ctx", "262144"],
        server_args: &["--parallel", "1", "--n-predict", "-1"],
        ..LlamaOptions::default()
    });
    let answering = LlamaServer::start(LlamaOptions {
        answer: SLOPPY_FIX,
        ..LlamaOptions::default()
    });
    Some((endless.unwrap()?, answering.unwrap()?))
}

fn add_members(cli: &agentos_testkit::cli::Cli, first: &str, second: &str) {
    // The first one may write for minutes.
    let endless = json!({ "max_tokens": 200_000 });
    for (name, url, params) in [("one", first, endless), ("two", second, json!({}))] {
        let profile =
            json!({ "adapter": "llamacpp", "base_url": url, "requires_key": false, "params": params });
        add_profile(cli, name, &profile);
    }
    let members = json!([{ "alias": "first", "model": "one" }, { "alias": "second", "model": "two" }]);
    add_pool(cli, "mine", &json!({ "members": members }));
}

/// Runs a command, kills the first server while it answers, and returns what the command left.
fn kill_in_mid_answer(command: &mut std::process::Command, first: &mut LlamaServer) -> std::process::Output {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(first.url(), true);
    assert!(is_at_work(first.url()));
    first.stop();
    child.wait_with_output().unwrap()
}

#[test]
fn a_run_goes_on_at_the_second_server_when_the_first_one_is_killed() {
    let Some((mut first, second)) = start_servers() else {
        return;
    };
    let repo: TestRepo = small_repo();
    let cli = agentos().in_dir(repo.path());
    add_members(&cli, first.url(), second.url());
    let mut command = cli.command(&["run", "-p", "mine", "fix add", "--file", "src/lib.rs"]);
    let output = kill_in_mid_answer(&mut command, &mut first);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    assert!(stderr.contains("`second` is asked now"), "{stderr}");
    // Two results of one task, and one author of the change.
    let shown: Value = call(&cli, &["evidence", "show", "--json"]).json().unwrap();
    let records = shown["records"].as_array().unwrap().iter();
    let results: Vec<(&Value, &Value)> = records
        .filter(|record| record["kind"] == "tool_result")
        .map(|record| {
            (
                &record["body"]["result"]["task_id"],
                &record["body"]["result"]["tool"],
            )
        })
        .collect();
    assert_eq!(
        results,
        [(results[0].0, &json!("one")), (results[0].0, &json!("two"))],
        "{stderr}"
    );
    let log = repo.git(&["log", "-1", "--format=%B"]);
    assert!(
        log.contains("Assisted-by: two") && !log.contains("Assisted-by: one"),
        "{log}"
    );
    for args in [&["evidence", "verify"][..], &["evidence", "verify", "--ledger"]] {
        assert_eq!(call(&cli, args).code, Some(0), "{args:?}");
    }
}

#[test]
fn a_conversation_goes_on_at_the_second_server_when_the_first_one_is_killed() {
    let Some((mut first, second)) = start_servers() else {
        return;
    };
    let cli = agentos();
    add_members(&cli, first.url(), second.url());
    let mut command = cli.command(&["chat", "send", "-c", "kept", "-p", "mine", "fix add"]);
    let output = kill_in_mid_answer(&mut command, &mut first);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("`first` failed"), "{stderr}");
    // The shown part is withdrawn: what is kept and printed is the second answer alone.
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), SLOPPY_FIX.trim());
    let kept = call(&cli, &["chat", "show", "kept", "--json"]).json().unwrap();
    let text = kept.to_string();
    assert_eq!(text.matches("\"provider\":\"one\"").count(), 0, "{text}");
}
