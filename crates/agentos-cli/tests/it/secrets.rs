//! A canary key through verbs, errors and evidence: found in no output and in no file but its store.

use std::path::Path;

use agentos_testkit::repo::read_file;
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use crate::support::{SLOPPY_FIX, agentos, chat_server, small_repo};

const CANARY: &str = "sk-canary-5f1c8d7e6b4a39201122334455667788";

/// Files below a folder that hold the canary.
fn leaks(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if path.is_file()
            && read_file(&path)
                .windows(CANARY.len())
                .any(|part| part == CANARY.as_bytes())
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
    assert_eq!(leaks(repo.path()), Vec::<String>::new());
    assert_eq!(leaks(cli.home()), Vec::<String>::new());
}
