//! Real agents against a real server, or against a fake one that speaks the four wires, where they are installed.

use std::path::Path;

use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use serde_json::{Value, json};

use super::{asked, repo, transcript};
use crate::support::agentos;

/// Events of a stream, and the name before each where the wire has names.
fn stream(events: &[Value]) -> Reply {
    let mut body = String::new();
    for event in events {
        if let Some(name) = event["type"].as_str() {
            body.push_str(&format!("event: {name}\n"));
        }
        body.push_str(&format!("data: {event}\n\n"));
    }
    Reply::http(200, &[("content-type", "text/event-stream")], body.as_bytes())
}

/// An answer in words alone, on the wire that the request is for.
fn answer(request: &Recorded) -> Reply {
    let path = request.path.split('?').next().unwrap_or_default();
    let text = "There is nothing to do.";
    if path.ends_with("/chat/completions") {
        let chunk = |delta: Value, end: Value| {
            json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny",
                "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
        };
        if request.json()["stream"] == true {
            let said = json!({"role": "assistant", "content": text});
            return stream(&[chunk(said, Value::Null), chunk(json!({}), "stop".into())]);
        }
        let message = json!({"role": "assistant", "content": text});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        return Reply::json(
            200,
            &json!({"id": "1", "object": "chat.completion", "created": 1, "model": "tiny",
            "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}),
        );
    }
    if path.ends_with("/responses") {
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        let item = json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]});
        let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
        return stream(&[
            json!({"type": "response.created", "response": {"id": "r1"}}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
            json!({"type": "response.completed", "response": {"id": "r1", "output": [item], "usage": usage}}),
        ]);
    }
    if path.ends_with("/messages") {
        let usage = json!({"input_tokens": 1, "output_tokens": 1});
        let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "tiny", "content": [],
            "stop_reason": null, "usage": usage});
        return stream(&[
            json!({"type": "message_start", "message": message}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}),
            json!({"type": "message_stop"}),
        ]);
    }
    if path.contains(":streamGenerateContent") {
        let content = json!({"role": "model", "parts": [{"text": text}]});
        return stream(&[json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]})]);
    }
    if path.ends_with("/models") {
        return Reply::json(
            200,
            &json!({"object": "list", "data": [{"id": "tiny", "object": "model"}]}),
        );
    }
    Reply::json(404, &json!({"error": {"message": "no such path"}}))
}

/// Runs a real agent with a server of the user's own, and checks that the server is asked for the model with the task.
fn reaches_the_named_server(provider: &str, program: Option<std::path::PathBuf>, model: &str, wire: &str) {
    let Some(program) = program else { return };
    let server = FakeServer::start(answer).unwrap();
    let repo = repo();
    let folder = program.parent().unwrap_or(Path::new("/")).display();
    let path = format!("{folder}:/usr/local/bin:/usr/bin:/bin");
    let cli = agentos().in_dir(repo.path()).env("PATH", path);
    let url = format!("http://127.0.0.1:{}/v1", server.port());
    let task = "look for the heffalump";
    let mut args = vec!["run", "-p", provider, "--base-url", &url, "--model", model];
    // An environment of Python links to an interpreter that may lie anywhere, such as in pyenv's folder.
    let python = program.with_file_name("python3").canonicalize();
    let python = python
        .ok()
        .and_then(|python| Some(python.parent()?.parent()?.display().to_string()));
    if let Some(python) = &python {
        args.extend(["--read", python]);
    }
    args.extend([task, "--json"]);
    let Some((_, outcome)) = asked(&cli, &args) else {
        return;
    };
    let requests = server.requests();
    let asked = requests.iter().any(|request| {
        let body = request.json();
        let names_model = body["model"] == "tiny" || request.path.contains("/models/tiny:");
        request.path.starts_with(wire) && names_model && body.to_string().contains("heffalump")
    });
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert!(asked, "{paths:?}\n{outcome}\n{}", transcript(&repo));
    // It answered in words alone, so there is nothing to land, and no failure of the agent either.
    assert_ne!(outcome["code"], "exit-code", "{outcome}");
}

#[test]
fn codex_reaches_a_server_of_the_users_own() {
    let program = agentos_testkit::agents::from_npm(".bin/codex");
    reaches_the_named_server("codex", program, "tiny", "/v1/responses");
}

#[test]
fn opencode_reaches_a_server_of_the_users_own() {
    let program = agentos_testkit::agents::from_npm("opencode-linux-x64/bin/opencode");
    reaches_the_named_server("opencode", program, "tiny", "/v1/chat/completions");
}

#[test]
fn gemini_reaches_a_server_of_the_users_own() {
    let program = agentos_testkit::agents::from_npm(".bin/gemini");
    reaches_the_named_server("gemini-cli", program, "tiny", "/v1beta/models/tiny:");
}

#[test]
fn claude_code_reaches_a_server_of_the_users_own() {
    let program = agentos_testkit::agents::from_npm(".bin/claude");
    reaches_the_named_server("claude-code", program, "tiny", "/v1/messages");
}

#[test]
fn goose_reaches_a_server_of_the_users_own() {
    let program = agentos_testkit::agents::from_npm("@aaif/goose-binary-linux-x64/bin/goose");
    reaches_the_named_server("goose", program, "tiny", "/v1/chat/completions");
}

#[test]
fn aider_reaches_a_server_of_the_users_own() {
    let program = agentos_testkit::agents::aider();
    reaches_the_named_server("aider", program, "openai/tiny", "/v1/chat/completions");
}

#[test]
fn aider_in_its_most_permissive_mode_gives_a_difference_and_nothing_else() {
    let Some(aider) = agentos_testkit::agents::aider() else {
        return;
    };
    // Not code: aider would look for faults in code and ask again.
    let answer = "fruit.txt\n```\napple\nCHERRY\n```\n";
    let server = LlamaServer::start(LlamaOptions {
        answer,
        model_args: &["--ctx", "32768"],
        ..LlamaOptions::default()
    });
    let Some(server) = server.unwrap() else { return };
    let repo = repo();
    repo.write("fruit.txt", "apple\nbanana\n");
    repo.commit_all("fruit");
    let path = format!("{}:/usr/bin:/bin", aider.parent().unwrap().display());
    let cli = agentos().in_dir(repo.path()).env("PATH", path);
    let url = format!("{}/v1", server.url());
    let model = "openai/tiny-coder";
    let args = [
        "run",
        "-p",
        "aider",
        "--base-url",
        &url,
        "--model",
        model,
        "replace the banana by a loud cherry",
        "--file",
        "fruit.txt",
        "--json",
    ];
    let Some((output, outcome)) = asked(&cli, &args) else {
        return;
    };
    let said = transcript(&repo);
    assert_eq!(output.code, Some(0), "{outcome}\n{said}");
    assert_eq!(outcome["files"], serde_json::json!(["fruit.txt"]));
    assert_eq!(repo.read("fruit.txt"), b"apple\nCHERRY\n");
    assert_eq!(outcome["result"]["provider"], "local");
    // Aider commits what it does. Its commit is in its transcript, and not in the repository.
    assert!(said.contains("Commit "), "{said}");
    assert_eq!(repo.git(&["rev-list", "--count", "--all"]).trim(), "3");
    assert!(repo.git(&["log", "-1", "--format=%b"]).contains("AgentOS-Run"));
    assert_eq!(repo.status(), "");
}
