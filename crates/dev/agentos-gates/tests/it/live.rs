//! The gates over the real program and a server that behaves like LM Studio, or does not.
//!
//! Owns: the proof that a whole gate passes, and fails in the right place, with nothing stood in for but the server.
//! Skipped, saying so, where `agentos` was not built beside the gates.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use agentos_testkit::server::{FakeServer, Recorded, Reply, closed_port};
use agentos_testkit::wire::Fixture;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stand_in::{DIFF, letters, read};

/// The program that was built together with the gates.
pub fn agentos() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_gate")).with_file_name("agentos");
    if program.exists() {
        return Some(program);
    }
    writeln!(
        std::io::stderr(),
        "skipped: `agentos` is not built beside the gates"
    )
    .unwrap();
    None
}

/// Runs a gate against an address; its verdict.
pub fn verdict(gate: &str, agentos: &Path, base_url: &str, scratch: &TempDir) -> Value {
    let out = scratch.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_gate"))
        .arg(gate)
        .arg("--agentos")
        .arg(agentos)
        .arg("--out")
        .arg(&out)
        .arg("--scratch")
        .arg(scratch.path())
        .args(["--base-url", base_url])
        .env("AGENTOS_GATE_MODE", "1")
        .env_remove("AGENTOS_LMSTUDIO_API_KEY")
        .env_remove("AGENTOS_LLAMACPP_API_KEY")
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    read(&out.join("reports/gate_results.json"))
}

fn chat(content: Value) -> Reply {
    Reply::json(
        200,
        &json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "qwen/qwen3-coder-30b",
            "choices": [{
                "index": 0, "logprobs": null, "finish_reason": "stop",
                "message": {"role": "assistant", "content": content},
            }],
            "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
        }),
    )
}

fn asks_for_words(request: &Recorded) -> bool {
    String::from_utf8_lossy(&request.body).contains("Say 'ok'.")
}

/// Everything but the answer to a chat, as LM Studio gives it.
fn lm_studio(request: &Recorded, answer: impl Fn(&Recorded) -> Reply) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/api/v1/models") => Fixture::load("lmstudio", "api_v1_models").unwrap().reply(),
        ("GET", "/api/v0/models") => Fixture::load("lmstudio", "api_v0_models").unwrap().reply(),
        ("GET", "/v1/models") => Fixture::load("lmstudio", "models_full").unwrap().reply(),
        ("POST", "/v1/chat/completions") => answer(request),
        _ => Reply::json(404, &json!({"error": "Unexpected endpoint or method."})),
    }
}

/// A good answer to either task.
fn good(request: &Recorded) -> Reply {
    if asks_for_words(request) {
        chat(json!("ok"))
    } else {
        chat(json!(format!("Here it is:\n\n```diff\n{DIFF}```\n")))
    }
}

fn judged(agentos: &Path, server: &FakeServer, scratch: &TempDir) -> Value {
    verdict(
        "tl_r2_lmstudio",
        agentos,
        &format!("{}/v1", server.url()),
        scratch,
    )
}

#[test]
fn a_server_that_works_passes_all_five() {
    let Some(agentos) = agentos() else { return };
    let scratch = TempDir::new().unwrap();
    let server = FakeServer::start(|request| lm_studio(request, good)).unwrap();
    let verdict = judged(&agentos, &server, &scratch);
    assert_eq!(letters(&verdict), "PPPPP", "{verdict:#}");
}

#[test]
fn exactly_the_right_check_fails() {
    let Some(agentos) = agentos() else { return };
    let bad_diff = |request: &Recorded| match asks_for_words(request) {
        true => chat(json!("ok")),
        false => chat(json!(
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1 @@\n-not there\n+anything\n"
        )),
    };
    type Answer = Box<dyn Fn(&Recorded) -> Reply + Send + Sync>;
    let cases: Vec<(&str, &str, Answer)> = vec![
        (
            "a diff that fits nowhere",
            "PPFPP",
            Box::new(move |request| lm_studio(request, bad_diff)),
        ),
        (
            "no content",
            "PFSPP",
            Box::new(|request| lm_studio(request, |_| Reply::json(200, &json!({"choices": []})))),
        ),
        (
            "a web page",
            "FSSSS",
            Box::new(|_| Reply::http(200, &[("content-type", "text/html")], b"<html>hello</html>")),
        ),
        (
            "a wrong key",
            "FSSSS",
            Box::new(|_| Fixture::load("lmstudio", "auth_bad_key").unwrap().reply()),
        ),
    ];
    for (what, expected, answer) in cases {
        let scratch = TempDir::new().unwrap();
        let server = FakeServer::start(answer).unwrap();
        let verdict = judged(&agentos, &server, &scratch);
        assert_eq!(letters(&verdict), expected, "{what}: {verdict:#}");
    }
}

#[test]
fn a_server_that_writes_into_the_repository_fails_the_power_boundary_alone() {
    let Some(agentos) = agentos() else { return };
    let scratch = TempDir::new().unwrap();
    let planted = scratch.path().join("repository/src/planted.rs");
    let server = FakeServer::start(move |request| {
        lm_studio(request, |request| {
            std::fs::write(&planted, format!("// {}\n", request.body.len())).unwrap();
            good(request)
        })
    })
    .unwrap();
    let verdict = judged(&agentos, &server, &scratch);
    assert_eq!(letters(&verdict), "PPPFP", "{verdict:#}");
    let details = verdict["checks"][3]["details"].to_string();
    assert!(
        details.contains("measured by the gate: working tree: src/planted.rs"),
        "{details}"
    );
    assert!(
        details.contains("measured by the program: working tree: src/planted.rs"),
        "{details}"
    );
}

#[test]
fn nobody_on_the_port_skips() {
    let Some(agentos) = agentos() else { return };
    let scratch = TempDir::new().unwrap();
    let verdict = verdict("tl_r2_lmstudio", &agentos, &closed_port().unwrap(), &scratch);
    assert_eq!(letters(&verdict), "SSSSS", "{verdict:#}");
}
