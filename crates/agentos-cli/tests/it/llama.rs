//! The main job against the real llama.cpp server, on both of its wires. Skipped, and said so, where it is not
//! installed.

use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Reply};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, run_in, small_repo};

const KEY: &str = "local-llama-key-0123456789";

fn server(api_key: Option<&str>) -> Option<LlamaServer> {
    LlamaServer::start(LlamaOptions {
        answer: SLOPPY_FIX,
        api_key,
        alias: "tiny-coder",
        ..LlamaOptions::default()
    })
    .unwrap()
}

fn landed(repo: &TestRepo, args: &[&str]) {
    let output = agentos().in_dir(repo.path()).run(args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "src/lib.rs");
    assert_eq!(repo.status(), "");
    let verify = run_in(repo, &["evidence", "verify"]);
    assert_eq!(verify.code, Some(0), "{verify}");
    let story = run_in(repo, &["evidence", "show"]);
    assert!(story.stdout.contains("tiny-coder"), "{story}");
}

#[test]
fn a_task_becomes_a_commit_on_the_native_wire() {
    let Some(server) = server(None) else { return };
    let repo = small_repo();
    landed(
        &repo,
        &[
            "run",
            "-p",
            "llamacpp",
            "--base-url",
            server.url(),
            "make add add",
            "--file",
            "src/lib.rs",
        ],
    );
}

#[test]
fn a_task_becomes_a_commit_on_the_openai_wire() {
    let Some(server) = server(None) else { return };
    let repo = small_repo();
    let url = format!("{}/v1", server.url());
    landed(
        &repo,
        &[
            "run",
            "-p",
            "openai",
            "--base-url",
            &url,
            "--model",
            "tiny-coder",
            "make add add",
            "--file",
            "src/lib.rs",
        ],
    );
}

#[test]
fn right_key_wrong_key_no_key_and_no_server_are_told_apart() {
    let Some(mut server) = server(Some(KEY)) else {
        return;
    };
    let repo = small_repo();
    let root = server.url().to_owned();
    let openai = format!("{root}/v1");
    let cases = [
        ("llamacpp", root.as_str(), "AGENTOS_LLAMACPP_API_KEY"),
        ("openai", openai.as_str(), "AGENTOS_OPENAI_API_KEY"),
    ];
    let state = |provider: &str, url: &str, name: &str, key: &str| {
        let cli = agentos().env(name, key).in_dir(repo.path());
        let health = cli
            .run(&[
                "tool",
                "health",
                "-p",
                provider,
                "--base-url",
                url,
                "--model",
                "tiny-coder",
                "--json",
            ])
            .unwrap();
        let run = cli
            .run(&[
                "run",
                "-p",
                provider,
                "--base-url",
                url,
                "--model",
                "tiny-coder",
                "x",
                "--branch",
                provider,
                "--json",
            ])
            .unwrap();
        let status = health.json().unwrap()["tools"][0]["status"]
            .as_str()
            .unwrap()
            .to_owned();
        (health.code, status, run.code, run.json().unwrap()["code"].clone())
    };
    for (provider, url, name) in cases {
        let (health, status, _, _) = state(provider, url, name, KEY);
        assert_eq!((health, status.as_str()), (Some(0), "connected"), "{provider}");
        let (health, status, run, code) = state(provider, url, name, "wrong-key-0123456789");
        assert_eq!(
            (health, status.as_str(), run),
            (Some(5), "invalid_token", Some(5)),
            "{provider}"
        );
        assert_eq!(code, "unauthorized", "{provider}");
    }
    server.stop();
    for (provider, url, name) in cases {
        let (health, status, run, _) = state(provider, url, name, KEY);
        assert_eq!(
            (health, status.as_str(), run),
            (Some(5), "unreachable", Some(5)),
            "{provider}"
        );
    }
}

#[test]
fn a_model_that_is_not_there_and_a_page_on_the_port_are_told_apart() {
    let Some(server) = server(None) else { return };
    let url = format!("{}/v1", server.url());
    let output = agentos()
        .run(&[
            "tool",
            "health",
            "-p",
            "openai",
            "--base-url",
            &url,
            "--model",
            "no-such-model",
            "--json",
        ])
        .unwrap();
    assert_eq!(
        output.json().unwrap()["tools"][0]["status"],
        "model_missing",
        "{output}"
    );
    let page =
        FakeServer::start(|_| Reply::http(200, &[("content-type", "text/html")], b"<html></html>")).unwrap();
    let output = agentos()
        .run(&[
            "tool",
            "health",
            "-p",
            "llamacpp",
            "--base-url",
            &page.url(),
            "--json",
        ])
        .unwrap();
    assert_eq!(
        output.json().unwrap()["tools"][0]["status"],
        "schema_mismatch",
        "{output}"
    );
}

/// The weights are from a random generator: that the edit lands is the grammar's doing alone.
#[test]
fn an_edit_from_noise_lands_under_a_grammar() {
    let options = LlamaOptions {
        model_args: &["--kind", "random"],
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let profile = r#"{"provider": "llamacpp", "constrain": "grammar",
        "params": {"max_tokens": 400, "temperature": 1.0, "seed": 1}}"#;
    write_file(
        &cli.home().join(".config/agentos/profiles/llamacpp.json"),
        profile,
    );
    let output = cli
        .run(&[
            "run",
            "-p",
            "llamacpp",
            "--base-url",
            server.url(),
            "babble",
            "--file",
            "src/lib.rs",
        ])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "src/lib.rs");
}
