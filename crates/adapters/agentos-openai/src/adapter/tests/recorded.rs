//! Every recorded answer of the chat wire, whoever gave it, beside a plain reading of its documents.

use serde_json::Value;

use super::*;

/// All folders of recordings.
const FOLDERS: [&str; 8] = [
    "derived",
    "litellm",
    "llamacpp",
    "lmstudio",
    "ollama",
    "openai",
    "openrouter",
    "vllm",
];

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// Text, end, and tokens in and out.
type Reading = (String, FinishReason, Option<(Option<u64>, Option<u64>)>);

fn read(fixture: &Fixture) -> Reading {
    let (mut said, mut end, mut usage) = (String::new(), FinishReason::Unknown, None);
    for document in fixture.documents() {
        let choice = &document["choices"][0];
        let message = if choice["message"].is_object() {
            &choice["message"]
        } else {
            &choice["delta"]
        };
        said += &text(&message["content"]);
        end = match choice["finish_reason"].as_str() {
            Some("stop") if message["refusal"].is_string() => FinishReason::ContentFilter,
            Some("stop") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("tool_calls") => FinishReason::ToolCalls,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(other) => panic!("{}: {other}", fixture.name()),
            None => end,
        };
        if document["usage"].is_object() {
            let count = |name: &str| document["usage"][name].as_u64();
            usage = Some((count("prompt_tokens"), count("completion_tokens")));
        }
    }
    (said, end, usage)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_run_is_read() {
    let mut told = 0;
    for fixture in FOLDERS.iter().flat_map(|folder| Fixture::all(folder).unwrap()) {
        let is_run = fixture.case.starts_with("run_") || fixture.case.starts_with("v1_run_");
        if !is_run || !fixture.request.path.ends_with("/chat/completions") {
            continue;
        }
        let output = played(&fixture.folder, &fixture.case).await;
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", fixture.name()));
        let usage = output
            .usage
            .map(|usage| (usage.input_tokens, usage.output_tokens));
        assert_eq!(
            (output.text, output.finish, usage),
            read(&fixture),
            "{}",
            fixture.name()
        );
        told += 1;
    }
    assert_eq!(told, 46);
}

/// A router's own key document, a key that was sent in another form, and the paths that other servers take from OpenAI.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recordings_that_need_a_probe_of_their_own_are_told() {
    let key = Fixture::load("openrouter", "key_ok").unwrap();
    let router = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
        let mut settings = once(settings(Some(root), key));
        settings.model = Some("anthropic/claude-sonnet-4.5".to_owned());
        let service = OpenAiService::at_address(Some("https://openrouter.ai/api/v1"));
        Box::new(HttpAdapter::new(settings, service, http()))
    };
    let list = |request: &Recorded| match request.path.as_str() {
        "/v1/models" => Reply::json(200, &json!({"data": [{"id": "anthropic/claude-sonnet-4.5"}]})),
        _ => Reply::json(500, &json!({})),
    };
    let found = state_of(&key, router, &["/v1/key"], list).await.unwrap();
    assert_eq!(Some(found), key.tool_health);

    let malformed = Fixture::load("litellm", "auth_malformed").unwrap();
    let with_key = |root: &str, _: Option<&str>| -> Box<dyn Adapter> {
        compatible(Some(root), Some("sk-local-master-0123456789"))
    };
    let side = |_: &Recorded| Reply::json(500, &json!({}));
    let found = state_of(&malformed, with_key, &[], side).await.unwrap();
    assert_eq!(Some(found), malformed.tool_health);

    for case in ["v1_error_unknown_model", "v1_models", "v1_models_empty"] {
        let fixture = Fixture::load("ollama", case).unwrap();
        let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
            let mut settings = once(settings(Some(root), key));
            settings.model = Some("qwen3-coder:30b".to_owned());
            Box::new(adapter_for(settings))
        };
        let found = state_of(&fixture, make, &[], side).await.unwrap();
        assert_eq!(Some(found), fixture.tool_health, "{case}");
    }
}
