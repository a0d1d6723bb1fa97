//! Limits of a model that is slow, silent or wrong, and what health says about it.

use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Recorded, Reply, head};
use serde_json::{Value, json};

use crate::support::{agentos, openai_at, small_repo};

/// The first piece of a streamed answer.
const PIECE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\n";

#[test]
fn a_limit_that_was_hit_is_named_with_its_value_and_its_flag() {
    let stream = || head(200, &[("content-type", "text/event-stream")], None);
    let begun = || [stream(), PIECE.into()].concat();
    // A comment of a stream is a sign of life, and no piece of the answer.
    let flowing = || Reply::Flood(begun(), b": wait\n\n".to_vec());
    for (reply, limit, named) in [
        (
            Reply::Hang(Vec::new()),
            "--first-byte-timeout",
            "limit on the first byte",
        ),
        (Reply::Hang(begun()), "--idle-timeout", "limit on silence"),
        (Reply::Hang(begun()), "--timeout", "limit on silence"),
        (flowing(), "--total-timeout", "limit on the whole call"),
    ] {
        let server = FakeServer::start(move |_| reply.clone()).unwrap();
        let repo = small_repo();
        let flags = openai_at(&server.url());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let args = [&["run", "say hello", limit, "1"], &flags[..]].concat();
        let output = agentos().in_dir(repo.path()).run(&args).unwrap();
        let text = &output.stderr;
        // A flood may exceed the limit on bytes first, on a fast machine.
        if text.contains("too-large") {
            continue;
        }
        assert_eq!(output.code, Some(9), "{limit}: {output}");
        assert!(text.contains("1 s") && text.contains(named), "{limit}: {output}");
        let flag = limit.replace("--timeout", "--idle-timeout");
        assert!(text.contains(&format!("{flag} SECONDS")), "{limit}: {output}");
    }
}

/// A llama.cpp server whose documents are right and whose answers are not.
fn wrong_answers(request: &Recorded) -> Reply {
    let document = match request.path.as_str() {
        "/health" => json!({"status": "ok"}),
        "/props" => {
            json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1, "model_path": "m.gguf"})
        }
        "/v1/models" => json!({"object": "list", "data": [{"id": "tiny", "object": "model"}]}),
        "/completion" => json!({"hello": 1}),
        _ => return Reply::json(404, &json!({"error": {"message": "not found"}})),
    };
    Reply::json(200, &document)
}

#[test]
fn what_a_probe_saw_is_stronger_than_a_servers_documents() {
    let server = FakeServer::start(wrong_answers).unwrap();
    let url = server.url();
    let health = ["tool", "health", "-p", "llamacpp", "--base-url", &url, "--json"];
    let seen = |more: &[&str]| {
        let output = agentos().run(&[&health[..], more].concat()).unwrap();
        (output.code, output.json().unwrap()["tools"][0]["status"].clone())
    };
    assert_eq!(seen(&[]), (Some(5), "schema_mismatch".into()));
    assert_eq!(seen(&["--probe"]), (Some(5), "schema_mismatch".into()));
    // A server with one model ignores the name, and answers with its own.
    let repo = small_repo();
    let run = [
        "run",
        "-p",
        "llamacpp",
        "--base-url",
        &url,
        "--model",
        "nosuch",
        "hello",
    ];
    let output = agentos().in_dir(repo.path()).run(&run).unwrap();
    assert!(
        output
            .stderr
            .contains("the server has no model `nosuch`: it answers with `tiny`"),
        "{output}"
    );
}

#[test]
fn models_are_named_where_one_has_to_be_named() {
    let list = json!({"data": [{"id": "first-model"}, {"id": "second-model"}]});
    let server = FakeServer::start(move |_| Reply::json(200, &list)).unwrap();
    let url = format!("{}/v1", server.url());
    let output = agentos()
        .run(&["tool", "health", "-p", "litellm", "--base-url", &url])
        .unwrap();
    assert!(
        output
            .stdout
            .contains("its models: `first-model`, `second-model`"),
        "{output}"
    );
}

#[test]
fn health_of_all_providers_begins_with_those_that_can_be_used() {
    let list = json!({"data": [{"id": "tiny"}]});
    let server = FakeServer::start(move |_| Reply::json(200, &list)).unwrap();
    let cli = agentos();
    let profile =
        json!({"provider": "zz-last", "adapter": "openai", "base_url": format!("{}/v1", server.url())});
    write_file(
        &cli.home().join(".config/agentos/profiles/zz-last.json"),
        profile.to_string(),
    );
    let output = cli.run(&["tool", "health"]).unwrap();
    let first = output.stdout.lines().next().unwrap_or_default();
    assert!(first.contains("connected"), "{output}");
    let last = output.stdout.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("not set up: ") && last.contains("openai"),
        "{output}"
    );
}

#[test]
fn a_key_with_white_space_inside_is_refused_and_a_recording_is_no_model() {
    let set = ["tool", "auth", "set", "--provider", "openai", "--store", "file"];
    let output = agentos().run_with_input(&set, b"a b\nc").unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("the key contains white space"), "{output}");
    let repo = small_repo();
    let answer = repo.outside().join("answer.md");
    write_file(&answer, "nothing to do");
    let file = answer.display().to_string();
    let run = [
        "tool", "run", "-p", "replay", "--replay", &file, "hello", "--json",
    ];
    let output = agentos().in_dir(repo.path()).run(&run).unwrap();
    assert_eq!(output.json().unwrap()["mock"], "a recorded answer", "{output}");
}

#[test]
fn a_profile_shows_what_its_program_gets() {
    let output = agentos().run(&["profile", "show", "codex", "--json"]).unwrap();
    let values: Value = output.json().unwrap()["values"].clone();
    for field in ["command", "args", "home_files", "sign_in", "hosts"] {
        assert!(!values[format!("program.{field}")]["value"].is_null(), "{values}");
    }
    let text = agentos().run(&["profile", "show", "codex"]).unwrap().stdout;
    assert!(
        text.contains("api.openai.com:443") && !text.contains("program  null"),
        "{text}"
    );
}
