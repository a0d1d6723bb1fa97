//! The adapter against recorded answers and against the contract of all adapters.

use std::time::Duration;

use agentos_generic_http::{
    HttpAdapter, ModelRequest, OfferOutcome, ServerSettings, ToolCaller as _, Wire as _,
};
use agentos_model::edit_request;
use agentos_net::HttpClient;
use agentos_net::NetConfig;
use agentos_testkit::contract::{DIFF, EVENT_STREAM, Subject, state_of, task};
use agentos_testkit::server::{FakeServer, Reply};
use agentos_testkit::wire::Fixture;
use agentos_tool::{
    Adapter, Constrain, EditFormat, ExecutionMode, FinishReason, NoProgress, Secret, ToolError, ToolOutput,
    ToolTask,
};
use serde_json::json;

use super::*;

fn settings(root: Option<&str>, key: Option<&str>) -> ServerSettings {
    let mut settings = ServerSettings::new("anthropic", ExecutionMode::Cloud);
    settings.base_url = root.map(str::to_owned);
    settings.model = Some("claude-sonnet-4-5".to_owned());
    settings.key = key.map(Secret::new);
    settings.probe_timeout = Duration::from_millis(500);
    settings
}

fn adapter(settings: ServerSettings) -> HttpAdapter<AnthropicService> {
    let config = NetConfig {
        max_body_bytes: 1 << 20,
        ..NetConfig::default()
    };
    HttpAdapter::new(settings, AnthropicService, HttpClient::new(config).unwrap())
}

