//! The adapter against recorded answers and against the contract of all adapters, on both of its wires.

use agentos_generic_http::{HttpAdapter, ServerSettings};
use agentos_net::HttpClient;
use std::time::Duration;

use agentos_testkit::contract::{BEARER, DIFF, EVENT_STREAM, Subject, state_of, task};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use agentos_testkit::wire::Fixture;
use agentos_tool::{
    Adapter, ExecutionMode, FinishReason, HealthStatus, NoProgress, Secret, Timestamp, ToolError, ToolHealth,
    ToolOutput,
};
use serde_json::json;

use super::*;

mod real;
mod recorded;

fn settings(root: Option<&str>, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("llamacpp", ExecutionMode::Local);
    settings.base_url = root.map(str::to_owned);
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

fn native(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(HttpAdapter::new(
        settings(root, key),
        LlamaCppService::new(LlamaCppMode::Completion),
        http(),
    ))
}

fn chat(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(HttpAdapter::new(
        settings(root, key),
        LlamaCppService::new(LlamaCppMode::OpenAi),
        http(),
    ))
}

fn fixture(case: &str) -> Reply {
    Fixture::load("llamacpp", case).unwrap().reply()
}

/// A server in good health.
fn healthy(request: &Recorded) -> Reply {
    match request.path.as_str() {
        "/health" => fixture("health_ok"),
        "/props" => fixture("props"),
        "/v1/models" => fixture("models_full"),
        "/completion" => fixture("error_no_prompt"),
        _ => fixture("error_unknown_path"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_on_the_native_wire() {
    let piece = |content: &str| json!({"content": content, "stop": false}).to_string();
    let end = json!({"content": "", "stop": true, "stop_type": "eos", "model": "tiny-coder"});
    let whole = json!({"content": "+a\n+b\n", "stop": true, "stop_type": "eos"});
    let subject = Subject {
        make: native,
        run_path: "/completion",
        events: vec![piece("+a\n"), piece("+b\n"), end.to_string()],
        whole: whole.to_string(),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: EVENT_STREAM,
        side: healthy,
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_on_the_chat_wire() {
    let chunk = |content: &str| json!({"choices": [{"delta": {"content": content}}]}).to_string();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let whole = json!({"choices": [{"message": {"content": "+a\n+b\n"}, "finish_reason": "stop"}]});
    let subject = Subject {
        make: chat,
        run_path: "/v1/chat/completions",
        events: vec![chunk("+a\n"), chunk("+b\n"), end.to_string()],
        whole: whole.to_string(),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: EVENT_STREAM,
        side: healthy,
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

/// The path a recording stands on; those of other services and paths are played on all.
fn stands_for(fixture: &Fixture) -> &'static [&'static str] {
    match fixture.request.path.as_str() {
        "/health" | "/v1/health" => &["/health"],
        "/props" => &["/props"],
        "/v1/models" | "/models" => &["/v1/models"],
        "/completion" => &["/completion"],
        "/v1/chat/completions" | "/v1/messages" => &["/v1/chat/completions"],
        _ => &[],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_state_is_told() {
    let (mut told, mut recorded) = (0, 0);
    for folder in ["llamacpp", "generic", "derived"] {
        for fixture in Fixture::all(folder).unwrap() {
            let Some(wanted) = &fixture.tool_health else {
                continue;
            };
            recorded += 1;
            let named = ["models_configured_missing", "models_bare_array"].contains(&fixture.case.as_str());
            let on_chat = stands_for(&fixture) == ["/v1/chat/completions"];
            let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
                let mut settings = settings(Some(root), key);
                settings.retries = 0;
                settings.model = named.then(|| "other-model".to_owned());
                let mode = if on_chat {
                    LlamaCppMode::OpenAi
                } else {
                    LlamaCppMode::Completion
                };
                Box::new(HttpAdapter::new(settings, LlamaCppService::new(mode), http()))
            };
            let found = state_of(&fixture, make, stands_for(&fixture), healthy)
                .await
                .unwrap();
            assert_eq!(&found, wanted, "{}", fixture.name());
            told += 1;
        }
    }
    assert_eq!((told, recorded), (28, 28));
}

/// A router over several models; `list` is what it lists.
async fn routed(list: Reply, props: Reply, model: Option<&str>) -> ToolHealth {
    let server = FakeServer::start(move |request| match request.path.as_str() {
        "/health" => fixture("health_ok"),
        "/props" => props.clone(),
        "/v1/models" => list.clone(),
        "/completion" => fixture("error_no_prompt"),
        _ => fixture("error_unknown_path"),
    })
    .unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.model = model.map(str::to_owned);
    let adapter = HttpAdapter::new(settings, LlamaCppService::new(LlamaCppMode::Completion), http());
    adapter.health_check(Timestamp::from_unix_seconds(0)).await
}

/// Request that checks the path of tasks: an older version, which answers it, generates nothing.
const NO_TOKENS: &[u8] = br#"{"n_predict":0,"stream":false}"#;

#[tokio::test]
async fn health_does_not_wake_a_server_that_sleeps() {
    let ask = async |is_sleeping: bool| {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/props" => Reply::json(
                200,
                &json!({ "default_generation_settings": {}, "is_sleeping": is_sleeping }),
            ),
            _ => healthy(request),
        })
        .unwrap();
        let health = native(Some(&server.url()), None);
        let health = health.health_check(Timestamp::from_unix_seconds(0)).await;
        let posts = server.requests();
        let posts = posts.iter().filter(|request| request.method == "POST").count();
        (health.status, posts)
    };
    assert_eq!(ask(true).await, (HealthStatus::Connected, 0));
    assert_eq!(ask(false).await, (HealthStatus::Connected, 1));
}

#[tokio::test]
async fn another_service_at_the_path_of_tasks_is_told() {
    let reply = |case: usize| match case {
        0 => fixture("error_no_prompt"),
        1 => fixture("run_completion"),
        // A failure that llama.cpp can have itself.
        2 => Reply::json(500, &json!({ "error": { "code": 500, "message": "odd" } })),
        3 => Reply::json(200, &json!({ "hello": 1 })),
        4 => Reply::json(200, &json!([])),
        5 => fixture("error_unknown_path"),
        _ => Reply::http(
            200,
            &[("content-type", "text/html")],
            b"<html><body>Hello</body></html>",
        ),
    };
    let mut told = Vec::new();
    for case in 0..7 {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/completion" => reply(case),
            _ => healthy(request),
        })
        .unwrap();
        let health = native(Some(&server.url()), None);
        let health = health.health_check(Timestamp::from_unix_seconds(0)).await;
        let chat = chat(Some(&server.url()), None);
        let on_chat = chat.health_check(Timestamp::from_unix_seconds(0)).await;
        let detail = health.detail.unwrap_or_default();
        told.push(format!(
            "{case}: {} {detail}; on the chat wire {}",
            health.status, on_chat.status
        ));
        let asked = server.requests();
        let sent = asked
            .iter()
            .find(|request| request.path == "/completion")
            .unwrap();
        assert_eq!(sent.body, NO_TOKENS);
    }
    insta::assert_snapshot!(told.join("\n"), @"
    0: connected ; on the chat wire connected
    1: connected ; on the chat wire connected
    2: connected ; on the chat wire connected
    3: schema_mismatch fields; on the chat wire connected
    4: schema_mismatch fields; on the chat wire connected
    5: schema_mismatch wrong-path; on the chat wire connected
    6: schema_mismatch html; on the chat wire connected
    ");
}

#[tokio::test]
async fn a_router_tells_the_state_of_each_model() {
    let coder = "Qwen3-Coder-30B-Q4_K_M";
    let router = |case: &str| Fixture::load("llamacpp_router", case).unwrap();
    for case in ["models", "models_empty", "models_failed", "models_loading"] {
        let health = routed(router(case).reply(), router("props").reply(), Some(coder)).await;
        assert_eq!(
            Some(health.status.to_string()),
            router(case).tool_health,
            "{case}"
        );
    }
    let unloaded = json!({"data": [{"id": "a", "status": {"value": "unloaded"}}]});
    for (autoload, status) in [
        (true, HealthStatus::Connected),
        (false, HealthStatus::ModelMissing),
    ] {
        let props = json!({"role": "router", "models_autoload": autoload});
        let health = routed(Reply::json(200, &unloaded), Reply::json(200, &props), Some("a")).await;
        assert_eq!(
            (health.status, health.detail.as_deref()),
            (status, Some("not-loaded"))
        );
    }
}

#[tokio::test]
async fn health_ok_alone_is_not_healthy() {
    // T11: a health path of status 200 proves neither service nor key nor model.
    for (case, status) in [
        ("error_unknown_path", HealthStatus::SchemaMismatch),
        ("auth_bad_key", HealthStatus::NotConfigured),
        ("loading_models", HealthStatus::Unreachable),
    ] {
        let server = FakeServer::start(move |request| {
            if request.path == "/health" {
                fixture("health_ok")
            } else {
                fixture(case)
            }
        })
        .unwrap();
        let health = native(Some(&server.url()), None)
            .health_check(Timestamp::from_unix_seconds(0))
            .await;
        assert_eq!(health.status, status, "{case}");
    }
}

#[tokio::test]
async fn the_loaded_context_is_told() {
    let server = FakeServer::start(healthy).unwrap();
    // A base URL for the chat wire has a version; the native paths lie beside it.
    for base in [server.url(), format!("{}/v1", server.url())] {
        let health = native(Some(&base), None)
            .health_check(Timestamp::from_unix_seconds(0))
            .await;
        assert_eq!(
            (health.status, health.context_window),
            (HealthStatus::Connected, Some(4096))
        );
        assert_eq!(
            (health.model.as_deref(), health.models),
            (Some("tiny-coder"), vec!["tiny-coder".to_owned()])
        );
    }
}

async fn played(case: &'static str) -> Result<ToolOutput, ToolError> {
    answered(fixture(case)).await
}

async fn answered(reply: Reply) -> Result<ToolOutput, ToolError> {
    let server = FakeServer::start(move |request| {
        if request.path == "/completion" {
            reply.clone()
        } else {
            healthy(request)
        }
    })
    .unwrap();
    native(Some(&server.url()), None)
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
}

#[tokio::test]
async fn recorded_answers_are_read() {
    use FinishReason::{Length, Stop};
    let cases = [
        ("run_completion", Stop, DIFF),
        ("run_completion_stream", Stop, DIFF),
        (
            "run_completion_limit",
            Length,
            "--- a/src/lib.rs\n+++ b/src/lib.r",
        ),
        (
            "run_completion_stop_word",
            Stop,
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n",
        ),
        ("run_completion_stream_full", Length, "--- a/src/lib.rs"),
        ("run_completion_grammar_cut", Length, "--- a/src/lib.rs\n+++"),
    ];
    for (case, finish, text) in cases {
        let output = played(case)
            .await
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!((output.finish, output.text.as_str()), (finish, text), "{case}");
        let usage = output.usage.unwrap();
        assert!(
            usage.input_tokens.is_some() && usage.output_tokens.is_some(),
            "{case}"
        );
        assert!(output.model_id.is_some(), "{case}");
    }
}

#[tokio::test]
async fn broken_answers_are_none() {
    let cases = [
        ("error_midstream_completion", "context-length"),
        ("error_context_overflow_completion", "context-length"),
        ("error_no_prompt", "rejected"),
        // Without `content` it is another wire: the source system's own check.
        ("run_completion_context_full", "fields"),
        ("run_chat", "fields"),
    ];
    for (case, detail) in cases {
        let error = played(case).await.expect_err(case);
        assert_eq!(error.detail, detail, "{case}: {error}");
    }
}

#[tokio::test]
async fn an_answer_says_how_it_ends() {
    use FinishReason::{Length, Stop, Unknown};
    let cases = [
        (json!({"stop_type": "eos"}), Ok(Stop)),
        (json!({"stop_type": "word"}), Ok(Stop)),
        (json!({"stop_type": "limit"}), Ok(Length)),
        (json!({"stop_type": "eos", "truncated": true}), Ok(Length)),
        (json!({"stop_type": "resting"}), Ok(Unknown)),
        (json!({"stop_type": "none"}), Err("broken-answer")),
        (json!({"stop_type": null}), Err("broken-answer")),
        (json!({}), Err("broken-answer")),
        // Older servers.
        (json!({"stopped_eos": true, "stopped_limit": false}), Ok(Stop)),
        (json!({"stopped_eos": false, "stopped_word": true}), Ok(Stop)),
        (json!({"stopped_eos": false, "stopped_limit": true}), Ok(Length)),
    ];
    for (end, wanted) in cases {
        let mut body = end.clone();
        body["content"] = json!("+a\n");
        body["stop"] = json!(true);
        let stream = format!("data: {body}\n\n");
        for reply in [
            Reply::json(200, &body),
            Reply::http(200, &[("content-type", "text/event-stream")], stream.as_bytes()),
        ] {
            let output = answered(reply).await;
            let warnings = output.as_ref().map_or(0, |output| output.warnings.len());
            let found = output.map(|output| output.finish).map_err(|error| error.detail);
            assert_eq!(found, wanted.map_err(str::to_owned), "{end}");
            assert_eq!(warnings, usize::from(wanted == Ok(Unknown)), "{end}");
        }
    }
}

#[tokio::test]
async fn the_servers_own_template_makes_the_prompt() {
    let own = json!(["</s>", "\nUser:", "\nAssistant:"]);
    let both = json!(["END", "</s>", "\nUser:", "\nAssistant:"]);
    let cases: [(bool, &[&str], &str, serde_json::Value); 4] = [
        (true, &[], "<turn>Fix add() in src/lib.rs.</turn>", json!(null)),
        (
            true,
            &["END"],
            "<turn>Fix add() in src/lib.rs.</turn>",
            json!(["END"]),
        ),
        (false, &[], "Task:\nFix add() in src/lib.rs.", own),
        (false, &["END"], "Task:\nFix add() in src/lib.rs.", both),
    ];
    for (has_template, set, wanted, stop) in cases {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/completion" => fixture("run_completion_stream"),
            "/apply-template" if has_template => {
                Reply::json(200, &json!({"prompt": "<turn>Fix add() in src/lib.rs.</turn>"}))
            }
            _ => healthy(request),
        })
        .unwrap();
        let mut settings = settings(Some(&server.url()), None);
        (settings.max_tokens, settings.temperature) = (Some(256), Some(0.2));
        (settings.top_p, settings.seed) = (Some(0.9), Some(7));
        settings.stop = set.iter().map(|word| (*word).to_owned()).collect();
        let adapter = HttpAdapter::new(settings, LlamaCppService::new(LlamaCppMode::Completion), http());
        adapter
            .run(&task(Duration::from_secs(20)), &NoProgress)
            .await
            .unwrap();
        let body = server.requests().last().unwrap().json();
        assert!(body["prompt"].as_str().unwrap().contains(wanted), "{body}");
        assert_eq!(
            (&body["n_predict"], &body["temperature"]),
            (&json!(256), &json!(0.2))
        );
        assert_eq!(body.get("max_tokens"), None);
        assert_eq!((&body["top_p"], &body["seed"]), (&json!(0.9), &json!(7)));
        assert_eq!(body["stop"], stop);
    }
}

#[tokio::test]
async fn a_task_that_does_not_fit_the_loaded_context_is_told_before_it_is_sent() {
    let props = |window: u64| json!({"default_generation_settings": {"n_ctx": window}});
    // The server counts; without its count the bytes are only good for what is sure.
    for (window, tokens, detail, words) in [
        (
            600,
            Some(700),
            Some("context-length"),
            "the prompt has 700 tokens, but the loaded context only 600",
        ),
        (
            800,
            Some(700),
            None,
            "may be too short: 800 tokens for a prompt of 700 and an answer of at least 512",
        ),
        (4096, None, None, ""),
    ] {
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/props" => Reply::json(200, &props(window)),
            "/tokenize" => match tokens {
                Some(tokens) => Reply::json(200, &json!({"tokens": vec![1; tokens]})),
                None => fixture("error_unknown_path"),
            },
            "/completion" => fixture("run_completion_stream"),
            _ => healthy(request),
        })
        .unwrap();
        let output = native(Some(&server.url()), None)
            .run(&task(Duration::from_secs(20)), &NoProgress)
            .await;
        let asked = server
            .requests()
            .iter()
            .any(|request| request.path == "/completion");
        assert_eq!(asked, detail.is_none(), "{window}");
        match output {
            Ok(output) => assert!(output.warnings.concat().contains(words), "{output:?}"),
            Err(error) => {
                assert_eq!(Some(error.detail.as_str()), detail);
                assert!(error.message.contains(words), "{error}");
                assert!(error.advice.fix.unwrap().contains("--ctx-size 2048"));
            }
        }
    }
}

