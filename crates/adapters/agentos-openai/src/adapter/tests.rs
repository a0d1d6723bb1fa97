//! The adapter against recorded answers and against the contract of all adapters.

use agentos_generic_http::{HttpAdapter, ServerSettings};
use agentos_net::HttpClient;
use std::time::Duration;

use agentos_testkit::contract::{BEARER, DIFF, EVENT_STREAM, Subject, below_v1, state_of, task};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use agentos_testkit::wire::Fixture;
use agentos_tool::{
    Adapter, ContextFile, ExecutionMode, FinishReason, FreeGate, HealthStatus, NoProgress, Secret, Timestamp,
    ToolError, ToolOutput, ToolTask, Usage,
};
use serde_json::json;

use super::*;

mod chat;
mod ends;
mod offer;
mod recorded;
mod responses;
mod sending;

fn settings(root: Option<&str>, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("openai", ExecutionMode::Cloud);
    settings.base_url = root.map(below_v1);
    settings.model = Some("gpt-5.4".to_owned());
    settings.key = key.map(Secret::new);
    settings.probe_timeout = Duration::from_millis(500);
    settings
}

fn http() -> HttpClient {
    HttpClient::new(agentos_net::NetConfig {
        max_body_bytes: 1 << 20,
        ..Default::default()
    })
    .unwrap()
}

fn adapter_for(settings: ServerSettings) -> HttpAdapter<OpenAiService> {
    let service = OpenAiService::at_address(settings.base_url.as_deref());
    HttpAdapter::new(settings, service, http())
}

fn compatible(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(adapter_for(settings(root, key)))
}

/// Without a second try, which would wait as the recorded answer says.
fn once(mut settings: ServerSettings) -> ServerSettings {
    settings.retries = 0;
    settings
}

fn vendor(settings: ServerSettings) -> HttpAdapter<OpenAiService> {
    HttpAdapter::new(
        settings,
        OpenAiService::at_address(Some("https://api.openai.com/v1")),
        http(),
    )
}

fn chunk(content: &str) -> String {
    json!({"model": "gpt-5.4", "choices": [{"index": 0, "delta": {"content": content}}]}).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let whole = json!({"model": "gpt-5.4", "choices": [
        {"index": 0, "message": {"content": "+a\n+b\n"}, "finish_reason": "stop"},
    ]});
    let subject = Subject {
        make: compatible,
        run_path: "/v1/chat/completions",
        events: vec![chunk("+a\n"), chunk("+b\n"), end.to_string(), "[DONE]".to_owned()],
        whole: whole.to_string(),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: EVENT_STREAM,
        side: |_| Reply::json(404, &json!({"error": "File Not Found"})),
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_state_is_told() {
    let mut told = 0;
    let mut recorded = 0;
    for folder in ["openai", "generic", "derived"] {
        for fixture in Fixture::all(folder).unwrap() {
            let Some(wanted) = &fixture.tool_health else {
                continue;
            };
            recorded += 1;
            let one_model = fixture.request.path.starts_with("/v1/models/");
            let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
                if one_model {
                    Box::new(vendor(once(settings(Some(root), key))))
                } else {
                    Box::new(adapter_for(once(settings(Some(root), key))))
                }
            };
            let side = |_: &Recorded| Reply::json(500, &json!({}));
            let found = state_of(&fixture, make, &[], side).await.unwrap();
            assert_eq!(&found, wanted, "{}", fixture.name());
            told += 1;
        }
    }
    assert_eq!((told, recorded), (24, 24));
}

/// Other compatible servers. vLLM's `/health` proves nothing and is not asked; the two others that are left out by name
/// have a test of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compatible_servers_are_told_alike() {
    const OTHER_PROBES: [&str; 3] = ["litellm/auth_malformed", "vllm/health_ok", "openrouter/key_ok"];
    let models = [
        ("litellm", "peer-coder"),
        ("vllm", "Qwen/Qwen3-Coder-30B-A3B-Instruct"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
    ];
    let mut told = 0;
    for (folder, model) in models {
        for fixture in Fixture::all(folder).unwrap() {
            let Some(wanted) = &fixture.tool_health else {
                continue;
            };
            if OTHER_PROBES.contains(&fixture.name().as_str()) {
                continue;
            }
            let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
                let mut settings = once(settings(Some(root), key));
                settings.model = Some(model.to_owned());
                Box::new(adapter_for(settings))
            };
            let found = state_of(&fixture, make, &[], |_| Reply::json(500, &json!({}))).await;
            assert_eq!(&found.unwrap(), wanted, "{}", fixture.name());
            told += 1;
        }
    }
    assert_eq!(told, 20);
}

