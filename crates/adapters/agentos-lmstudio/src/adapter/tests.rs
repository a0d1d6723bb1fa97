//! The adapter against recorded answers and against the contract of all adapters.

use std::time::Duration;

use agentos_generic_http::{HttpAdapter, OfferOutcome, ServerSettings, ToolCaller as _};
use agentos_net::HttpClient;
use agentos_testkit::contract::{BEARER, EVENT_STREAM, Subject, below_v1, state_of, task};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use agentos_testkit::wire::Fixture;
use agentos_tool::{Adapter, ExecutionMode, HealthStatus, NoProgress, Secret, Timestamp, ToolHealth};
use serde_json::json;

use super::*;

fn settings(root: Option<&str>, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("lmstudio", ExecutionMode::Local);
    settings.base_url = root.map(below_v1);
    settings.model = Some("local-model".to_owned());
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

fn make(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(HttpAdapter::new(settings(root, key), LmStudioService, http()))
}

fn fixture(case: &str) -> Reply {
    Fixture::load("lmstudio", case).unwrap().reply()
}

/// What LM Studio says to every path it does not know.
fn unexpected(_: &Recorded) -> Reply {
    fixture("error_unexpected_endpoint")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds() {
    let chunk = |content: &str| json!({"choices": [{"delta": {"content": content}}]}).to_string();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "model": "qwen/qwen3-coder-30b"});
    let whole = json!({"choices": [{"message": {"content": "+a\n+b\n"}, "finish_reason": "stop"}]});
    let subject = Subject {
        make,
        run_path: "/v1/chat/completions",
        events: vec![chunk("+a\n"), chunk("+b\n"), end.to_string()],
        whole: whole.to_string(),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: EVENT_STREAM,
        side: |request| match request.path.as_str() {
            "/api/v1/models" => fixture("api_v1_models"),
            _ => unexpected(request),
        },
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

/// The path a recorded list stands on; other recordings are played on all paths.
fn stands_for(fixture: &Fixture) -> &'static [&'static str] {
    match fixture.request.path.as_str() {
        "/api/v1/models" => &["/api/v1/models"],
        "/api/v0/models" => &["/api/v0/models"],
        "/v1/models" => &["/v1/models"],
        "/v1/chat/completions" => &["/v1/chat/completions"],
        _ => &[],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_state_is_told() {
    let mut told = 0;
    for folder in ["lmstudio", "generic", "derived"] {
        for fixture in Fixture::all(folder).unwrap() {
            let Some(wanted) = &fixture.tool_health else {
                continue;
            };
            let run = fixture.request.method == "POST" || fixture.case == "models_bare_array";
            let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
                let mut settings = settings(Some(root), key);
                if run {
                    settings.model = Some("qwen/qwen3-coder-30b".to_owned());
                }
                Box::new(HttpAdapter::new(settings, LmStudioService, http()))
            };
            let found = state_of(&fixture, make, stands_for(&fixture), unexpected)
                .await
                .unwrap();
            assert_eq!(&found, wanted, "{}", fixture.name());
            told += 1;
        }
    }
    let recorded: usize = ["lmstudio", "generic", "derived"]
        .iter()
        .flat_map(|folder| Fixture::all(folder).unwrap())
        .filter(|fixture| fixture.tool_health.is_some())
        .count();
    assert_eq!((told, recorded), (27, 27));
}

/// A server whose native list is `list`, of whichever generation.
async fn probed(path: &'static str, list: Reply, model: &str) -> ToolHealth {
    let server = FakeServer::start(move |request| {
        if request.path == path {
            list.clone()
        } else {
            unexpected(request)
        }
    })
    .unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.model = Some(model.to_owned());
    HttpAdapter::new(settings, LmStudioService, http())
        .health_check(Timestamp::from_unix_seconds(0))
        .await
}

/// A proxy in front of it, or a later version, says of a path what others say of a model.
#[tokio::test]
async fn a_path_that_is_not_found_is_no_missing_model() {
    let list = json!({"data": [{"id": "tiny-coder"}]});
    let server = FakeServer::start(move |request| {
        if request.path == "/v1/models" {
            Reply::json(200, &list)
        } else {
            Reply::json(404, &json!({"error": format!("path {} not found", request.path)}))
        }
    })
    .unwrap();
    let health = make(Some(&server.url()), None)
        .health_check(Timestamp::from_unix_seconds(0))
        .await;
    assert_eq!(health.status, HealthStatus::Connected, "{}", health.details);
    assert_eq!(health.model.as_deref(), Some("tiny-coder"));
}

#[tokio::test]
async fn each_generation_of_its_lists_tells_the_model() {
    let coder = "qwen/qwen3-coder-30b";
    let cases = [
        (
            "/api/v1/models",
            "api_v1_models",
            "local-model",
            None,
            Some(32768),
        ),
        ("/api/v1/models", "api_v1_models", coder, None, Some(32768)),
        (
            "/api/v1/models",
            "api_v1_models_none_loaded",
            coder,
            Some("not-loaded"),
            None,
        ),
        ("/api/v0/models", "api_v0_models", "local-model", None, None),
        (
            "/api/v0/models",
            "api_v0_models_none_loaded",
            coder,
            Some("not-loaded"),
            None,
        ),
        ("/v1/models", "models_full", "local-model", None, None),
        ("/v1/models", "models_full", coder, None, None),
    ];
    for (path, case, model, detail, context) in cases {
        let health = probed(path, fixture(case), model).await;
        assert_eq!(
            health.status,
            HealthStatus::Connected,
            "{case}: {}",
            health.details
        );
        assert_eq!(health.model.as_deref(), Some(coder), "{case} {model}");
        assert_eq!(
            (health.detail.as_deref(), health.context_window),
            (detail, context),
            "{case} {model}"
        );
    }
    let health = probed("/api/v0/models", fixture("api_v0_models"), "other").await;
    assert_eq!(
        (health.status, health.detail.as_deref()),
        (HealthStatus::ModelMissing, Some("unknown-model"))
    );
    assert_eq!(health.models, [coder, "google/gemma-3-4b"]);
}

#[tokio::test]
async fn the_placeholder_is_never_sent() {
    let server = FakeServer::start(|request| match request.path.as_str() {
        "/api/v1/models" => fixture("api_v1_models"),
        "/v1/chat/completions" => fixture("run_chat_stream"),
        _ => unexpected(request),
    })
    .unwrap();
    let adapter = HttpAdapter::new(settings(Some(&server.url()), None), LmStudioService, http());
    let output = adapter
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
        .unwrap();
    assert_eq!(output.warnings, Vec::<String>::new());
    assert_eq!(
        server.requests().last().unwrap().json()["model"],
        "qwen/qwen3-coder-30b"
    );
}

#[tokio::test]
async fn a_stopped_server_is_told_with_what_to_do() {
    let url = agentos_testkit::server::closed_port().unwrap();
    let mut health = make(Some(&url), None)
        .health_check(Timestamp::from_unix_seconds(0))
        .await;
    health.latency_ms = 0;
    let port = url.rsplit(':').next().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&health).unwrap().replace(port, "PORT"), @r#"
    {
      "provider": "lmstudio",
      "status": "unreachable",
      "error_category": "network",
      "detail": "refused",
      "details": "`127.0.0.1:PORT` does not accept connections",
      "fix": "start the server in LM Studio (Developer page, or `lms server start`)",
      "next": [
        {
          "step": "name-base-url"
        }
      ],
      "endpoint": "127.0.0.1:PORT",
      "models": [],
      "latency_ms": 0,
      "checked_at": "1970-01-01T00:00:00.000Z"
    }
    "#);
}

#[tokio::test]
async fn a_task_that_does_not_fit_the_loaded_context_is_told_before_it_is_sent() {
    let list = |window: u64| {
        json!({"models": [{"type": "llm", "key": "qwen", "loaded_instances": [
            {"id": "qwen", "config": {"context_length": window}},
        ]}]})
    };
    let answer = json!({"choices": [{"message": {"content": "+a\n"}, "finish_reason": "stop"}]});
    for (model, window, sent) in [
        ("qwen", 2048, false),
        ("qwen", 32_768, true),
        ("local-model", 2048, false),
    ] {
        let answer = answer.clone();
        let server = FakeServer::start(move |request| match request.path.as_str() {
            "/api/v1/models" => Reply::json(200, &list(window)),
            _ => Reply::json(200, &answer),
        })
        .unwrap();
        let mut settings = settings(Some(&server.url()), None);
        settings.model = Some(model.to_owned());
        let mut task = task(Duration::from_secs(20));
        task.instruction = "Fix add(). ".repeat(2000);
        let output = HttpAdapter::new(settings, LmStudioService, http())
            .run(&task, &NoProgress)
            .await;
        let asked = server.requests().iter().any(|request| request.method == "POST");
        assert_eq!((asked, output.is_ok()), (sent, sent), "{model} {window}");
        if let Err(error) = output {
            insta::allow_duplicates! {
                insta::assert_snapshot!(format!("{}; {}", error.message.replace("model `qwen`", "the model"), error.advice.fix.unwrap()), @r"
                the task does not fit the context window of the model: the prompt has about 7522 tokens, but the loaded context only 2048; give fewer or smaller files, or load the model with `lms load MODEL --context-length 8192`
                ");
            }
        }
    }
}

#[tokio::test]
async fn a_context_that_is_known_is_not_asked_for_again() {
    let server = FakeServer::start(unexpected).unwrap();
    let mut settings = settings(Some(&server.url()), None);
    settings.model = Some("qwen".to_owned());
    let mut task = task(Duration::from_secs(20));
    task.instruction = "Fix add(). ".repeat(2000);
    task.limits.loaded_context = Some(2048);
    let output = HttpAdapter::new(settings, LmStudioService, http())
        .run(&task, &NoProgress)
        .await;
    assert_eq!(output.unwrap_err().detail, "context-length");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_offered_tool_goes_to_the_model_that_is_loaded() {
    let recorded = Fixture::load("lmstudio", "run_chat_tool_call")
        .unwrap()
        .response
        .body
        .unwrap();
    let server = FakeServer::start(move |request| match request.path.as_str() {
        "/api/v1/models" => fixture("api_v1_models"),
        "/v1/chat/completions" => Reply::json(200, &recorded),
        _ => unexpected(request),
    })
    .unwrap();
    let adapter = HttpAdapter::new(settings(Some(&server.url()), None), LmStudioService, http());
    let seen = adapter.offer_tool(20).await.unwrap().unwrap();
    assert_eq!(seen.outcome, OfferOutcome::OtherTool);
    let body = server.requests().last().unwrap().json();
    assert_eq!(body["tools"][0]["function"]["name"], "pick_fruit");
    assert_ne!(body["model"], "local-model");
}
