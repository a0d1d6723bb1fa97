//! A program of the user chooses for a pool: what it is shown, what its answer may be, and what happens without one.

#![cfg(target_os = "linux")]

use std::path::Path;

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{read_file, write_file};
use serde_json::{Value, json};

use super::{add_pool, add_profile, answering, call, call_json, count_chats};
use crate::support::{agentos, sandbox_holds, small_repo};
use crate::toolboxes::{add_script, shell_toolbox, trust};

/// A pool of three models with windows of 8,000, 32,000 and 200,000 tokens, for which `chooser` chooses.
fn add_chosen_pool(cli: &Cli, url: &str, other: &Value) {
    let server = json!({ "adapter": "openai", "base_url": format!("{url}/v1"), "requires_key": false });
    add_profile(cli, "local", &server);
    let member = |alias: &str, window: u64| json!({ "alias": alias, "model": format!("local/{alias}"), "abilities": { "context_window": window } });
    let mut pool = json!({ "selector_program": "chooser",
        "members": [member("middle", 32_000), member("small", 8_000), member("large", 200_000)] });
    for (key, value) in other.as_object().unwrap() {
        pool[key] = value.clone();
    }
    add_pool(cli, "mine", &pool);
}

/// Answers every call with what this command of a shell prints.
fn add_chooser(cli: &Cli, command: &str, more: &Value) {
    let script = shell_toolbox(&["select_model"], &format!("*) {command} ;;"));
    add_script(cli, "chooser", "/bin/sh", &script, more);
}

fn answer_with(text: &str) -> String {
    format!("echo '{}'", json!({ "type": "result", "text": text }))
}

#[test]
fn the_example_chooses_by_the_kind_of_the_task() {
    if !sandbox_holds() {
        return;
    }
    let cli = agentos();
    let server = answering("It is a list.", true);
    add_chosen_pool(&cli, &server.url(), &json!({}));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/examples/selector.py");
    let script = String::from_utf8(read_file(&example)).unwrap();
    add_script(&cli, "chooser", "/usr/bin/python3", &script, &json!({}));
    trust(&cli, "chooser");
    let select = |message: &str| {
        call_json(
            &cli,
            SchemaName::PoolChoice,
            &["pool", "select", "--message", message],
        )
    };
    for (message, expected) in [
        ("explain the parser", "small"),
        ("fix the parser", "large"),
        ("write the README", "small"),
    ] {
        let (code, choice) = select(message);
        assert_eq!(
            (code, choice["alias"].as_str()),
            (Some(0), Some(expected)),
            "{choice}"
        );
        assert_eq!(choice["reason"], "the program `chooser` chose it");
    }
    // A turn is answered by the member that it chose, and the whole turn replays after the program is gone.
    let sent = call(
        &cli,
        &[
            "chat",
            "send",
            "-c",
            "s",
            "-p",
            "mine",
            "--json",
            "Explain the parser.",
        ],
    );
    assert_eq!(sent.code, Some(0), "{sent}");
    let turn = sent.json().unwrap();
    assert_eq!(turn["turn"]["choice"]["alias"], "small");
    let program = &turn["turn"]["choice"]["input"]["program"];
    assert_eq!(
        (&program["toolbox"], &program["alias"]),
        (&json!("chooser"), &json!("small"))
    );
    assert!(program["program_hash"].as_str().unwrap().starts_with("sha256:"));
    write_file(&cli.home().join("chooser.script"), "exit 1");
    let turn_file = cli.home().join("turn.json");
    write_file(&turn_file, turn.to_string());
    let replay = ["pool", "replay", turn_file.to_str().unwrap()];
    let (code, replayed) = call_json(&cli, SchemaName::PoolReplay, &replay);
    assert_eq!((code, replayed["chosen"].as_str()), (Some(0), Some("small")));
}

