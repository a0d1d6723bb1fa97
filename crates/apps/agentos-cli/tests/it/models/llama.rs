//! A model of one's own at a real llama.cpp server. Skipped, and said so, where it is not installed.

use super::*;
use agentos_testkit::llama::{LlamaOptions, LlamaServer};

// LB-27, LB-37: `custom/my-model` answers from a real server without a change of code.
#[test]
fn a_server_answers_under_an_id_of_your_own() {
    let options = LlamaOptions {
        answer: "hello from my model",
        alias: "my-model-v1",
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let cli = agentos().env("AGENTOS_OPENAI_BASE_URL", format!("{}/v1", server.url()));
    assert_eq!(call(&cli, &CUSTOM).0, Some(0));
    let output = cli
        .run(&["chat", "send", "-p", "custom/my-model", "hi", "--json"])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let reply = output.json().unwrap();
    assert_eq!(reply["text"].as_str().map(str::trim), Some("hello from my model"));
    let (code, text) = call(&cli, &["models", "list", "--available", "-p", "openai"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("custom/my-model"), "{text}");
    let (code, text) = call(&cli, &["tool", "health", "-p", "custom/my-model"]);
    assert_eq!(code, Some(0), "{text}");
}