async fn played(folder: &str, case: &str) -> Result<ToolOutput, ToolError> {
    let reply = Fixture::load(folder, case).unwrap().reply();
    let server = FakeServer::start(move |_| reply.clone()).unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.model = Some("tiny-coder".to_owned());
    adapter_for(once(settings)).run(&long_task(), &NoProgress).await
}

/// Returns a task as long as the recorded prompts: a server that counts more tokens than a request has bytes is not believed.
fn long_task() -> ToolTask {
    ToolTask {
        instruction: "Fix add() in src/lib.rs. ".repeat(200),
        ..task(Duration::from_secs(20))
    }
}

#[tokio::test]
async fn recorded_answers_are_read() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls};
    let cases = [
        ("openai", "run_chat", Stop, DIFF),
        ("openai", "run_chat_stream", Stop, DIFF),
        ("openai", "run_chat_stream_usage", Stop, DIFF),
        ("openai", "run_chat_length", Length, ""),
        ("openai", "run_chat_content_filter", ContentFilter, "--- a/src"),
        ("openai", "run_chat_refusal", ContentFilter, ""),
        ("openai", "run_chat_tool_call", ToolCalls, ""),
        ("openai", "run_chat_tool_call_stream", ToolCalls, ""),
        ("llamacpp", "run_chat", Stop, DIFF),
        ("llamacpp", "run_chat_stream", Stop, DIFF),
        ("llamacpp", "run_chat_stream_usage", Stop, DIFF),
        ("llamacpp", "run_chat_reasoning", Stop, DIFF),
        ("llamacpp", "run_chat_reasoning_stream", Stop, DIFF),
        ("lmstudio", "run_chat", Stop, DIFF),
        ("lmstudio", "run_chat_stream", Stop, DIFF),
        ("litellm", "run_chat", Stop, DIFF),
        ("litellm", "run_chat_stream", Stop, DIFF),
        ("litellm", "run_chat_stream_usage", Stop, DIFF),
        ("litellm", "run_chat_real_stream", Stop, DIFF),
        ("openrouter", "run_chat", Stop, DIFF),
        ("openrouter", "run_chat_stream", Stop, DIFF),
        ("vllm", "run_chat", Stop, DIFF),
        ("vllm", "run_chat_stream", Stop, DIFF),
        ("vllm", "run_chat_tool_call", ToolCalls, ""),
        ("derived", "content_parts", Stop, DIFF),
        ("derived", "stream_crlf_comments", Stop, DIFF),
        ("derived", "stream_is_json", Stop, DIFF),
        ("derived", "stream_without_done", Stop, DIFF),
        ("derived", "usage_missing", Stop, DIFF),
    ];
    for (folder, case, finish, text) in cases {
        let output = played(folder, case)
            .await
            .unwrap_or_else(|error| panic!("{folder}/{case}: {error}"));
        assert_eq!(
            (output.finish, output.text.as_str()),
            (finish, text),
            "{folder}/{case}"
        );
    }
}

#[tokio::test]
async fn broken_answers_are_none() {
    let cases = [
        ("openai", "error_midstream", "broken-stream"),
        ("openai", "error_context_length", "context-length"),
        ("openai", "error_max_tokens_unsupported", "rejected"),
        ("openai", "error_quota_legacy", "quota"),
        ("openai", "error_rate_limit_request_too_large", "context-length"),
        ("llamacpp", "error_midstream_chat", "context-length"),
        ("llamacpp", "error_context_overflow_chat", "context-length"),
        ("litellm", "error_budget_exceeded", "quota"),
        ("litellm", "error_context_window", "context-length"),
        ("litellm", "error_rate_limit", "rate-limited"),
        ("openrouter", "error_midstream", "broken-stream"),
        ("openrouter", "error_no_credits", "quota"),
        ("vllm", "error_midstream", "server-error"),
        ("vllm", "error_context_length", "context-length"),
        ("derived", "choices_empty", "fields"),
        ("derived", "content_null", "no-answer"),
        ("derived", "empty_body", "not-json"),
        ("derived", "malformed_json", "not-json"),
        ("derived", "not_utf8", "not-json"),
        ("derived", "stream_bad_event", "broken-stream"),
        ("derived", "stream_cut", "broken-stream"),
        ("derived", "stream_cut_in_event", "broken-stream"),
        ("derived", "truncated_json", "closed"),
    ];
    for (folder, case, detail) in cases {
        let error = played(folder, case).await.expect_err(case);
        assert_eq!(error.detail, detail, "{folder}/{case}: {error}");
    }
}

