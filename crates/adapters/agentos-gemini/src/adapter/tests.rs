//! The adapter against documented answers and against the contract of all adapters. There are no recordings of this
//! vendor; the shapes are those of its reference.

use std::time::Duration;

use agentos_generic_http::{HttpAdapter, OfferOutcome, ServerSettings, ToolCaller as _};
use agentos_net::HttpClient;
use agentos_net::NetConfig;
use agentos_testkit::contract::{EVENT_STREAM, Subject, task};
use agentos_testkit::server::{FakeServer, Reply};
use agentos_tool::{
    Adapter, ExecutionMode, FinishReason, HealthStatus, NoProgress, Secret, Timestamp, ToolOutput, Usage,
};
use serde_json::json;

use super::*;

const KEY: &str = "AIza-fake-0123456789";

fn settings(root: Option<&str>, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("gemini", ExecutionMode::Cloud);
    settings.base_url = root.map(str::to_owned);
    settings.model = Some("gemini-2.5-flash".to_owned());
    settings.key = key.map(Secret::new);
    settings.probe_timeout = Duration::from_millis(500);
    settings
}

fn make(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(adapter(root, key))
}

fn adapter(root: Option<&str>, key: Option<&str>) -> HttpAdapter<GeminiService> {
    let config = NetConfig {
        max_body_bytes: 1 << 20,
        ..NetConfig::default()
    };
    HttpAdapter::new(
        settings(root, key),
        GeminiService,
        HttpClient::new(config).unwrap(),
    )
}

fn answer(text: &str, finish: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}],
        "modelVersion": "gemini-2.5-flash"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds() {
    let events = [
        answer("+a\n", Value::Null),
        answer("+b\n", Value::Null),
        answer("", json!("STOP")),
    ];
    let subject = Subject {
        make,
        run_path: "/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        events: events.map(|event| event.to_string()).to_vec(),
        whole: answer("+a\n+b\n", json!("STOP")).to_string(),
        text: "+a\n+b\n",
        key_header: ("x-goog-api-key", ""),
        content_type: EVENT_STREAM,
        side: |_| Reply::json(404, &json!({"error": "no such route"})),
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

#[tokio::test]
async fn health_is_what_the_model_document_says() {
    let error = |code: u16, status: &str, message: &str, reason: &str| json!({"error": {"code": code, "message": message, "status": status, "details": [{"reason": reason}]}});
    let model = json!({"name": "models/gemini-2.5-flash", "inputTokenLimit": 1_048_576,
        "supportedGenerationMethods": ["generateContent", "countTokens"]});
    let embedding =
        json!({"name": "models/gemini-2.5-flash", "supportedGenerationMethods": ["embedContent"]});
    let bad_key = "API key not valid. Please pass a valid API key.";
    let unknown =
        "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.";
    let cases = [
        (200, model, HealthStatus::Connected, None),
        (200, embedding, HealthStatus::ModelMissing, Some("unknown-model")),
        (
            400,
            error(400, "INVALID_ARGUMENT", bad_key, "API_KEY_INVALID"),
            HealthStatus::InvalidToken,
            Some("unauthorized"),
        ),
        (
            403,
            error(403, "PERMISSION_DENIED", "denied", ""),
            HealthStatus::InvalidToken,
            Some("forbidden"),
        ),
        (
            404,
            error(404, "NOT_FOUND", unknown, ""),
            HealthStatus::ModelMissing,
            Some("unknown-model"),
        ),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", "slow down", ""),
            HealthStatus::Connected,
            Some("rate-limited"),
        ),
        (
            503,
            error(503, "UNAVAILABLE", "overloaded", ""),
            HealthStatus::Unreachable,
            Some("overloaded"),
        ),
        (
            200,
            json!({"name": "something"}),
            HealthStatus::SchemaMismatch,
            Some("fields"),
        ),
    ];
    for (status, body, state, detail) in cases {
        let server = FakeServer::start(move |_| Reply::json(status, &body)).unwrap();
        let health = make(Some(&server.url()), Some(KEY))
            .health_check(Timestamp::from_unix_seconds(0))
            .await;
        assert_eq!(
            (health.status, health.detail.as_deref()),
            (state, detail),
            "{health:?}"
        );
        let request = server.requests().first().unwrap().clone();
        assert_eq!(
            (request.path.as_str(), request.header("x-goog-api-key")),
            ("/models/gemini-2.5-flash", Some(KEY))
        );
    }
}

async fn answered(body: Value) -> ToolOutput {
    let server = FakeServer::start(move |_| Reply::json(200, &body)).unwrap();
    make(Some(&server.url()), Some(KEY))
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_answer_says_how_it_ends() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls, Unknown};
    let cases = [
        ("STOP", Stop),
        ("MAX_TOKENS", Length),
        ("SAFETY", ContentFilter),
        ("RECITATION", ContentFilter),
        ("MALFORMED_FUNCTION_CALL", ToolCalls),
        ("A_NEW_WORD", Unknown),
    ];
    for (word, finish) in cases {
        assert_eq!(answered(answer("x", json!(word))).await.finish, finish, "{word}");
    }
    let blocked = answered(json!({"promptFeedback": {"blockReason": "SAFETY"}})).await;
    assert_eq!(blocked.finish, ContentFilter);
    assert_eq!(
        blocked.warnings,
        ["the model refused: the prompt is blocked (SAFETY)"]
    );
}

