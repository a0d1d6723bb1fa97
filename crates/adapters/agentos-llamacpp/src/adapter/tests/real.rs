//! The adapter against a real llama.cpp server on loopback, with a model that always gives one answer. Where the
//! server is not installed these tests say so and check nothing.

use std::time::Duration;

use agentos_generic_http::{ANY_MODEL, HttpAdapter, OfferOutcome, ServerSettings, ToolCaller as _};
use agentos_net::{Deadline, HttpClient};
use agentos_openai::OpenAiService;
use agentos_testkit::contract::task;
use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_tool::{
    Adapter, Constrain, ContextFile, EditFormat, ExecutionMode, FinishReason, HealthStatus, NoProgress,
    Progress, ProgressSink, Secret, Timestamp, ToolTask,
};

use super::super::*;

const ANSWER: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1 @@\n-a - b é\n+a + b é\n";
const KEY: &str = "sk-local-0123456789abcdef";

fn settings(base: &str, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("llamacpp", ExecutionMode::Local);
    settings.base_url = Some(base.to_owned());
    settings.key = key.map(Secret::new);
    settings.max_tokens = Some(256);
    settings
}

fn http() -> HttpClient {
    HttpClient::new(agentos_net::NetConfig::default()).unwrap()
}

/// The same server through its native wire, its chat wire, and as any OpenAI-compatible server.
fn adapters(url: &str, key: Option<&str>) -> [(&'static str, Box<dyn Adapter>); 3] {
    let mut compatible = settings(&format!("{url}/v1"), key);
    compatible.model = Some(ANY_MODEL.to_owned());
    [
        (
            "native",
            Box::new(HttpAdapter::new(
                settings(url, key),
                LlamaCppService::new(LlamaCppMode::Completion),
                http(),
            )),
        ),
        (
            "chat",
            Box::new(HttpAdapter::new(
                settings(url, key),
                LlamaCppService::new(LlamaCppMode::OpenAi),
                http(),
            )),
        ),
        (
            "compatible",
            Box::new(HttpAdapter::new(
                compatible,
                OpenAiService::at_address(None),
                http(),
            )),
        ),
    ]
}

fn small_task() -> ToolTask {
    let mut task = task(Duration::from_secs(20));
    task.context.push(ContextFile {
        path: "src/lib.rs".to_owned(),
        content: "a - b é\n".to_owned(),
        part: None,
    });
    task
}

fn now() -> Timestamp {
    Timestamp::from_unix_seconds(0)
}

#[tokio::test]
async fn each_wire_gives_the_models_answer() {
    let options = LlamaOptions {
        answer: ANSWER,
        api_key: Some(KEY),
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    for (name, adapter) in adapters(server.url(), Some(KEY)) {
        let health = adapter.health_check(now()).await;
        assert_eq!(
            health.status,
            HealthStatus::Connected,
            "{name}: {}",
            health.details
        );
        assert_eq!(health.model.as_deref(), Some("tiny-coder"), "{name}");
        assert!(health.context_window.unwrap() >= 512, "{name}");

        let output = adapter.run(&small_task(), &NoProgress).await.unwrap();
        assert_eq!(
            (output.text.as_str(), output.finish),
            (ANSWER, FinishReason::Stop),
            "{name}"
        );
        assert_eq!(output.model_id.as_deref(), Some("tiny-coder"), "{name}");
        assert_eq!(output.warnings, Vec::<String>::new(), "{name}");
        let usage = output.usage.unwrap();
        assert!(
            usage.input_tokens.unwrap() > 10 && usage.output_tokens.unwrap() > 3,
            "{name}: {usage:?}"
        );
    }
}

#[tokio::test]
async fn a_wrong_key_a_missing_key_and_a_stopped_server_are_told() {
    let options = LlamaOptions {
        api_key: Some(KEY),
        ..LlamaOptions::default()
    };
    let Some(mut server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let wrong = Some("sk-local-wrong-0123456789");
    let cases = [
        (wrong, HealthStatus::InvalidToken),
        (None, HealthStatus::NotConfigured),
    ];
    for (key, status) in cases {
        for (name, adapter) in adapters(server.url(), key) {
            assert_eq!(adapter.health_check(now()).await.status, status, "{name}");
            let error = adapter.run(&small_task(), &NoProgress).await.unwrap_err();
            assert_eq!(error.health, Some(status), "{name}: {error}");
        }
    }
    let url = server.url().to_owned();
    server.stop();
    for (name, adapter) in adapters(&url, Some(KEY)) {
        let health = adapter.health_check(now()).await;
        assert_eq!(
            (health.status, health.detail.as_deref()),
            (HealthStatus::Unreachable, Some("refused")),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_limit_is_a_cut_answer_and_a_full_context_is_told() {
    let options = LlamaOptions {
        answer: ANSWER,
        server_args: &["--ctx-size", "2048"],
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let mut cut = small_task();
    cut.limits.max_output_tokens = Some(4);
    let mut long = small_task();
    long.instruction = "Fix add(). ".repeat(2000);
    for (name, adapter) in adapters(server.url(), None) {
        let output = adapter.run(&cut, &NoProgress).await.unwrap();
        assert_eq!(output.finish, FinishReason::Length, "{name}");
        assert!(ANSWER.starts_with(&output.text), "{name}");
        let error = adapter.run(&long, &NoProgress).await.unwrap_err();
        assert_eq!(error.detail, "context-length", "{name}: {error}");
    }
}

#[derive(Default)]
struct Begun(tokio::sync::Notify);

impl ProgressSink for Begun {
    fn progress(&self, progress: Progress) {
        if matches!(progress, Progress::Text(_)) {
            self.0.notify_one();
        }
    }
}

#[tokio::test]
async fn a_dropped_run_frees_the_slot() {
    let options = LlamaOptions {
        answer: ANSWER,
        model_args: &["--endless"],
        server_args: &["--parallel", "1"],
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let slots = HttpUrl::parse(server.url()).unwrap().join("slots");
    let probe = agentos_net::Request::get(slots, agentos_net::Auth::None);
    let mut task = small_task();
    task.limits.max_output_tokens = Some(1_000_000);
    for (name, adapter) in adapters(server.url(), None) {
        let begun = Begun::default();
        tokio::select! {
            ended = adapter.run(&task, &begun) => panic!("{name} ended by itself: {ended:?}"),
            () = begun.0.notified() => {}
        }
        let deadline = Deadline::after(Duration::from_secs(20));
        loop {
            let answer = http().send(&probe, &deadline).await.unwrap();
            let slots: Value = serde_json::from_slice(&answer.body).unwrap();
            if slots.pointer("/0/is_processing") == Some(&Value::Bool(false)) {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Starts a server whose model has random weights and writes noise. `None` if the server is not installed.
///
/// # Errors
/// If the server does not start.
fn start_noise() -> std::io::Result<Option<LlamaServer>> {
    LlamaServer::start(LlamaOptions {
        model_args: &["--kind", "random"],
        ..LlamaOptions::default()
    })
}

/// Nothing but the grammar makes an edit of the noise.
#[tokio::test]
async fn noise_under_a_grammar_is_an_edit_of_the_file() {
    let Some(server) = start_noise().unwrap() else {
        return;
    };
    let mut task = small_task();
    task.edit_format = EditFormat::SearchReplace;
    task.context = vec![ContextFile {
        path: "src/lib.rs".to_owned(),
        content: "fn a() {\n    1\n}\nfn b() {\n    2\n}\n".to_owned(),
        part: None,
    }];
    for mode in [LlamaCppMode::Completion, LlamaCppMode::OpenAi] {
        for seed in 0..4 {
            let mut settings = settings(server.url(), None);
            settings.constrain = Constrain::Grammar;
            settings.seed = Some(seed);
            settings.temperature = Some(1.0);
            settings.max_tokens = Some(400);
            let output = HttpAdapter::new(settings, LlamaCppService::new(mode), http())
                .run(&task, &NoProgress)
                .await
                .unwrap();
            let (head, rest) = output.text.split_once("=======\n").unwrap();
            let searched = head.strip_prefix("src/lib.rs\n<<<<<<< SEARCH\n").unwrap();
            assert!(
                !searched.is_empty() && task.context[0].content.contains(searched),
                "{}",
                output.text
            );
            assert!(rest.ends_with(">>>>>>> REPLACE\n"), "{}", output.text);
            assert_eq!(output.finish, FinishReason::Stop, "{mode:?} {seed}");
        }
    }
}

/// A model that calls the tool in the words of its template, one that hands over something else, and one that only talks.
#[tokio::test]
async fn an_offered_tool_is_called_by_a_model_that_can() {
    let call = |fruit: &str| {
        let call = format!("{{\"name\": \"pick_fruit\", \"arguments\": {{\"fruit\": \"{fruit}\"}}}}");
        format!("<tool_call>\n{call}\n</tool_call>")
    };
    let cases = [
        (call("orange"), OfferOutcome::Called),
        (call("cherry"), OfferOutcome::WrongArguments),
        (ANSWER.to_owned(), OfferOutcome::NotCalled),
    ];
    for (answer, outcome) in cases {
        let options = LlamaOptions {
            answer: &answer,
            ..LlamaOptions::default()
        };
        let Some(server) = LlamaServer::start(options).unwrap() else {
            return;
        };
        let adapter =
            |mode| HttpAdapter::new(settings(server.url(), None), LlamaCppService::new(mode), http());
        // `/completion` has no tools, so a request with one goes to the chat endpoint in both modes.
        for mode in [LlamaCppMode::OpenAi, LlamaCppMode::Completion] {
            let seen = adapter(mode).offer_tool(20).await.unwrap().unwrap();
            assert_eq!(seen.outcome, outcome, "{mode:?} {answer}");
        }
    }
}

/// Noise is no call: either it says something else, or the server cannot read it.
#[tokio::test]
async fn an_offered_tool_is_not_called_by_noise() {
    let Some(server) = start_noise().unwrap() else {
        return;
    };
    for seed in 0..8 {
        let mut settings = settings(server.url(), None);
        (settings.seed, settings.temperature) = (Some(seed), Some(1.0));
        let offered = HttpAdapter::new(settings, LlamaCppService::new(LlamaCppMode::OpenAi), http())
            .offer_tool(20)
            .await;
        match offered {
            Ok(seen) => {
                let outcome = seen.unwrap().outcome;
                assert!(
                    matches!(outcome, OfferOutcome::NotCalled | OfferOutcome::CutOff),
                    "{outcome:?}"
                );
            }
            Err(error) => assert_eq!(error.detail, "server-error", "{error}"),
        }
    }
}

/// An answer that ends by itself is edits in JSON, whatever they contain. One that is cut off is reported as cut off. On its
/// chat wire the server itself refuses noise around the answer, and then there is none.
#[tokio::test]
async fn noise_under_a_schema_has_its_shape() {
    let Some(server) = start_noise().unwrap() else {
        return;
    };
    let mut task = small_task();
    task.edit_format = EditFormat::JsonEdits;
    for mode in [LlamaCppMode::Completion, LlamaCppMode::OpenAi] {
        let mut whole = 0;
        for seed in 0..8 {
            let mut settings = settings(server.url(), None);
            settings.constrain = Constrain::JsonSchema;
            settings.seed = Some(seed);
            settings.temperature = Some(1.0);
            settings.max_tokens = Some(400);
            let answer = HttpAdapter::new(settings, LlamaCppService::new(mode), http())
                .run(&task, &NoProgress)
                .await;
            let output = match answer {
                Ok(output) => output,
                Err(error) => {
                    assert_eq!(
                        (mode, error.detail.as_str()),
                        (LlamaCppMode::OpenAi, "broken-stream"),
                        "{error}"
                    );
                    continue;
                }
            };
            let text = output.text.trim();
            assert!(text.starts_with('{'), "{mode:?} {seed}: {text}");
            if output.finish != FinishReason::Stop {
                assert_eq!(output.finish, FinishReason::Length, "{mode:?} {seed}: {text}");
                continue;
            }
            whole += 1;
            let edits: Value = serde_json::from_str(text).unwrap();
            let keys: Vec<&String> = edits.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["edits"], "{mode:?} {seed}: {text}");
            for edit in edits["edits"].as_array().unwrap() {
                let parts = ["path", "search", "replace"].map(|part| edit[part].is_string());
                assert_eq!(parts, [true; 3], "{mode:?} {seed}: {text}");
            }
        }
        assert!(whole > 0, "{mode:?}: all were cut");
    }
}