#[test]
fn a_program_is_shown_the_models_that_fit_and_not_the_message() {
    if !sandbox_holds() {
        return;
    }
    let cli = agentos();
    add_chosen_pool(&cli, "http://127.0.0.1:9", &json!({ "default": "large" }));
    // Gives back what it was asked, as an error, which is quoted.
    let script = "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    if asked['type'] == 'describe':\n        answer = {'type': 'tools', 'tools': [{'name': 'select_model', 'description': 'Chooses.', 'input_schema': {'type': 'object'}}]}\n    else:\n        seen = asked['arguments']\n        names = [model['alias'] for model in seen['models']]\n        answer = {'type': 'result', 'is_error': True, 'text': ' '.join(names + sorted(seen) + ['leak' if 'pineapple' in line else 'no message'])}\n    print(json.dumps(answer), flush=True)\n";
    add_script(&cli, "chooser", "/usr/bin/python3", script, &json!({}));
    trust(&cli, "chooser");
    let args = [
        "pool",
        "select",
        "--message",
        "pineapple",
        "--require",
        "min_context_window=10000",
    ];
    let refused = call(&cli, &args);
    assert_eq!(refused.code, Some(5), "{refused}");
    assert!(
        refused.stderr.contains(
            "it reports an error: middle large complexity default_alias input_tokens kind models needs output_tokens pool version no message"
        ),
        "{refused}"
    );
    // One model: nothing to choose, so the program is not asked.
    let (code, choice) = call_json(
        &cli,
        SchemaName::PoolChoice,
        &["pool", "select", "--require", "min_context_window=100000"],
    );
    assert_eq!((code, &choice["alias"]), (Some(0), &json!("large")));
    assert_eq!(choice["input"].get("program"), None);
    let request = json!({ "version": 1, "pool": "mine", "models": choice["input"]["models"], "needs": {}, "input_tokens": 1, "output_tokens": 2 });
    assert_eq!(validate_value(SchemaName::PoolSelector, &request), Ok(()));
}

#[test]
fn any_other_answer_is_a_failure_in_the_open() {
    if !sandbox_holds() {
        return;
    }
    let cli = agentos();
    let slow = json!({ "timeout_seconds": 1 });
    let plain = json!({});
    // (program, settings, reason)
    let cases = [
        (
            answer_with("huge"),
            &plain,
            "its answer `huge` is no member that fits",
        ),
        // It does not meet the need below.
        (
            answer_with("small"),
            &plain,
            "its answer `small` is no member that fits",
        ),
        (
            answer_with("large, because it is large"),
            &plain,
            "its answer `large, because it is large` is no member that fits",
        ),
        (answer_with(""), &plain, "its answer `` is no member that fits"),
        (
            format!("echo '{}'", json!({ "type": "error", "message": "no idea" })),
            &plain,
            "no idea",
        ),
        ("echo large".to_owned(), &plain, "is not a valid message"),
        ("exit 3".to_owned(), &plain, "chooser"),
        ("while :; do :; done".to_owned(), &slow, "it took more than 1 s"),
        // No file of the user but its own.
        (
            format!(
                "if cat {}/.config/agentos/toolboxes.json > /dev/null; then {}; else {}; fi",
                cli.home().display(),
                answer_with("large"),
                answer_with("confined")
            ),
            &plain,
            "its answer `confined` is no member that fits",
        ),
    ];
    let need = ["--require", "min_context_window=10000"];
    for (command, settings, reason) in cases {
        add_chooser(&cli, &command, settings);
        trust(&cli, "chooser");
        add_chosen_pool(&cli, "http://127.0.0.1:9", &json!({}));
        let refused = call(&cli, &[&["pool", "select"], need.as_slice()].concat());
        assert_eq!(refused.code, Some(5), "{command}: {refused}");
        assert!(
            refused
                .stderr
                .contains("error [selector-failed] the program `chooser` chose no member")
                && refused.stderr.contains(reason),
            "{command}: {refused}"
        );
        add_chosen_pool(
            &cli,
            "http://127.0.0.1:9",
            &json!({ "selector": "capability", "default": "small" }),
        );
        let fallen = call(&cli, &[&["pool", "select", "--json"], need.as_slice()].concat());
        assert_eq!(fallen.code, Some(0), "{command}: {fallen}");
        assert!(
            fallen
                .stderr
                .contains("did not choose, and the pool's selector does"),
            "{fallen}"
        );
        let choice = fallen.json().unwrap();
        assert_eq!(validate_value(SchemaName::PoolChoice, &choice), Ok(()));
        assert_eq!(choice["alias"], "middle");
        assert!(
            choice["reason"]
                .as_str()
                .unwrap()
                .starts_with("the smallest window that fits, because `chooser` did not choose")
        );
        let file = cli.home().join("choice.json");
        write_file(&file, choice.to_string());
        let (code, _) = call_json(
            &cli,
            SchemaName::PoolReplay,
            &["pool", "replay", file.to_str().unwrap()],
        );
        assert_eq!(code, Some(0));
    }
}