#[tokio::test]
async fn a_context_that_is_known_is_not_asked_for_again() {
    let server = FakeServer::start(|request| match request.path.as_str() {
        "/v1/chat/completions" => fixture("run_chat_stream"),
        _ => healthy(request),
    })
    .unwrap();
    let adapter = chat(Some(&server.url()), None);
    let asks = |loaded| {
        let mut task = task(Duration::from_secs(20));
        task.limits.loaded_context = loaded;
        let (adapter, server) = (&adapter, &server);
        async move {
            let before = server.requests().len();
            // Whether the answer is of use does not matter here.
            adapter.run(&task, &NoProgress).await.ok();
            let asked = server.requests();
            asked
                .iter()
                .skip(before)
                .filter(|request| request.path == "/props")
                .count()
        }
    };
    assert_eq!((asks(None).await, asks(Some(4096)).await), (1, 0));
}

#[tokio::test]
async fn a_routers_model_has_a_context_of_its_own() {
    let server = FakeServer::start(|request| match request.path.as_str() {
        "/health" => fixture("health_ok"),
        "/props" => Reply::json(200, &json!({"role": "router"})),
        "/props?model=a&autoload=false" => {
            Reply::json(200, &json!({"default_generation_settings": {"n_ctx": 512}}))
        }
        "/v1/models" => Reply::json(
            200,
            &json!({"data": [{"id": "a", "status": {"value": "loaded"}}, {"id": "b"}]}),
        ),
        // A router without the name of a model.
        "/completion" if request.body == NO_TOKENS => fixture("error_no_prompt"),
        "/completion" => fixture("run_completion_stream"),
        _ => fixture("error_unknown_path"),
    })
    .unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.model = Some("a".to_owned());
    settings.context_window = Some(4096);
    let adapter = HttpAdapter::new(settings, LlamaCppService::new(LlamaCppMode::Completion), http());
    let health = adapter.health_check(Timestamp::from_unix_seconds(0)).await;
    assert_eq!(
        (health.status, health.context_window),
        (HealthStatus::Connected, Some(512))
    );
    assert_eq!(health.detail.as_deref(), Some("short-context"));
    insta::assert_snapshot!(
        format!("{}; {}", health.details.replace(server.url().trim_start_matches("http://"), "HOST"), health.fix.unwrap()),
        @r"
    `HOST` is ready with model `a`; it also has `b`, but its context has 512 tokens and the profile expects 4096; start llama-server with `--ctx-size 4096` for each parallel slot
    "
    );
    let mut task = task(Duration::from_secs(20));
    task.instruction = "Fix add(). ".repeat(1500);
    let error = adapter.run(&task, &NoProgress).await.unwrap_err();
    assert_eq!(error.detail, "context-length");
}

#[tokio::test]
async fn odd_answers_of_real_servers_are_read() {
    let table = agentos_testkit::oddities::replay_wire("llamacpp", "/completion", |root| {
        let service = LlamaCppService::new(LlamaCppMode::Completion);
        Box::new(HttpAdapter::new(settings(Some(root), None), service, http()))
    });
    insta::assert_snapshot!(table.await.unwrap(), @r#"llamacpp/stop-type-eos: "Hello""#);
}
