//! The adapter with a wire of its own against the contract of all adapters.

use agentos_model::{ChatPiece, flatten_messages};
use agentos_net::HttpClient;
use std::time::Duration;

use agentos_testkit::contract::{BEARER, EVENT_STREAM, Subject, task};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use agentos_tool::{Adapter, ExecutionMode, FinishReason, HealthStatus, ProgressSink, Secret, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::{AnswerPiece, HttpAdapter, ServerSettings};

/// A made-up wire: one text in, one text out.
struct TextWire;

impl Wire for TextWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        json!({"input": flatten_messages(job.messages), "limit": job.max_tokens, "stream": true})
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let text = body.get("output").and_then(Value::as_str).ok_or(Reason::Fields)?;
        let done = body.get("done").and_then(Value::as_bool) == Some(true);
        Ok(AnswerPiece {
            content: ChatPiece::from_text(text),
            finish: done.then_some(FinishReason::Stop),
            ..AnswerPiece::default()
        })
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        self.read_answer(event)
    }
}

fn make(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    Box::new(adapter(root, key))
}

fn adapter(root: Option<&str>, key: Option<&str>) -> HttpAdapter<PlainServer> {
    let mut settings = ServerSettings::new("generic", ExecutionMode::Local);
    settings.base_url = root.map(str::to_owned);
    settings.key = key.map(Secret::new);
    settings.probe_timeout = Duration::from_millis(500);
    let config = agentos_net::NetConfig {
        max_body_bytes: 1 << 20,
        ..Default::default()
    };
    let http = HttpClient::new(config).unwrap();
    HttpAdapter::new(
        settings,
        PlainServer::new("api/generate", Arc::new(TextWire)),
        http,
    )
}

#[test]
fn a_cause_is_cleaned_of_the_key_like_every_word_of_a_server() {
    const KEY: &str = "sk-local-0123456789abcdef";
    let adapter = adapter(None, Some(KEY));
    let fault = Fault {
        causes: vec![format!("connect error with {KEY}"), "refused".to_owned()],
        ..Fault::from(Reason::Refused)
    };
    let server = adapter.server();
    let error = server.run_error(&fault, &server.run_deadline(5));
    assert_eq!(error.causes, ["connect error with ***", "refused"]);
}

fn not_found(_: &Recorded) -> Reply {
    Reply::json(404, &json!({"error": "not found"}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_for_any_wire() {
    let subject = Subject {
        make,
        run_path: "/api/generate",
        events: vec![
            json!({"output": "+a\n"}).to_string(),
            json!({"output": "+b\n", "done": true}).to_string(),
        ],
        whole: json!({"output": "+a\n+b\n", "done": true}).to_string(),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: EVENT_STREAM,
        side: not_found,
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

#[tokio::test]
async fn health_is_the_health_path_and_one_probe() {
    let ok = json!({"status": "ok"});
    let answer = json!({"output": "ok"});
    let cases = [
        ("both answer", (200, &ok), (200, &answer), HealthStatus::Connected),
        (
            "no health path",
            (404, &ok),
            (200, &answer),
            HealthStatus::Connected,
        ),
        (
            "another wire behind a good health path",
            (200, &ok),
            (200, &ok),
            HealthStatus::SchemaMismatch,
        ),
        (
            "still loading",
            (503, &ok),
            (200, &answer),
            HealthStatus::Unreachable,
        ),
        (
            "the key is refused",
            (401, &ok),
            (200, &answer),
            HealthStatus::InvalidToken,
        ),
    ];
    for (name, health, run, status) in cases {
        let (health, run) = (Reply::json(health.0, health.1), Reply::json(run.0, run.1));
        let server = FakeServer::start(move |request| {
            if request.path == "/health" {
                health.clone()
            } else {
                run.clone()
            }
        })
        .unwrap();
        let adapter = make(Some(&server.url()), Some("sk-local-0123456789"));
        let found = adapter.health_check(Timestamp::from_unix_seconds(0)).await;
        assert_eq!(found.status, status, "{name}: {}", found.details);
        for request in server
            .requests()
            .iter()
            .filter(|request| request.method == "POST")
        {
            assert_eq!(
                (&request.json()["limit"], &request.json()["stream"]),
                (&json!(1), &json!(false))
            );
        }
    }
}

#[tokio::test]
async fn what_was_asked_again_is_told_while_it_happens() {
    #[derive(Default)]
    struct Seen(std::sync::Mutex<Vec<String>>);
    impl ProgressSink for Seen {
        fn progress(&self, progress: agentos_tool::Progress) {
            let word = match progress {
                agentos_tool::Progress::Text(text) => format!("text: {text}"),
                agentos_tool::Progress::Note(note) => format!("note: {note}"),
                agentos_tool::Progress::Transcript(text) => format!("transcript: {text}"),
                agentos_tool::Progress::Read(read) => format!("read: {}", read.path),
                agentos_tool::Progress::Called(call) => format!("called: {}", call.name),
                agentos_tool::Progress::Viewed(view) => format!("viewed: {}", view.commit),
            };
            self.0.lock().unwrap().push(word);
        }
    }
    let tries = std::sync::atomic::AtomicU32::new(0);
    let server = FakeServer::start(move |_| {
        if tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            Reply::http(429, &[("retry-after", "0")], b"{}")
        } else {
            Reply::json(200, &json!({"output": "ok", "done": true}))
        }
    })
    .unwrap();
    let seen = Seen::default();
    let adapter = make(Some(&server.url()), None);
    adapter.run(&task(Duration::from_secs(20)), &seen).await.unwrap();
    let at = format!("127.0.0.1:{}", server.port());
    let note = format!(
        "note: `{at}` accepts the key, but limits the rate of requests; sending again in 0 s (1 of 3)"
    );
    assert_eq!(*seen.0.lock().unwrap(), [note, "text: ok".to_owned()]);
}

#[tokio::test]
async fn a_key_in_quotes_is_noticed_and_not_sent() {
    let server = FakeServer::start(not_found).unwrap();
    for key in ["\"sk-local-0123456789\"", "'sk-local-0123456789'"] {
        let health = make(Some(&server.url()), Some(key))
            .health_check(Timestamp::from_unix_seconds(0))
            .await;
        assert_eq!(health.detail.as_deref(), Some("bad-key"));
        assert_eq!(
            health.details,
            "the key begins and ends with a quotation mark; give the key without them"
        );
    }
    assert_eq!(server.requests().len(), 0);
}
