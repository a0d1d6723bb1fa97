//! The same with real servers of llama.cpp. Skipped, and said so, where they are not installed.

use std::process::Stdio;

use agentos_schema::SchemaName;
use agentos_testkit::cli::Cli;
use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_testkit::llama_router::LlamaRouter;
use agentos_testkit::repo::read_file;
use serde_json::{Value, json};

use super::{GIB, add_pool, add_profile, call, script, send};
use crate::support::agentos;

fn server(answer: &str) -> Option<LlamaServer> {
    LlamaServer::start(LlamaOptions {
        answer,
        alias: "tiny",
        ..LlamaOptions::default()
    })
    .unwrap()
}

#[test]
fn two_real_servers_take_turns_as_memory_allows() {
    let (Some(large), Some(small)) = (server("the large model"), server("the small model")) else {
        return;
    };
    let cli = agentos();
    let file = script(&cli, &[(0, 20), (10, 2), (20, 20), (45, 20), (60, 20)]);
    let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
    add_pool(&cli, large.url(), small.url());
    let mut sent: Vec<u64> = Vec::new();
    let answers: Vec<String> = (0..5)
        .map(|_| {
            let answer = send(&cli, "Who are you?").1;
            sent.push(read_sent(&cli));
            answer
        })
        .collect();
    let expected = ["large", "small", "small", "large", "large"].map(|size| format!("the {size} model"));
    assert_eq!(answers, expected);
    // By the counts of the servers themselves: each turn was sent all earlier ones, on whichever side of a switch they were.
    assert!(sent.is_sorted_by(|one, next| one + 20 < *next), "{sent:?}");
    let (_, status) = call(&cli, SchemaName::Status, &["status"]);
    let switch = &status["machine"]["switches"][0];
    assert_eq!(
        (&switch["from"], &switch["to"]),
        (&json!("small"), &json!("large")),
        "{status:#}"
    );
}

/// Returns the tokens of the last turn's prompt, as its server counted them.
fn read_sent(cli: &Cli) -> u64 {
    let turn: Value = serde_json::from_slice(&read_file(&cli.home().join("choice.json"))).unwrap();
    turn["turn"]["calls"][0]["usage"]["input_tokens"]
        .as_u64()
        .unwrap()
}

/// A router with the models `a` and `b`, none of which is loaded, and a provider for it.
fn add_router(cli: &Cli) -> Option<LlamaRouter> {
    let router = LlamaRouter::start(&[("a", "I am model a."), ("b", "I am model b.")]).unwrap()?;
    add_profile(
        cli,
        "mine",
        &json!({ "adapter": "llamacpp", "mode": "openai_compatible", "base_url": router.url(), "model": "a" }),
    );
    Some(router)
}

#[test]
fn a_real_router_loads_and_unloads_what_is_named() {
    let cli = agentos();
    let Some(router) = add_router(&cli) else {
        return;
    };
    let act = |action: &str, model: &str| call(&cli, SchemaName::ModelAction, &["model", action, model]);
    // (action, model, was it so before, loads since the start)
    for (action, model, was_so, loads) in [
        ("load", "mine/a", false, 1),
        ("load", "mine/a", true, 1),
        ("load", "mine/b", false, 2),
        ("unload", "mine/a", false, 2),
        ("unload", "mine/a", true, 2),
        ("warmup", "mine/a", false, 3),
    ] {
        let (code, report) = act(action, model);
        assert_eq!(
            (code, &report["was_so"]),
            (Some(0), &json!(was_so)),
            "{action} {model}: {report}"
        );
        assert_eq!(router.count_loads().unwrap(), loads, "{action} {model}");
    }
    let unknown = cli.run(&["model", "load", "mine/nobody"]).unwrap();
    assert_eq!(unknown.code, Some(5), "{unknown}");
}

#[test]
fn parallel_first_requests_load_a_model_of_a_real_router_once() {
    let cli = agentos();
    let Some(router) = add_router(&cli) else {
        return;
    };
    let children: Vec<_> = (0..32)
        .map(|number| {
            let session = format!("s{number}");
            let mut command = cli.command(&["chat", "send", "-c", &session, "-p", "mine", "hi"]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).trim(),
            "I am model a.",
            "{errors}"
        );
    }
    assert_eq!(router.count_loads().unwrap(), 1);
}

#[test]
fn a_real_router_loads_nothing_that_nobody_asked_for() {
    let cli = agentos();
    let Some(router) = add_router(&cli) else {
        return;
    };
    let members = json!([{ "alias": "one", "model": "mine/a", "memory_bytes": 1024 }, { "alias": "two", "model": "mine/b" }]);
    add_profile(
        &cli,
        "duo",
        &json!({ "adapter": "pool", "pool": { "selector": "resources", "members": members } }),
    );
    for args in [
        &["status"][..],
        &["tool", "health", "-p", "mine"],
        &["models", "list", "--available"],
        &["pool", "select", "-p", "duo"],
        &["pool", "detect", "-p", "duo"],
        &["doctor"],
        &["model", "unload", "mine/a"],
    ] {
        cli.run(args).unwrap();
    }
    assert_eq!(router.count_loads().unwrap(), 0);
}

#[test]
fn a_talk_goes_on_with_a_smaller_model_of_a_real_router() {
    let cli = agentos();
    let Some(router) = add_router(&cli) else {
        return;
    };
    let file = script(&cli, &[(0, 20), (10, 2), (20, 20), (45, 20), (60, 20)]);
    let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
    let members = json!([{ "alias": "large", "model": "mine/a", "memory_bytes": 8 * GIB },
        { "alias": "small", "model": "mine/b", "memory_bytes": GIB }]);
    add_profile(
        &cli,
        "duo",
        &json!({ "adapter": "pool", "pool": { "selector": "resources", "members": members } }),
    );
    let mut sent = Vec::new();
    let mut said = Vec::new();
    for _ in 0..5 {
        let (alias, answer, _) = send(&cli, "Who are you?");
        sent.push(read_sent(&cli));
        said.push(format!("{alias}: {answer}"));
    }
    let expected = [
        "large: I am model a.",
        "small: I am model b.",
        "small: I am model b.",
        "large: I am model a.",
        "large: I am model a.",
    ];
    assert_eq!(said, expected);
    assert!(sent.is_sorted_by(|one, next| one + 20 < *next), "{sent:?}");
    // Each was loaded once: going back and forth loads nothing again.
    assert_eq!(router.count_loads().unwrap(), 2);
}