fn make(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(adapter(settings(root, key)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds() {
    let delta =
        |text: &str| json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let whole = json!({"type": "message", "content": [{"type": "text", "text": "+a\n+b\n"}], "stop_reason": "end_turn"});
    let events = [delta("+a\n"), delta("+b\n"), end, json!({"type": "message_stop"})];
    let subject = Subject {
        make,
        run_path: "/v1/messages",
        events: events.map(|event| event.to_string()).to_vec(),
        whole: whole.to_string(),
        text: "+a\n+b\n",
        key_header: ("x-api-key", ""),
        content_type: EVENT_STREAM,
        side: |_| Reply::json(404, &json!({"error": "no such route"})),
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_state_is_told() {
    let mut told = 0;
    for fixture in Fixture::all("anthropic").unwrap() {
        let Some(wanted) = &fixture.tool_health else {
            continue;
        };
        let model = fixture.request.path.strip_prefix("/v1/models/");
        let make = |root: &str, key: Option<&str>| -> Box<dyn Adapter> {
            let mut settings = settings(Some(root), key);
            settings.model = Some(model.unwrap_or("claude-opus-4-6").to_owned());
            settings.retries = 0;
            Box::new(adapter(settings))
        };
        let side = |_: &agentos_testkit::server::Recorded| Reply::json(500, &json!({}));
        let found = state_of(&fixture, make, &[], side).await.unwrap();
        assert_eq!(&found, wanted, "{}", fixture.name());
        told += 1;
    }
    assert_eq!(told, 13);
}

async fn played(case: &str) -> Result<ToolOutput, ToolError> {
    replied(Fixture::load("anthropic", case).unwrap().reply()).await
}

async fn replied(reply: Reply) -> Result<ToolOutput, ToolError> {
    let server = FakeServer::start(move |_| reply.clone()).unwrap();
    let mut settings = settings(Some(&server.url()), Some("sk-ant-fake0123456789"));
    settings.retries = 0;
    adapter(settings).run(&long_task(), &NoProgress).await
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
        ("run_messages", Stop, Some(DIFF)),
        ("run_messages_stream", Stop, Some(DIFF)),
        ("run_messages_thinking", Stop, Some(DIFF)),
        ("run_messages_thinking_stream", Stop, Some(DIFF)),
        ("run_messages_cached", Stop, Some(DIFF)),
        ("run_messages_json", Stop, None),
        ("run_messages_max_tokens", Length, None),
        ("run_messages_context_exceeded", Length, None),
        ("run_messages_refusal", ContentFilter, Some("")),
        ("run_messages_tool_use", ToolCalls, None),
        ("run_messages_tool_use_stream", ToolCalls, None),
    ];
    for (case, finish, text) in cases {
        let output = played(case)
            .await
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(output.finish, finish, "{case}");
        assert!(text.is_none_or(|text| output.text == text), "{case}: {output:?}");
        // Only an end that no setting of the request can move has words of its own.
        let is_window_full = output
            .warnings
            .iter()
            .any(|warning| warning.contains("window is full"));
        assert_eq!(
            (output.warnings.len(), is_window_full),
            match case {
                "run_messages_context_exceeded" => (1, true),
                _ => (0, false),
            },
            "{case}"
        );
    }
}

#[tokio::test]
async fn broken_answers_are_none() {
    let cases = [
        ("error_midstream", "broken-stream"),
        ("error_413", "context-length"),
        ("error_billing", "quota"),
        ("error_spend_cap", "quota"),
        ("error_spend_limit_own", "quota"),
        ("error_rate_limit", "rate-limited"),
        ("error_overloaded", "overloaded"),
        ("error_temperature_deprecated", "rejected"),
        ("error_no_version", "rejected"),
    ];
    for (case, detail) in cases {
        let error = played(case).await.expect_err(case);
        assert_eq!(error.detail, detail, "{case}: {error}");
    }
}

#[tokio::test]
async fn a_stream_without_its_last_event_is_no_answer() {
    let events = ["content_block_delta", "message_delta", "message_stop"]
        .map(|kind| json!({"type": kind, "delta": {"stop_reason": "end_turn", "type": "text_delta", "text": "+a"}}));
    for (count, whole) in [(2, false), (3, true)] {
        let body: String = events
            .iter()
            .take(count)
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        let server = FakeServer::start(move |_| {
            Reply::http(200, &[("content-type", "text/event-stream")], body.as_bytes())
        })
        .unwrap();
        let answer = make(Some(&server.url()), None)
            .run(&task(Duration::from_secs(20)), &NoProgress)
            .await;
        assert_eq!(answer.is_ok(), whole, "{answer:?}");
    }
}

// The stream begins with one token of the answer, and its true number comes with the end.
#[tokio::test]
async fn an_answer_that_repeats_itself_is_a_failure_without_counts() {
    let start =
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}});
    let sentence = "The answer is applied by another program.\n";
    let delta = json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": sentence}});
    let pieces = std::iter::once(start).chain(std::iter::repeat_n(delta, 150));
    let body: String = pieces.map(|event| format!("data: {event}\n\n")).collect();
    let stream = Reply::http(200, &[("content-type", "text/event-stream")], body.as_bytes());
    let error = replied(stream).await.unwrap_err();
    assert_eq!(error.detail, "endless-answer", "{error}");
    assert!(
        error.advice.next.is_empty() && error.advice.fix.is_some_and(|fix| fix.contains("another model"))
    );
}

#[tokio::test]
async fn cached_input_is_a_part_of_the_input() {
    let usage = played("run_messages_cached").await.unwrap().usage.unwrap();
    assert!(
        usage.input_tokens > usage.cached_tokens && usage.cached_tokens > Some(0),
        "{usage:?}"
    );
    assert!(usage.cache_write_tokens.is_some(), "{usage:?}");
    let usage = played("run_messages_stream").await.unwrap().usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(24), Some(61)));
}

#[test]
fn the_request_says_what_was_set_and_no_more() {
    let mut task = task(Duration::from_secs(1));
    let body = |task: &ToolTask, temperature| {
        let chat = edit_request(task, Constrain::JsonSchema);
        MessagesWire.build_request(&ModelRequest {
            chat: &chat,
            messages: &chat.messages,
            stable_messages: 0,
            stream: true,
            model: Some("claude"),
            max_tokens: None,
            temperature,
            top_p: None,
            seed: None,
            stop: &[],
            thinking: None,
        })
    };
    let plain = body(&task, None);
    let keys: Vec<&str> = plain.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["max_tokens", "messages", "model", "stream", "system"]);
    task.edit_format = EditFormat::JsonEdits;
    let held = body(&task, Some(0.5));
    assert_eq!(held["temperature"], 0.5);
    assert_eq!(held["output_config"]["format"]["type"], "json_schema");
}

