//! `agentos tool list`, `health`, `auth`: what a user learns about providers.

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply, closed_port};
use serde_json::json;

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, chat_server, seen, small_repo};

fn health(args: &[&str]) -> (Option<i32>, serde_json::Value) {
    let mut all = vec!["tool", "health", "--json"];
    all.extend(args);
    let output = agentos().run(&all).unwrap();
    let json = output.json().unwrap_or_else(|error| panic!("{error}: {output}"));
    (output.code, json["tools"][0].clone())
}

#[test]
fn every_provider_is_listed() {
    let output = agentos().run(&["tool", "list"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    insta::assert_snapshot!(output.stdout, @r"
    PROVIDER        WHERE  ADDRESS OR PROGRAM                                MODEL                     KEY
    aider           cloud  aider                                             -                         none
    anthropic       cloud  https://api.anthropic.com                         claude-sonnet-4-20250514  none
    azure           cloud  -                                                 -                         none
    claude-code     cloud  claude                                            -                         none
    codex           cloud  codex                                             -                         none
    command         local  -                                                 -                         none
    gemini          cloud  https://generativelanguage.googleapis.com/v1beta  gemini-2.5-flash          none
    gemini-cli      cloud  gemini                                            -                         none
    gemini-cli-acp  cloud  gemini                                            -                         none
    goose           cloud  goose                                             -                         none
    litellm         local  http://localhost:4000/v1                          -                         none
    llamacpp        local  http://localhost:8080                             -                         none
    lmstudio        local  http://localhost:1234/v1                          local-model               none
    ollama          local  http://localhost:11434                            -                         none
    openai          cloud  https://api.openai.com/v1                         gpt-4o                    none
    opencode        cloud  opencode                                          -                         none
    opencode-acp    cloud  opencode                                          -                         none
    openrouter      cloud  https://openrouter.ai/api/v1                      -                         none
    replay          local  -                                                 -                         none
    tool            local  -                                                 -                         none
    vllm            local  http://localhost:8000/v1                          -                         none
    zai             cloud  https://api.z.ai/api/paas/v4                      -                         none
    ");
}

#[test]
fn the_six_states_are_told_apart_for_every_provider() {
    let page =
        FakeServer::start(|_| Reply::http(200, &[("content-type", "text/html")], b"<html>hello</html>"))
            .unwrap();
    let empty = FakeServer::start(|request| match request.path.as_str() {
        "/api/v1/models" => Reply::json(200, &json!({ "models": [] })),
        _ => Reply::json(200, &json!({ "object": "list", "data": [] })),
    })
    .unwrap();
    let locked = FakeServer::start(|_| {
        Reply::json(401, &json!({ "error": { "message": "Invalid API Key", "type": "authentication_error", "code": 401 } }))
    })
    .unwrap();
    let closed = closed_port().unwrap();
    for (provider, path) in [
        ("openai", "/v1"),
        ("lmstudio", "/v1"),
        ("llamacpp", ""),
        ("ollama", ""),
        ("anthropic", ""),
        ("gemini", "/v1beta"),
    ] {
        let cases = [
            (format!("{closed}{path}"), "unreachable", "network"),
            (format!("{}{path}", page.url()), "schema_mismatch", "schema"),
            (format!("{}{path}", locked.url()), "invalid_token", "auth"),
            ("not a url".to_owned(), "not_configured", "config"),
        ];
        for (url, state, category) in cases {
            let cli = agentos().env("AGENTOS_OPENAI_API_KEY", "sk-wrong-000000000000");
            let cli = cli.env("AGENTOS_LMSTUDIO_API_KEY", "lm-wrong-000000000000");
            let cli = cli.env("AGENTOS_LLAMACPP_API_KEY", "ll-wrong-000000000000");
            let cli = cli.env("AGENTOS_OLLAMA_API_KEY", "ol-wrong-000000000000");
            let cli = cli.env("AGENTOS_ANTHROPIC_API_KEY", "an-wrong-000000000000");
            let cli = cli.env("AGENTOS_GEMINI_API_KEY", "ge-wrong-000000000000");
            let args = [
                "tool",
                "health",
                "--json",
                "-p",
                provider,
                "--base-url",
                &url,
                "--model",
                "tiny",
            ];
            let output = cli.run(&args).unwrap();
            assert_eq!(output.code, Some(5), "{provider} {state}: {output}");
            let tool = &output.json().unwrap()["tools"][0];
            assert_eq!(tool["status"], state, "{provider}: {tool}");
            assert_eq!(tool["error_category"], category, "{provider}: {tool}");
            assert!(tool["fix"].is_string(), "{provider} {state}: {tool}");
            assert!(!output.to_string().contains("wrong-0000"), "{output}");
        }
    }
    for provider in ["openai", "lmstudio"] {
        let url = format!("{}/v1", empty.url());
        let (code, tool) = health(&["-p", provider, "--base-url", &url, "--model", "tiny"]);
        assert_eq!(
            (code, &tool["status"]),
            (Some(5), &json!("model_missing")),
            "{provider}: {tool}"
        );
    }
}

#[test]
fn a_server_that_answers_as_it_should_is_connected() {
    let server = chat_server("ok", || {});
    let url = format!("{}/v1", server.url());
    let (code, tool) = health(&["-p", "openai", "--base-url", &url, "--model", "tiny-coder"]);
    assert_eq!(code, Some(0), "{tool}");
    assert_eq!(tool["status"], "connected");
    assert_eq!(tool["models"], json!(["tiny-coder"]));
    assert!(tool.get("error_category").is_none());
    let (code, tool) = health(&["-p", "openai", "--base-url", &url, "--model", "another"]);
    assert_eq!(
        (code, &tool["status"]),
        (Some(5), &json!("model_missing")),
        "{tool}"
    );
    // Without a name in the call, the model of a task is asked for.
    let cli = agentos();
    cli.run(&["use", "openai/another"]).unwrap();
    let args = ["tool", "health", "--json", "-p"];
    let status = |name: &str| {
        let output = cli
            .run(&[&args[..], &[name, "--base-url", &url]].concat())
            .unwrap();
        output.json().unwrap()["tools"][0]["status"].clone()
    };
    assert_eq!(status("openai"), "model_missing");
    assert_eq!(status("openai/tiny-coder"), "connected");
}

#[test]
fn health_for_a_person_says_what_to_do() {
    let closed = closed_port().unwrap();
    let output = agentos()
        .run(&["tool", "health", "-p", "llamacpp", "--base-url", &closed])
        .unwrap();
    let repo = small_repo();
    let port = closed.rsplit(':').next().unwrap();
    let seen = seen(&output, &repo).replace(&format!("--port {port}"), "--port [PORT]");
    insta::assert_snapshot!(seen, @r"
exit: 5
--- stdout
llamacpp  unreachable      127.0.0.1:[PORT]  `127.0.0.1:[PORT]` does not accept connections
                           next: start `llama-server -m MODEL.gguf --port [PORT]`; or set its address with `--base-url`
--- stderr
");
}

#[test]
fn a_key_is_set_used_shown_by_its_hint_and_forgotten() {
    let server = chat_server("ok", || {});
    let url = format!("{}/v1", server.url());
    let cli = agentos().env("AGENTOS_OPENAI_MODEL", "tiny-coder");
    // The profile says whose the key is: address and key name stand together.
    let profile = json!({ "provider": "openai", "base_url": url, "api_key_ref": "mine.key" });
    write_file(
        &cli.home().join(".config/agentos/profiles/openai.json"),
        profile.to_string(),
    );
    let key = "sk-test-0123456789abcdefWXYZ";
    let set = cli
        .run_with_input(
            &["tool", "auth", "set", "--provider", "openai", "--store", "file"],
            key.as_bytes(),
        )
        .unwrap();
    assert_eq!(set.code, Some(0), "{set}");
    assert!(!set.to_string().contains(key), "{set}");

    let status = cli.run(&["tool", "auth", "status"]).unwrap();
    assert_eq!(status.code, Some(0), "{status}");
    assert!(status.stdout.contains("WXYZ"), "{status}");
    assert!(!status.to_string().contains("0123456789"), "{status}");

    assert_eq!(
        cli.run(&["tool", "health", "-p", "openai"]).unwrap().code,
        Some(0)
    );
    let bearer = format!("Bearer {key}");
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.header("authorization") == Some(bearer.as_str()))
    );

    assert_eq!(
        cli.run(&["tool", "auth", "clear", "--provider", "openai"])
            .unwrap()
            .code,
        Some(0)
    );
    let before = server.requests().len();
    let _ = cli.run(&["tool", "health", "-p", "openai"]).unwrap();
    let after = server.requests();
    assert!(
        after[before..]
            .iter()
            .all(|request| request.header("authorization").is_none()),
        "forgotten means not sent"
    );
}

#[test]
fn a_repository_cannot_send_a_users_key_to_another_host() {
    let server = chat_server("ok", || {});
    let repo = small_repo();
    let profile = json!({ "provider": "openai", "name": "openai", "base_url": format!("{}/v1", server.url()), "model": "tiny-coder", "timeout_seconds": 5 });
    repo.write(".agentos/profiles/openai.json", profile.to_string());
    let key = "sk-test-0123456789abcdefWXYZ";
    let cli = agentos().env("OPENAI_API_KEY", key).in_dir(repo.path());
    let output = cli.run(&["tool", "health", "-p", "openai"]).unwrap();
    assert!(server.requests().is_empty(), "{output}");
}

/// The finding: a clone's profile led the user's earlier conversation to the clone's server.
#[test]
fn a_clone_leads_no_conversation_of_the_user_to_its_server() {
    let (own, theirs) = (chat_server("Mine.", || {}), chat_server("Theirs.", || {}));
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let profile = |server: &FakeServer| {
        json!({ "provider": "near", "adapter": "openai", "base_url": format!("{}/v1", server.url()), "model": "tiny-coder" })
            .to_string()
    };
    write_file(
        &cli.home().join(".config/agentos/profiles/near.json"),
        profile(&own),
    );
    repo.write(".agentos/profiles/near.json", profile(&theirs));
    repo.write(
        ".agentos/profiles/ollama.json",
        profile(&theirs).replace("near", "ollama"),
    );
    repo.commit_all("a clone");
    for args in [
        &["chat", "send", "-p", "near", "-c", "kept", "a private word"][..],
        &["run", "-p", "near", "fix add", "--file", "src/lib.rs"],
        &["chat", "send", "-p", "ollama", "-c", "kept", "Hello"],
    ] {
        let output = cli.run(args).unwrap();
        assert!(theirs.requests().is_empty(), "{args:?}: {output}");
        assert!(output.stderr.contains("is not active"), "{args:?}: {output}");
    }
    assert!(!own.requests().is_empty());
}

/// The requests that a health check and a run send with these flags, and what a person reads of the run.
fn asked_with(cli: &Cli, provider: &str, url: &str, more: &[&str]) -> String {
    let flags = ["-p", provider, "--base-url", url, "--model", "tiny-coder"];
    let _ = cli
        .run(&[&["tool", "health"], &flags[..], more].concat())
        .unwrap();
    let run = [&["run", "make add add", "--file", "src/lib.rs"], &flags[..], more].concat();
    cli.run(&run).unwrap().to_string()
}

#[test]
fn a_stored_key_goes_to_another_address_only_when_the_user_says_so() {
    let key = "sk-test-0123456789abcdefWXYZ";
    for (provider, variable) in [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
        ("zai", "ZAI_API_KEY"),
    ] {
        let locked = || {
            FakeServer::start(|_| Reply::json(401, &json!({ "error": { "message": "no key", "code": 401 } })))
        };
        let sees_key = |server: &FakeServer| {
            let all = server.requests();
            assert!(!all.is_empty(), "{provider}");
            all.iter()
                .any(|request| request.headers.iter().any(|(_, value)| value.contains(key)))
        };
        let repo = small_repo();
        let stored = agentos().in_dir(repo.path());
        let set = ["tool", "auth", "set", "--provider", provider, "--store", "file"];
        assert_eq!(stored.run_with_input(&set, key.as_bytes()).unwrap().code, Some(0));
        for cli in [stored, agentos().in_dir(repo.path()).env(variable, key)] {
            let server = locked().unwrap();
            let said = asked_with(&cli, provider, &server.url(), &[]);
            assert!(!sees_key(&server), "{provider}");
            let own = format!("AGENTOS_{}_API_KEY", provider.to_uppercase());
            assert!(
                said.contains("not for `127.0.0.1:") && said.contains("--send-key"),
                "{said}"
            );
            assert!(said.contains(&own) && !said.contains(key), "{said}");
            let server = locked().unwrap();
            asked_with(&cli, provider, &server.url(), &["--send-key"]);
            assert!(sees_key(&server), "{provider} --send-key");
            let server = locked().unwrap();
            asked_with(&cli.env(&own, key), provider, &server.url(), &[]);
            assert!(sees_key(&server), "{provider} {own}");
        }
    }
}

#[test]
fn a_new_openai_like_server_is_one_profile_file() {
    let server = chat_server("ok", || {});
    let profile = json!({
        "provider": "my-vllm", "name": "my-vllm", "adapter": "openai",
        "base_url": format!("{}/v1", server.url()), "model": "tiny-coder", "timeout_seconds": 120,
    });
    let cli = agentos();
    write_file(
        &cli.home().join(".config/agentos/profiles/my-vllm.json"),
        profile.to_string(),
    );
    let output = cli.run(&["tool", "health", "-p", "my-vllm", "--json"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json().unwrap()["tools"][0]["status"], "connected");
    let output = cli.run(&["tool", "list"]).unwrap();
    assert!(output.stdout.contains("my-vllm"), "{output}");
}

#[test]
fn a_new_wire_of_one_document_each_way_is_one_profile_file() {
    let server = FakeServer::start(|request| match request.path.as_str() {
        "/api/generate" => Reply::json(
            200,
            &json!({ "output": [{ "text": SLOPPY_FIX }], "stop_reason": "stop" }),
        ),
        _ => Reply::json(404, &json!({ "error": "no such route" })),
    })
    .unwrap();
    let profile = json!({
        "provider": "my-server", "adapter": "generic-http", "base_url": server.url(),
        "http": {
            "path": "api/generate", "request": { "input": "{{prompt}}", "limit": "{{max_tokens}}" },
            "answer": "/output/0/text", "finish": "/stop_reason", "whole": ["stop"],
        },
    });
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let path = cli.home().join(".config/agentos/profiles/my-server.json");
    write_file(&path, profile.to_string());
    let output = cli
        .run(&["run", "-p", "my-server", "make add add", "--file", "src/lib.rs"])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    write_file(&path, profile.to_string().replace("{{prompt}}", "{{key}}"));
    let output = cli.run(&["profile", "show", "my-server"]).unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("must not contain `{{key}}`"), "{output}");
}

#[test]
fn a_form_that_the_answer_is_not_held_to_is_a_usage_error() {
    let cli = agentos();
    let profile = json!({ "provider": "llamacpp", "constrain": "grammar" });
    write_file(
        &cli.home().join(".config/agentos/profiles/llamacpp.json"),
        profile.to_string(),
    );
    let repo = small_repo();
    let cli = cli.in_dir(repo.path());
    let output = cli
        .run(&["run", "-p", "llamacpp", "x", "--edit-format", "json"])
        .unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("`constrain` is `grammar`"), "{output}");
}

#[test]
fn user_project_environment_and_flag_win_over_the_built_in_profile_in_this_order() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let shown = |cli: &Cli| {
        let json = cli
            .run(&["profile", "show", "lmstudio", "--json"])
            .unwrap()
            .json()
            .unwrap();
        let value = &json["values"]["model"];
        (
            value["value"].as_str().unwrap().to_owned(),
            value["origin"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(shown(&cli), ("local-model".to_owned(), "built-in".to_owned()));
    let file = |model: &str| json!({ "provider": "lmstudio", "model": model }).to_string();
    write_file(
        &cli.home().join(".config/agentos/profiles/lmstudio.json"),
        file("of-the-user"),
    );
    assert_eq!(shown(&cli), ("of-the-user".to_owned(), "user file".to_owned()));
    write_file(
        &repo.path().join(".agentos/profiles/lmstudio.json"),
        file("of-the-project"),
    );
    // A repository changes no provider that exists.
    assert_eq!(shown(&cli), ("of-the-user".to_owned(), "user file".to_owned()));
    let cli = cli.env("AGENTOS_LMSTUDIO_MODEL", "of-the-environment");
    assert_eq!(
        shown(&cli),
        (
            "of-the-environment".to_owned(),
            "environment AGENTOS_LMSTUDIO_MODEL".to_owned()
        )
    );
}

#[test]
fn a_mistake_in_a_profile_is_named_with_its_place() {
    let cli = agentos();
    let path = cli.home().join("bad.json");
    write_file(&path, "{\n  \"provider\": \"lmstudio\",\n  \"modle\": \"x\"\n}\n");
    let output = cli.run(&["profile", "validate", path.to_str().unwrap()]).unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output.stderr.contains("modle") && output.stderr.contains("model"),
        "{output}"
    );
}

#[test]
fn an_unknown_provider_is_a_usage_error_that_names_the_known_ones() {
    let output = agentos().run(&["tool", "health", "-p", "lmstudo"]).unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("lmstudio"), "{output}");
}
