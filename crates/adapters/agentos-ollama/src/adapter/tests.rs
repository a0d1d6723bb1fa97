//! The adapter against recorded answers and against the contract of all adapters.

use std::time::Duration;

use agentos_generic_http::{
    HttpAdapter, OfferOutcome, OfferedTool, ServerSettings, ToolCaller as _, write_function,
};
use agentos_net::HttpClient;
use agentos_net::NetConfig;
use agentos_testkit::contract::{BEARER, DIFF, JSON_LINES, Subject, state_of, task};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use agentos_testkit::wire::Fixture;
use agentos_tool::{
    Adapter, ExecutionMode, FinishReason, HealthStatus, NoProgress, Secret, Timestamp, ToolError, ToolOutput,
};
use serde_json::json;

use super::*;

fn settings(root: Option<&str>, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("ollama", ExecutionMode::Local);
    settings.base_url = root.map(str::to_owned);
    settings.model = Some("qwen3-coder:30b".to_owned());
    settings.key = key.map(Secret::new);
    settings.probe_timeout = Duration::from_millis(500);
    settings
}

fn adapter(settings: ServerSettings) -> HttpAdapter<OllamaService> {
    let config = NetConfig {
        max_body_bytes: 1 << 20,
        ..NetConfig::default()
    };
    HttpAdapter::new(settings, OllamaService, HttpClient::new(config).unwrap())
}

fn make(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(adapter(settings(root, key)))
}

fn fixture(case: &str) -> Reply {
    Fixture::load("ollama", case).unwrap().reply()
}

/// A server in good health.
fn healthy(request: &Recorded) -> Reply {
    match request.path.as_str() {
        "/api/version" => fixture("version_ok"),
        "/api/tags" => fixture("tags_full"),
        "/api/show" => fixture("show_ok"),
        "/api/ps" => fixture("ps_loaded"),
        _ => fixture("error_unknown_path"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds() {
    let line = |text: &str, done: bool| {
        json!({"message": {"content": text}, "done": done, "done_reason": "stop"}).to_string()
    };
    let subject = Subject {
        make,
        run_path: "/api/chat",
        events: vec![line("+a\n", false), line("+b\n", false), line("", true)],
        whole: line("+a\n+b\n", true),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: JSON_LINES,
        side: |_| Reply::json(404, &json!({"error": "no such route"})),
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

/// The path a recording stands on; one of another path is played on the first that is asked.
fn stands_for(path: &str) -> &'static [&'static str] {
    match path {
        "/api/tags" => &["/api/tags"],
        "/api/show" => &["/api/show"],
        "/api/chat" => &["/api/chat"],
        _ => &["/api/version"],
    }
}

/// Those of its OpenAI-like paths belong to another adapter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_state_is_told() {
    let mut told = 0;
    for fixture in Fixture::all("ollama").unwrap() {
        let Some(wanted) = fixture
            .tool_health
            .clone()
            .filter(|_| !fixture.case.starts_with("v1_"))
        else {
            continue;
        };
        let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
            // A key that its hosted service refuses was sent, though the recording does not show it.
            let cloud_key = (fixture.case == "error_cloud_unauthorized").then_some("fake-cloud-key");
            let mut settings = settings(Some(root), key.or(cloud_key));
            settings.retries = 0;
            Box::new(adapter(settings))
        };
        let found = state_of(&fixture, make, stands_for(&fixture.request.path), healthy).await;
        assert_eq!(found.unwrap(), wanted, "{}", fixture.name());
        told += 1;
    }
    assert_eq!(told, 11);
}

async fn played(case: &'static str) -> Result<ToolOutput, ToolError> {
    let server = FakeServer::start(move |_| fixture(case)).unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.retries = 0;
    adapter(settings)
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
}

#[tokio::test]
async fn recorded_answers_are_read() {
    use FinishReason::{Length, Stop, ToolCalls};
    let cases = [
        ("run_chat", Stop, Some(DIFF)),
        ("run_chat_stream", Stop, Some(DIFF)),
        ("run_chat_thinking", Stop, Some(DIFF)),
        ("run_chat_no_prompt_count", Stop, Some(DIFF)),
        ("run_chat_format_schema", Stop, None),
        ("run_chat_length", Length, Some("--- a")),
        ("run_chat_tool_call", ToolCalls, Some("")),
    ];
    for (case, finish, text) in cases {
        let output = played(case)
            .await
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(output.finish, finish, "{case}");
        assert!(text.is_none_or(|text| output.text == text), "{case}: {output:?}");
    }
    let usage = played("run_chat_stream").await.unwrap().usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(24), Some(61)));
    let usage = played("run_chat_no_prompt_count").await.unwrap().usage.unwrap();
    assert_eq!(usage.input_tokens, None, "a count that is left out is unknown");
}

#[tokio::test]
async fn broken_answers_are_none() {
    let cases = [
        ("error_midstream", "broken-stream"),
        ("error_midstream_eof", "broken-stream"),
        ("error_busy", "overloaded"),
        ("error_load_failed", "load-failed"),
        ("error_no_think", "rejected"),
        ("run_chat_load", "broken-answer"),
        ("run_chat_unload", "broken-answer"),
    ];
    for (case, detail) in cases {
        let error = played(case).await.expect_err(case);
        assert_eq!(error.detail, detail, "{case}: {error}");
    }
}