#[tokio::test]
async fn an_offered_tool_is_in_the_request_and_its_call_in_the_answer() {
    let recorded = Fixture::load("anthropic", "run_messages_tool_use").unwrap();
    let mut called = recorded.response.body.clone().unwrap();
    called["content"][1]["name"] = json!("pick_fruit");
    called["content"][1]["input"] = json!({"fruit": "orange"});
    let cases = [
        (called, OfferOutcome::Called),
        (recorded.response.body.unwrap(), OfferOutcome::OtherTool),
        (
            Fixture::load("anthropic", "run_messages")
                .unwrap()
                .response
                .body
                .unwrap(),
            OfferOutcome::NotCalled,
        ),
        (
            Fixture::load("anthropic", "run_messages_max_tokens")
                .unwrap()
                .response
                .body
                .unwrap(),
            OfferOutcome::CutOff,
        ),
    ];
    for (answer, outcome) in cases {
        let server = FakeServer::start(move |_| Reply::json(200, &answer)).unwrap();
        let settings = settings(Some(&server.url()), Some("sk-ant-fake0123456789"));
        let seen = adapter(settings).offer_tool(20).await.unwrap().unwrap();
        assert_eq!(seen.outcome, outcome);
        assert!(seen.usage.unwrap().output_tokens.is_some());
        let body = server.requests().remove(0).json();
        let keys: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["max_tokens", "messages", "model", "tools"]);
        assert_eq!(body["tools"][0]["input_schema"]["required"], json!(["fruit"]));
    }
}

/// Of whoever speaks this wire, beside a plain reading of the documents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_run_is_read() {
    let mut told = 0;
    let folders = ["anthropic", "litellm", "llamacpp"];
    for fixture in folders.iter().flat_map(|folder| Fixture::all(folder).unwrap()) {
        if fixture.request.path != "/v1/messages" || !fixture.case.starts_with("run_") {
            continue;
        }
        let (mut text, mut end, mut counted) = (String::new(), None, None);
        for document in fixture.documents() {
            let parts = document["content"].as_array().into_iter().flatten();
            let parts = parts.chain([&document["content_block"], &document["delta"]]);
            text.extend(parts.filter_map(|part| part["text"].as_str()));
            let delta = &document["delta"]["stop_reason"];
            end = document["stop_reason"]
                .as_str()
                .or(delta.as_str())
                .map(str::to_owned)
                .or(end);
            let usage = [&document["usage"], &document["message"]["usage"]];
            counted = usage
                .iter()
                .find_map(|usage| usage["output_tokens"].as_u64())
                .or(counted);
        }
        let finish = match end.as_deref() {
            Some("end_turn" | "stop_sequence") => FinishReason::Stop,
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("tool_use") => FinishReason::ToolCalls,
            Some("refusal") => FinishReason::ContentFilter,
            other => panic!("{}: {other:?}", fixture.name()),
        };
        let output = replied(fixture.reply())
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", fixture.name()));
        let output_tokens = output.usage.and_then(|usage| usage.output_tokens);
        assert_eq!(
            (output.text, output.finish, output_tokens),
            (text, finish, counted),
            "{}",
            fixture.name()
        );
        told += 1;
    }
    assert_eq!(told, 22);
    let cut = Fixture::load("llamacpp", "error_midstream_messages").unwrap();
    assert_eq!(replied(cut.reply()).await.unwrap_err().detail, "broken-stream");
}

#[tokio::test]
async fn odd_answers_of_real_servers_are_read() {
    let table = agentos_testkit::oddities::replay_wire("anthropic", "/messages", |root| {
        let mut settings = settings(Some(root), None);
        settings.retries = 0;
        Box::new(adapter(settings))
    });
    insta::assert_snapshot!(table.await.unwrap(), @r#"
    anthropic/overloaded-first: [overloaded] `127.0.0.1:PORT` is overloaded: Overloaded
    anthropic/paused: [no-answer] the answer of `127.0.0.1:PORT` is empty: the answer has no text; the server gave `pause_turn` as the reason for its end
    anthropic/pings: "Hello"
    anthropic/window-is-full: "Hello" (the context window is full (`model_context_window_exceeded`): shorten the conversation, or give fewer or smaller files; a higher limit on the answer does not help)
    "#);
}