#[tokio::test]
async fn thoughts_are_counted_and_not_read() {
    let output = answered(json!({
        "candidates": [{"content": {"parts": [{"text": "hm", "thought": true}, {"text": "+a"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "cachedContentTokenCount": 8},
    }))
    .await;
    assert_eq!(output.text, "+a");
    let usage = Usage {
        input_tokens: Some(10),
        cached_tokens: Some(8),
        cache_write_tokens: None,
        output_tokens: Some(7),
        reasoning_tokens: Some(4),
        stated_cost: None,
    };
    assert_eq!(output.usage, Some(usage));
}

/// The shapes of <https://ai.google.dev/gemini-api/docs/function-calling>.
#[tokio::test]
async fn an_offered_tool_is_in_the_request_and_its_call_in_the_answer() {
    let call = |name: &str| {
        json!({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"name": name, "args": {"fruit": "orange"}}, "thoughtSignature": "AAAA"},
        ]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 5}})
    };
    let cases = [
        (call("pick_fruit"), OfferOutcome::Called),
        (call("pick_apple"), OfferOutcome::OtherTool),
        (answer("orange", json!("STOP")), OfferOutcome::NotCalled),
        (answer("or", json!("MAX_TOKENS")), OfferOutcome::CutOff),
    ];
    for (answer, outcome) in cases {
        let server = FakeServer::start(move |_| Reply::json(200, &answer)).unwrap();
        let seen = adapter(Some(&server.url()), Some(KEY)).offer_tool(20).await;
        assert_eq!(seen.unwrap().unwrap().outcome, outcome);
        let request = server.requests().remove(0);
        assert_eq!(
            (request.path.as_str(), request.header("x-goog-api-key")),
            ("/models/gemini-2.5-flash:generateContent", Some(KEY))
        );
        let body = request.json();
        let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["contents", "generationConfig", "tools"]);
        assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], "pick_fruit");
    }
}

#[tokio::test]
async fn odd_answers_of_real_servers_are_read() {
    let table = agentos_testkit::oddities::replay_wire("gemini", "GenerateContent", |root| {
        Box::new(adapter(Some(root), None))
    });
    insta::assert_snapshot!(table.await.unwrap(), @r"
    gemini/malformed-call: [no-answer] the answer of `127.0.0.1:PORT` is empty: the server says that the model called a tool, and sent no call that can be read
    gemini/stop-without-parts: [no-answer] the answer of `127.0.0.1:PORT` is empty: the answer has no text, although the server counted 2 tokens
    ");
}