#[test]
fn a_program_that_is_not_trusted_is_not_started() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let server = answering("Hello.", true);
    add_chosen_pool(&cli, &server.url(), &json!({}));
    add_chooser(&cli, &answer_with("large"), &json!({}));
    let refuse = |why: &str| {
        let refused = call(&cli, &["chat", "send", "-p", "mine", "Hello"]);
        assert_eq!(refused.code, Some(5), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
        assert!(refused.stderr.contains("agentos tool trust chooser"), "{refused}");
        assert_eq!(count_chats(&server), 0);
    };
    refuse("you were never asked whether you trust it");
    trust(&cli, "chooser");
    let (_, choice) = call_json(&cli, SchemaName::PoolChoice, &["pool", "select"]);
    assert_eq!(choice["alias"], "large");
    // Other bytes.
    add_chooser(&cli, &answer_with("small"), &json!({}));
    refuse("its program or its profile changed");
    // A repository changes neither the pool nor the program.
    add_chooser(&cli, &answer_with("large"), &json!({}));
    let hostile = repo.path().join("hostile.sh");
    write_file(
        &hostile,
        shell_toolbox(&["select_model"], &format!("*) {} ;;", answer_with("small"))),
    );
    let theirs = json!({ "provider": "chooser", "adapter": "toolbox",
        "program": { "command": "/bin/sh", "args": [hostile.display().to_string()] } });
    repo.write(".agentos/profiles/chooser.json", theirs.to_string());
    let pool = json!({ "provider": "mine", "adapter": "pool", "pool": { "selector_program": "theirs",
        "members": [{ "alias": "small", "model": "local/small" }] } });
    repo.write(".agentos/profiles/mine.json", pool.to_string());
    let (_, choice) = call_json(&cli, SchemaName::PoolChoice, &["pool", "select"]);
    assert_eq!(
        (&choice["alias"], &choice["reason"]),
        (&json!("large"), &json!("the program `chooser` chose it"))
    );
    let (_, list) = call_json(&cli, SchemaName::PoolList, &["pool", "list"]);
    assert_eq!(list["pools"][0]["selector_program"], "chooser");
}

#[test]
fn a_pool_names_a_toolbox_without_a_network() {
    let cli = agentos();
    let mut text = String::new();
    for (name, program) in [("nobody", "nobody"), ("server", "local"), ("network", "open")] {
        add_chosen_pool(
            &cli,
            "http://127.0.0.1:9",
            &json!({ "selector_program": program }),
        );
        add_script(
            &cli,
            "open",
            "/bin/sh",
            "exit 1",
            &json!({ "hosts": ["example.com:443"] }),
        );
        let refused = call(&cli, &["pool", "select"]);
        assert_eq!(refused.code, Some(2), "{name}: {refused}");
        text.push_str(refused.stderr.lines().next().unwrap());
        text.push('\n');
    }
    insta::assert_snapshot!(text, @r#"
    error [bad-pool] pool `mine`: `selector_program` names `nobody`, which is no toolbox: the adapter of its profile, in your own profiles, must be `toolbox`
    error [bad-pool] pool `mine`: `selector_program` names `local`, which is no toolbox: the adapter of its profile, in your own profiles, must be `toolbox`
    error [bad-pool] pool `mine`: `selector_program` names `open`, whose profile has `program.hosts`: a program that chooses gets no network
    "#);
}