#[tokio::test]
async fn health_tells_what_is_loaded_and_with_which_context() {
    let cases = [
        ("ps_loaded", Some("qwen3-coder:30b"), None, Some(32_768)),
        (
            "ps_none_loaded",
            Some("qwen3-coder:30b"),
            Some("not-loaded"),
            Some(262_144),
        ),
    ];
    for (ps, model, detail, context) in cases {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/api/ps" => fixture(ps),
            _ => healthy(request),
        })
        .unwrap();
        let health = make(Some(&server.url()), None)
            .health_check(Timestamp::from_unix_seconds(0))
            .await;
        assert_eq!(health.status, HealthStatus::Connected, "{health:?}");
        assert_eq!(health.detail.as_deref(), detail, "{health:?}");
        assert_eq!((health.model.as_deref(), health.context_window), (model, context));
    }
}

#[test]
fn the_context_grows_with_the_task_and_not_beyond_the_model() {
    let cases = [
        (0, 100, None, 4096),
        (3 * 4000, 200, None, 8192),
        (3 * 30_000, 2768, None, 32_768),
        (3 * 30_000, 2769, None, 65_536),
        (3 * 30_000, 2769, Some(40_000), 40_000),
        (0, 100, Some(2048), 2048),
    ];
    for (bytes, answer, longest, context) in cases {
        assert_eq!(context_for(bytes, answer, longest), context, "{bytes} {answer}");
    }
}

#[tokio::test]
async fn the_request_asks_for_the_context_and_a_limit() {
    let server = FakeServer::start(|_| fixture("run_chat")).unwrap();
    adapter(settings(Some(&server.url()), None))
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
        .unwrap();
    let body = server.requests().last().unwrap().json();
    assert_eq!(body["options"], json!({"num_ctx": 8192, "num_predict": 4096}));
    assert_eq!(body["truncate"], false);
}

#[tokio::test]
async fn a_task_longer_than_the_models_context_is_told_before_it_is_sent() {
    let show = |longest: u64| json!({"details": {}, "model_info": {"qwen.context_length": longest}});
    for (longest, sent) in [(2048, 0), (6000, 1)] {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/api/show" => Reply::json(200, &show(longest)),
            "/api/chat" => fixture("run_chat"),
            _ => healthy(request),
        })
        .unwrap();
        let mut task = task(Duration::from_secs(20));
        task.instruction = "Fix add(). ".repeat(1500);
        let output = adapter(settings(Some(&server.url()), None))
            .run(&task, &NoProgress)
            .await;
        let asked = server.requests();
        let asked = asked.iter().filter(|request| request.path == "/api/chat").count();
        assert_eq!(asked, sent, "{longest}");
        match output {
            Ok(output) => assert!(output.warnings[0].contains("may be too short"), "{output:?}"),
            Err(error) => {
                assert_eq!(error.detail, "context-length");
                assert!(error.message.contains("the loaded context only 2048"), "{error}");
                assert!(error.advice.fix.unwrap().contains("8192 tokens of context"));
            }
        }
    }
}

#[tokio::test]
async fn that_a_model_is_loaded_again_with_a_longer_context_is_said() {
    let ps = json!({"models": [{"name": "qwen3-coder:30b", "context_length": 4096}]});
    let server = FakeServer::start(move |request| match request.path.as_str() {
        "/api/ps" => Reply::json(200, &ps),
        "/api/chat" => fixture("run_chat"),
        _ => healthy(request),
    })
    .unwrap();
    let output = adapter(settings(Some(&server.url()), None))
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
        .unwrap();
    assert_eq!(
        output.warnings,
        ["the model is loaded with 4096 tokens of context; Ollama reloads it with 8192"]
    );
}

#[tokio::test]
async fn an_offered_tool_is_in_the_request_and_its_call_in_the_answer() {
    let recorded = Fixture::load("ollama", "run_chat_tool_call")
        .unwrap()
        .response
        .body
        .unwrap();
    let mut called = recorded.clone();
    called["message"]["tool_calls"][0]["function"] =
        json!({"name": "pick_fruit", "arguments": {"fruit": "orange"}});
    let text =
        json!({"message": {"role": "assistant", "content": "orange"}, "done": true, "done_reason": "stop"});
    let cut =
        json!({"message": {"role": "assistant", "content": "or"}, "done": true, "done_reason": "length"});
    let cases = [
        (called, OfferOutcome::Called),
        (recorded, OfferOutcome::OtherTool),
        (text, OfferOutcome::NotCalled),
        (cut, OfferOutcome::CutOff),
    ];
    for (answer, outcome) in cases {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/api/chat" => Reply::json(200, &answer),
            _ => healthy(request),
        })
        .unwrap();
        let seen = adapter(settings(Some(&server.url()), None)).offer_tool(20).await;
        assert_eq!(seen.unwrap().unwrap().outcome, outcome);
        let body = server.requests().last().unwrap().json();
        let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["messages", "model", "options", "stream", "tools", "truncate"]
        );
        assert_eq!(
            (&body["stream"], &body["tools"]),
            (
                &json!(false),
                &json!([write_function(&OfferedTool::FRUIT.make_request().tools[0])])
            )
        );
    }
}

#[tokio::test]
async fn odd_answers_of_real_servers_are_read() {
    let table = agentos_testkit::oddities::replay_wire("ollama", "/api/chat", |root| {
        Box::new(adapter(settings(Some(root), None)))
    });
    insta::assert_snapshot!(table.await.unwrap(), @r#"
    ollama/error-line: [broken-stream] the answer of `127.0.0.1:PORT` broke off before its end: an error was encountered while running the model: CUDA error
    ollama/loaded-only: [broken-answer] the answer of `127.0.0.1:PORT` is incomplete: the finish reason is `load`
    ollama/no-last-line-end: "Hello"
    "#);
}
