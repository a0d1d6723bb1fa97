//! A canary key through verbs, errors and evidence: found in no output and in no file but its store.

use std::path::Path;

use agentos_testkit::repo::{read_file, write_file};
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use crate::agents::{asked, with_agent};
use crate::support::{SLOPPY_FIX, agentos, chat_server, small_repo};

const CANARY: &str = "sk-canary-5f1c8d7e6b4a39201122334455667788";

/// Files below a folder that hold a text.
fn leaks(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leaks(&path, text));
        } else if path.is_file()
            && read_file(&path)
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn the_key_reaches_the_wire_and_nothing_else() {
    let repo = small_repo();
    let good = chat_server(SLOPPY_FIX, || {});
    // A server that repeats the key in its error, as some do.
    let echo = FakeServer::start(|request| {
        let key = request.header("authorization").unwrap_or_default().to_owned();
        Reply::json(401, &json!({ "error": { "message": format!("Incorrect API key provided: {key}"), "type": "x", "code": "invalid_api_key" } }))
    })
    .unwrap();
    let cli = agentos()
        .env("AGENTOS_OPENAI_API_KEY", CANARY)
        .in_dir(repo.path());
    for server in [&echo, &good] {
        let url = format!("{}/v1", server.url());
        for verb in [
            vec!["tool", "health", "-p", "openai"],
            vec!["tool", "run", "-p", "openai", "fix add", "--file", "src/lib.rs"],
            vec!["run", "-p", "openai", "fix add", "--file", "src/lib.rs"],
        ] {
            for extra in [vec![], vec!["--json"], vec!["-vv"]] {
                let mut args = verb.clone();
                args.extend(["--base-url", &url, "--model", "tiny-coder"]);
                args.extend(extra);
                let output = cli.run(&args).unwrap();
                assert!(!output.to_string().contains(CANARY), "{args:?}: {output}");
            }
        }
    }
    let bearer = format!("Bearer {CANARY}");
    assert!(
        good.requests()
            .iter()
            .any(|request| request.header("authorization") == Some(bearer.as_str()))
    );
    for verb in [
        vec!["evidence", "show"],
        vec!["evidence", "show", "--json"],
        vec!["tool", "auth", "status"],
        vec!["tool", "list", "--json"],
    ] {
        let output = cli.run(&verb).unwrap();
        assert!(!output.to_string().contains(CANARY), "{verb:?}: {output}");
    }
    assert_eq!(leaks(repo.path(), CANARY), Vec::<String>::new());
    assert_eq!(leaks(cli.home(), CANARY), Vec::<String>::new());
}

/// The canary in forms that a person or a program turns back into it.
fn forms() -> Vec<(&'static str, String)> {
    let each = |write: fn(u8) -> String| CANARY.bytes().map(write).collect::<String>();
    let (one, two) = CANARY.split_at(20);
    vec![
        (
            "base64",
            "c2stY2FuYXJ5LTVmMWM4ZDdlNmI0YTM5MjAxMTIyMzM0NDU1NjY3Nzg4".to_owned(),
        ),
        (
            "base64, of more",
            "a2V5PXNrLWNhbmFyeS01ZjFjOGQ3ZTZiNGEzOTIwMTEyMjMzNDQ1NTY2Nzc4OAo=".to_owned(),
        ),
        ("hex", each(|byte| format!("{byte:02X}"))),
        ("percent", each(|byte| format!("%{byte:02x}"))),
        ("JSON", each(|byte| format!("\\u{byte:04x}"))),
        ("HTML", each(|byte| format!("&#{byte};"))),
        ("reversed", CANARY.chars().rev().collect()),
        ("two lines", format!("{one}\n+{two}")),
        ("two texts", format!("a = \"{one}\"\n+b = \"{two}\"")),
        (
            "zero width",
            CANARY.chars().flat_map(|c| [c, '\u{200b}']).collect(),
        ),
    ]
}

#[test]
fn a_key_in_another_form_reaches_no_commit_and_no_evidence() {
    for (name, form) in forms() {
        let repo = small_repo();
        let lines = form.lines().count();
        let answer = format!("--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1,{lines} @@\n+{form}\n");
        let server = chat_server(&answer, || {});
        let url = format!("{}/v1", server.url());
        let cli = agentos()
            .env("AGENTOS_OPENAI_API_KEY", CANARY)
            .in_dir(repo.path());
        let output = cli
            .run(&[
                "run",
                "-p",
                "openai",
                "note it",
                "--base-url",
                &url,
                "--model",
                "tiny-coder",
                "--json",
            ])
            .unwrap();
        let outcome: serde_json::Value = output.json().unwrap();
        assert_eq!(outcome["code"], "key-in-answer", "{name}: {output}");
        assert!(!repo.has("note.txt"), "{name}");
        for part in form.lines().map(|line| line.trim_start_matches('+')) {
            assert!(!output.to_string().contains(part), "{name}: {output}");
            assert_eq!(leaks(repo.path(), part), Vec::<String>::new(), "{name}");
            assert_eq!(leaks(cli.home(), part), Vec::<String>::new(), "{name}");
        }
    }
}