#[tokio::test]
async fn tokens_are_as_reported_or_unknown() {
    let cached = played("openai", "run_chat_cached").await.unwrap().usage.unwrap();
    assert!(
        cached.cached_tokens.unwrap() > 0 && cached.cached_tokens < cached.input_tokens,
        "{cached:?}"
    );
    let reasoning = played("openai", "run_chat_reasoning")
        .await
        .unwrap()
        .usage
        .unwrap();
    assert!(reasoning.reasoning_tokens.unwrap() > 0, "{reasoning:?}");
    let streamed = played("llamacpp", "run_chat_stream_usage").await.unwrap().usage;
    assert_ne!(streamed.unwrap_or_default(), Usage::default());
    assert_eq!(played("derived", "usage_missing").await.unwrap().usage, None);
    assert_eq!(played("openai", "run_chat_stream").await.unwrap().usage, None);
}

#[tokio::test]
async fn another_model_than_the_one_asked_for_is_told() {
    let other = played("openai", "run_chat").await.unwrap();
    assert_eq!(other.model_id.as_deref(), Some("gpt-5.4-2026-03-05"));
    assert_eq!(
        other.warnings,
        ["model `tiny-coder` was requested, but `gpt-5.4-2026-03-05` answered"]
    );
    assert_eq!(
        played("llamacpp", "run_chat").await.unwrap().warnings,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn the_request_says_what_was_set_and_no_more() {
    let reply = Fixture::load("openai", "run_chat").unwrap().reply();
    let server = FakeServer::start(move |_| reply.clone()).unwrap();
    let mut task = task(Duration::from_secs(20));
    task.context.push(ContextFile {
        path: "src/lib.rs".to_owned(),
        content: "fn add() {}\n".to_owned(),
        part: None,
    });
    adapter_for(settings(Some(&server.url()), None))
        .run(&task, &NoProgress)
        .await
        .unwrap();
    let mut set = settings(Some(&server.url()), None);
    (set.temperature, set.max_tokens) = (Some(0.2), Some(256));
    (set.top_p, set.seed, set.stop) = (Some(0.9), Some(7), vec!["END".to_owned()]);
    vendor(set).run(&task, &NoProgress).await.unwrap();
    task.limits.max_output_tokens = Some(99);
    adapter_for(settings(Some(&server.url()), None))
        .run(&task, &NoProgress)
        .await
        .unwrap();

    let [plain, vendor, limited] = <[_; 3]>::try_from(server.requests())
        .unwrap()
        .map(|request| request.json());
    let keys: Vec<_> = plain.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["messages", "model", "stream", "stream_options"]);
    assert_eq!(plain["model"], "gpt-5.4");
    assert!(
        plain["messages"][1]["content"]
            .as_str()
            .unwrap()
            .contains("fn add() {}")
    );
    assert_eq!(
        (&vendor["temperature"], &vendor["max_completion_tokens"]),
        (&json!(0.2), &json!(256))
    );
    assert_eq!(
        (&vendor["top_p"], &vendor["seed"], &vendor["stop"]),
        (&json!(0.9), &json!(7), &json!(["END"]))
    );
    assert_eq!(vendor.get("max_tokens"), None);
    assert_eq!(limited["max_tokens"], 99);
}

#[tokio::test]
async fn nothing_is_sent_without_the_key_a_provider_needs() {
    let server = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.requires_key = true;
    let adapter = adapter_for(settings);
    let health = adapter.health_check(Timestamp::from_unix_seconds(0)).await;
    assert_eq!(
        (health.status, health.detail.as_deref()),
        (HealthStatus::NotConfigured, Some("missing-key"))
    );
    let error = adapter
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
        .unwrap_err();
    assert_eq!(
        (error.health, error.detail.as_str()),
        (Some(HealthStatus::NotConfigured), "missing-key")
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn without_a_name_the_only_model_is_used() {
    let chat = Fixture::load("llamacpp", "run_chat").unwrap().reply();
    let list = Fixture::load("llamacpp", "models_full").unwrap().reply();
    let server = FakeServer::start(move |request| {
        if request.method == "GET" {
            list.clone()
        } else {
            chat.clone()
        }
    })
    .unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.model = None;
    let adapter = adapter_for(settings);
    let health = adapter.health_check(Timestamp::from_unix_seconds(0)).await;
    assert_eq!(
        (health.status, health.model.as_deref()),
        (HealthStatus::Connected, Some("tiny-coder"))
    );
    assert_eq!(health.context_window, Some(4096));
    adapter
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
        .unwrap();
    assert_eq!(server.requests().last().unwrap().json()["model"], "tiny-coder");
}

#[tokio::test]
async fn health_reads_well() {
    let reply = Fixture::load("openai", "models_configured_missing")
        .unwrap()
        .reply();
    let server = FakeServer::start(move |_| reply.clone()).unwrap();
    let mut health = compatible(Some(&server.url()), None)
        .health_check(Timestamp::from_unix_seconds(0))
        .await;
    health.latency_ms = 0;
    let text = serde_json::to_string_pretty(&health)
        .unwrap()
        .replace(&server.port().to_string(), "PORT");
    insta::assert_snapshot!(text, @r#"
    {
      "provider": "openai",
      "status": "model_missing",
      "error_category": "model",
      "detail": "unknown-model",
      "details": "model `gpt-5.4` is not among the models of `127.0.0.1:PORT`; its models: `gpt-5.4-mini`",
      "fix": "load a model on the server",
      "next": [
        {
          "step": "name-model"
        }
      ],
      "endpoint": "127.0.0.1:PORT",
      "model": "gpt-5.4",
      "models": [
        "gpt-5.4-mini"
      ],
      "latency_ms": 0,
      "checked_at": "1970-01-01T00:00:00.000Z"
    }
    "#);
}

#[tokio::test]
async fn odd_answers_of_real_servers_are_read() {
    let table = agentos_testkit::oddities::replay_wire("openai", "/chat/completions", |root| {
        Box::new(adapter_for(once(settings(Some(root), None))))
    });
    insta::assert_snapshot!(table.await.unwrap(), @r#"
    azure/no-choices-first: "Hello"
    groq/usage-in-x-groq: "Hello"
    lmstudio/error-event-in-plain-words: [broken-stream] the answer of `127.0.0.1:PORT` broke off before its end: an event of the stream is not JSON: the model crashed
    lmstudio/error-event-with-text: [broken-stream] the answer of `127.0.0.1:PORT` broke off before its end: Model unloaded.
    lmstudio/thinking-only: [no-answer] the answer of `127.0.0.1:PORT` is empty: the model only thought, and gave no answer
    lmstudio/tokens-in-nothing-out: [no-answer] the answer of `127.0.0.1:PORT` is empty: 36 tokens went in, and nothing came out: does the request fit the context window?
    mistral/thinking-in-parts: "Hello" thought "greet"
    openrouter/thinking-in-reasoning: "Hello" thought "greet"
    sglang/fields-are-null: "Hello"
    vllm/call-as-harmony: "" thought "I should read." calls read_file {"path":"src/a.py"} (the model wrote its call of `read_file` as text)
    vllm/call-as-text: "" calls read_file {"path":"src/a.py"} (the model wrote its call of `read_file` as text)
    vllm/call-in-a-fence: "```json\n{\"name\": \"read_file\", \"parameters\": {\"path\": \"src/a.py\"}}\n```"
    vllm/call-without-an-end: "" calls read_file {} (the server ended its stream without a reason; the answer is taken as complete)
    vllm/cut-without-done: [broken-stream] the answer of `127.0.0.1:PORT` broke off before its end: the stream ended without a finish reason
    vllm/document-as-events: [quota] `127.0.0.1:PORT` accepts the key, but its credit or budget is used up: the key has no credit left
    vllm/done-without-a-reason: "Hello" (the server ended its stream without a reason; the answer is taken as complete)
    vllm/empty-events: "Hello"
    vllm/error-is-the-event: [broken-stream] the answer of `127.0.0.1:PORT` broke off before its end: EngineDeadError: worker died
    vllm/error-type-and-message-in-a-stream: [context-length] the task does not fit the context window of model `gpt-5.4`: This model's maximum context length is 163840 tokens.
    vllm/events-as-text: "Hello"
    vllm/name-with-a-mark: "" calls read_file {"path":"src/a.py"}
    vllm/second-choice-first: "Hello"
    vllm/split-character: "Hello 😀"
    vllm/thinking-in-the-text: "Hello" thought "greet"
    vllm/unopened-thinking: "Hello" thought "1. The user greets.\n3. Answer briefly."
    "#);
}