/// Everything that a server can say with the key in it, and whether a task still gets an answer.
fn echoes() -> Vec<(&'static str, Reply)> {
    let error = |status, message: String| Reply::json(status, &json!({ "error": { "message": message } }));
    let words = |before: usize| format!("{} {CANARY} is not known here", "x".repeat(before));
    let answer = |model: &str, message: serde_json::Value| {
        let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
        Reply::json(200, &json!({ "model": model, "choices": [choice] }))
    };
    let pieces: String = CANARY
        .chars()
        .map(|c| json!({ "choices": [{ "delta": { "content": c } }] }))
        .chain([json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })])
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    vec![
        ("500", error(501, words(0))),
        ("500 cut", error(501, words(280))),
        ("400", error(400, words(0))),
        ("400 cut", error(400, words(290))),
        ("200 with an error", error(200, words(0))),
        ("200 with an error, cut", error(200, words(298))),
        (
            "answer",
            answer(
                "tiny-coder",
                json!({ "content": format!("{SLOPPY_FIX}{CANARY}") }),
            ),
        ),
        ("model", answer(CANARY, json!({ "content": SLOPPY_FIX }))),
        ("refusal", answer("tiny-coder", json!({ "refusal": words(280) }))),
        (
            "stream",
            Reply::http(200, &[("content-type", "text/event-stream")], pieces.as_bytes()),
        ),
    ]
}

#[test]
fn a_key_that_a_server_repeats_reaches_no_screen_and_no_evidence() {
    // Half a key is one too many.
    let part: String = CANARY.chars().take(12).collect();
    for (name, reply) in echoes() {
        let repo = small_repo();
        let list = json!({ "data": [{ "id": "tiny-coder" }, { "id": format!("copy-{CANARY}") }] });
        let server = FakeServer::start(move |request| {
            if request.path.ends_with("/models") {
                Reply::json(200, &list)
            } else {
                reply.clone()
            }
        })
        .unwrap();
        let url = format!("{}/v1", server.url());
        let cli = agentos()
            .env("AGENTOS_OPENAI_API_KEY", CANARY)
            .in_dir(repo.path());
        for verb in [
            vec!["tool", "health", "-p", "openai", "--json"],
            vec![
                "tool",
                "run",
                "-p",
                "openai",
                "fix add",
                "--file",
                "src/lib.rs",
                "-vv",
            ],
            vec!["run", "-p", "openai", "fix add", "--file", "src/lib.rs", "--json"],
        ] {
            let mut args = verb.clone();
            args.extend(["--base-url", &url, "--model", "tiny-coder"]);
            let output = cli.run(&args).unwrap().to_string();
            assert!(!output.contains(&part), "{name} {verb:?}: {output}");
        }
        assert_eq!(leaks(repo.path(), &part), Vec::<String>::new(), "{name}");
        assert_eq!(leaks(cli.home(), &part), Vec::<String>::new(), "{name}");
    }
}

/// The token of a sign-in file.
const TOKEN: &str = "oat-canary-99aabbccddeeff001122334455667788";

#[test]
fn what_an_agent_was_handed_to_sign_in_with_comes_back_in_nothing_that_it_says_or_writes() {
    let in_its_files = "contains a key or token that it was given";
    let agents = [
        (
            "a failure",
            "echo \"401 invalid x-api-key: $ANTHROPIC_API_KEY\" >&2; exit 1",
            "[redacted]",
        ),
        (
            "a failure's cut line",
            "printf '%0190d %s' 0 \"$ANTHROPIC_API_KEY\" >&2; exit 1",
            "exit code 1",
        ),
        (
            "its output",
            "env; cat ~/.claude/.credentials.json; for c in $(echo $ANTHROPIC_API_KEY | fold -w 9); do printf %s $c; done",
            "",
        ),
        (
            "a file",
            "cat ~/.claude/.credentials.json >> src/lib.rs",
            in_its_files,
        ),
        (
            "a new file",
            "printf %s \"$ANTHROPIC_API_KEY\" > src/key.rs",
            in_its_files,
        ),
    ];
    for (name, script, said) in agents {
        let repo = small_repo();
        let cli = with_agent(&repo, "claude", script).env("ANTHROPIC_API_KEY", CANARY);
        let sign_in = cli.home().join(".claude/.credentials.json");
        write_file(
            &sign_in,
            json!({ "claudeAiOauth": { "accessToken": TOKEN } }).to_string(),
        );
        let args = ["run", "-p", "claude-code", "fix add"];
        let Some((first, _)) = asked(&cli, &[&args[..], &["--json"]].concat()) else {
            return;
        };
        let second = cli.run(&args).unwrap();
        let story = cli.run(&["evidence", "show", "--json"]).unwrap();
        assert!(first.to_string().contains(said), "{name}: {first}");
        let part = |secret: &str| secret.chars().take(12).collect::<String>();
        for secret in [part(CANARY), part(TOKEN)] {
            for output in [&first, &second, &story] {
                assert!(!output.to_string().contains(&secret), "{name}: {output}");
            }
            assert_eq!(leaks(repo.path(), &secret), Vec::<String>::new(), "{name}");
        }
    }
}
