//! What every HTTP adapter has to do on the wire, as one list of checks against a fake server.
//!
//! Owns: the checks. Never: knows an adapter's wire; each brings its own good answer.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use agentos_tool::{
    Adapter, EditFormat, ErrorCategory, FinishReason, HealthStatus, NoProgress, Progress, ProgressSink,
    RunId, TaskLimits, Timestamp, ToolError, ToolFailure, ToolOutput, ToolTask,
};
use serde_json::json;

use crate::server::{FakeServer, Recorded, Reply, closed_port, head};
use crate::wire::Fixture;

mod health;
mod table;

/// The key every check sends. A fake.
pub const KEY: &str = "sk-local-contract0123456789";
/// Longer than anything here takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The usual header of a key.
pub const BEARER: (&str, &str) = ("authorization", "Bearer ");
/// Server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// Content type of a stream with one JSON document on each line.
pub const JSON_LINES: &str = "application/x-ndjson";

/// An answer of one line that changes.
pub const DIFF: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i32, b: i32) -> i32 {\n-    a - b\n+    a + b\n }\n";

/// Returns the root of a wire that lies below `/v1` of a server; what is no URL stays as it is.
#[must_use]
pub fn below_v1(root: &str) -> String {
    let below = if root.starts_with("http:") { "/v1" } else { "" };
    format!("{root}{below}")
}

/// Adapter under test, with the answers of its server.
pub struct Subject {
    /// Makes the adapter for a server's root (`http://127.0.0.1:PORT`, none where no address is set) and a key.
    pub make: fn(Option<&str>, Option<&str>) -> Box<dyn Adapter>,
    /// The path a task is sent to.
    pub run_path: &'static str,
    /// The data of the events of one good streamed answer: the line `+a` in the first, `+b` in the second.
    pub events: Vec<String>,
    /// Answer of `events` as one JSON document.
    pub whole: String,
    /// The answer's text.
    pub text: &'static str,
    /// The header in which the key travels, and what stands before it there.
    pub key_header: (&'static str, &'static str),
    /// Content type of the stream: [`EVENT_STREAM`] or [`JSON_LINES`].
    pub content_type: &'static str,
    /// Answers of the other paths of a healthy server.
    pub side: fn(&Recorded) -> Reply,
}

impl Subject {
    /// Runs every check; what does not hold comes back in words. Must run inside a runtime of several threads.
    pub async fn violations(&self) -> Vec<String> {
        let checks = [
            (
                "a stream is read and the key is only in its header",
                self.stream_and_key().await,
            ),
            ("JSON in place of a stream is read", self.whole().await),
            ("a stream without its end is no answer", self.cut_stream().await),
            (
                "an error inside status 200 is an error",
                self.error_in_success().await,
            ),
            ("a redirect is not followed", self.redirect().await),
            ("a body has a cap", self.flood().await),
            ("a run has a time limit", self.time_limit().await),
            ("a dropped run hangs up", self.cancel().await),
            (
                "a refused key is reported and not repeated",
                self.refused_key().await,
            ),
            ("a repeated key is never passed on", self.repeated_key().await),
            ("a closed port is reported at once", self.closed_port().await),
            ("only failures that pass are asked again", self.retries().await),
            ("a connection that is reset is made again", self.reset().await),
            ("a probe has a time limit", self.hanging_probe().await),
            ("without an address nothing is sent", self.no_address().await),
            ("another service is never connected", self.other_service().await),
            (
                "every row of the health table is reported",
                self.health_table().await,
            ),
            ("a date to retry after is kept", self.retry_date().await),
        ];
        checks
            .into_iter()
            .filter_map(|(name, result)| Some(format!("{name}: {}", result.err()?)))
            .collect()
    }

    fn server(&self, run: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Result<FakeServer, String> {
        let (path, side) = (self.run_path, self.side);
        let answer = move |request: &Recorded| {
            if request.path == path {
                run(request)
            } else {
                side(request)
            }
        };
        FakeServer::start(answer).map_err(|error| error.to_string())
    }

    fn stream(&self, events: usize) -> Vec<u8> {
        let mut bytes = head(200, &[("content-type", self.content_type)], None);
        for event in self.events.iter().take(events) {
            let event = if self.content_type == JSON_LINES {
                format!("{event}\n")
            } else {
                format!("data: {event}\n\n")
            };
            bytes.extend_from_slice(event.as_bytes());
        }
        bytes
    }

    async fn run(&self, url: &str) -> Result<ToolOutput, ToolError> {
        (self.make)(Some(url), Some(KEY))
            .run(&task(PATIENCE), &NoProgress)
            .await
    }

    async fn stream_and_key(&self) -> Result<(), String> {
        let bytes = self.stream(usize::MAX);
        let server = self.server(move |_| Reply::Bytes(bytes.clone()))?;
        let output = self.run(&server.url()).await.map_err(|error| error.to_string())?;
        equal("text", output.text.as_str(), self.text)?;
        equal("finish", output.finish, FinishReason::Stop)?;
        for request in server.requests() {
            equal(
                "the key's header",
                request.header(self.key_header.0),
                Some(format!("{}{KEY}", self.key_header.1).as_str()),
            )?;
            let elsewhere = request.path.contains(KEY)
                || String::from_utf8_lossy(&request.body).contains(KEY)
                || request
                    .headers
                    .iter()
                    .filter(|(_, value)| value.contains(KEY))
                    .count()
                    > 1;
            equal("key elsewhere", elsewhere, false)?;
        }
        Ok(())
    }

    async fn whole(&self) -> Result<(), String> {
        let body = self.whole.clone();
        let server =
            self.server(move |_| Reply::http(200, &[("content-type", "application/json")], body.as_bytes()))?;
        let output = self.run(&server.url()).await.map_err(|error| error.to_string())?;
        equal("text", output.text.as_str(), self.text)
    }

    async fn cut_stream(&self) -> Result<(), String> {
        let bytes = self.stream(1);
        let server = self.server(move |_| Reply::Bytes(bytes.clone()))?;
        let error = failed(self.run(&server.url()).await)?;
        equal("detail", error.detail.as_str(), "broken-stream")?;
        equal("requests", self.asked(&server), 1)
    }

    async fn error_in_success(&self) -> Result<(), String> {
        let server =
            self.server(|_| Reply::json(200, &json!({"error": "Unexpected endpoint or method."})))?;
        let error = failed(self.run(&server.url()).await)?;
        equal("health", error.health, Some(HealthStatus::SchemaMismatch))?;
        equal("category", error.category, ErrorCategory::Schema)
    }

    async fn redirect(&self) -> Result<(), String> {
        let bytes = self.stream(usize::MAX);
        let elsewhere =
            FakeServer::start(move |_| Reply::Bytes(bytes.clone())).map_err(|error| error.to_string())?;
        let target = format!("{}{}", elsewhere.url(), self.run_path);
        let server = self.server(move |_| Reply::http(307, &[("location", &target)], b""))?;
        let error = failed(self.run(&server.url()).await)?;
        equal("detail", error.detail.as_str(), "redirect")?;
        equal("requests elsewhere", elsewhere.requests().len(), 0)
    }

    async fn flood(&self) -> Result<(), String> {
        let start = head(200, &[("content-type", "application/json")], None);
        let server = self.server(move |_| Reply::Flood(start.clone(), vec![b' '; 1 << 16]))?;
        let error = failed(self.run(&server.url()).await)?;
        equal("detail", error.detail.as_str(), "too-large")
    }

    async fn time_limit(&self) -> Result<(), String> {
        let bytes = self.stream(1);
        let server = self.server(move |_| Reply::Hang(bytes.clone()))?;
        let adapter = (self.make)(Some(&server.url()), Some(KEY));
        let error = failed(adapter.run(&task(Duration::from_secs(1)), &NoProgress).await)?;
        equal("failure", error.failure, ToolFailure::Timeout)?;
        equal("detail", error.detail.as_str(), "read-timeout")?;
        equal("hung up", server.saw_hang_up(PATIENCE), true)
    }

    async fn cancel(&self) -> Result<(), String> {
        let bytes = self.stream(1);
        let server = self.server(move |_| Reply::Hang(bytes.clone()))?;
        let adapter = (self.make)(Some(&server.url()), Some(KEY));
        let (task, sink) = (task(PATIENCE), FirstText::default());
        let mut run = adapter.run(&task, &sink);
        let ended = poll_fn(|context| match run.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending if sink.seen.load(Ordering::SeqCst) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await;
        equal("ended by itself", ended.is_some(), false)?;
        drop(run);
        equal("hung up", server.saw_hang_up(PATIENCE), true)
    }

    async fn refused_key(&self) -> Result<(), String> {
        let echo = json!({"error": {"message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key"}});
        let server = self.server(move |_| Reply::json(401, &echo))?;
        let error = failed(self.run(&server.url()).await)?;
        equal("health", error.health, Some(HealthStatus::InvalidToken))?;
        equal("category", error.category, ErrorCategory::Auth)?;
        equal("key in the error", format!("{error:?}").contains(KEY), false)?;
        Ok(())
    }

    /// In an error's words, also where they are cut, and in an answer, also where it comes in two pieces.
    async fn repeated_key(&self) -> Result<(), String> {
        let start: String = KEY.chars().take(8).collect();
        for (status, before) in [(400, 0), (200, 0), (501, 0), (400, 290), (200, 299), (501, 280)] {
            let words = format!("{}{KEY} asked too much", "x".repeat(before));
            let echo = json!({"error": {"message": words}});
            let server = self
                .server(move |_| Reply::http(status, &[("retry-after", "0")], echo.to_string().as_bytes()))?;
            let error = failed(self.run(&server.url()).await)?;
            equal("key in the error", format!("{error:?}").contains(&start), false)?;
        }
        let end: String = KEY.chars().skip(8).collect();
        let split = self.good_with(&start, &end).stream(usize::MAX);
        let whole = self.good_with(KEY, "").whole;
        for reply in [
            Reply::Bytes(split),
            Reply::http(200, &[("content-type", "application/json")], whole.as_bytes()),
        ] {
            let server = self.server(move |_| reply.clone())?;
            let (task, sink) = (task(PATIENCE), FirstText::default());
            let adapter = (self.make)(Some(&server.url()), Some(KEY));
            let error = failed(adapter.run(&task, &sink).await)?;
            equal("detail", error.detail.as_str(), "key-in-answer")?;
            equal("category", error.category, ErrorCategory::Runtime)?;
            equal("key in the error", format!("{error:?}").contains(&start), false)?;
            equal(
                "a part of the key is shown",
                sink.seen.load(Ordering::SeqCst),
                false,
            )?;
        }
        Ok(())
    }

    /// Returns the subject with other words in place of the two lines of its answer.
    fn good_with(&self, first: &str, second: &str) -> Self {
        let changed = |text: &String| text.replace(r"+a\n", first).replace(r"+b\n", second);
        Self {
            events: self.events.iter().map(changed).collect(),
            whole: changed(&self.whole),
            ..*self
        }
    }

    async fn closed_port(&self) -> Result<(), String> {
        let url = closed_port().map_err(|error| error.to_string())?;
        let error = failed(self.run(&url).await)?;
        equal("failure", error.failure, ToolFailure::Failed)?;
        equal("detail", error.detail.as_str(), "refused")?;
        let health = (self.make)(Some(&url), Some(KEY)).health_check(now()).await;
        equal("status", health.status, HealthStatus::Unreachable)?;
        equal("detail", health.detail.as_deref(), Some("refused"))?;
        equal("what to do", health.says_next(), true)
    }

    async fn retries(&self) -> Result<(), String> {
        for (status, wanted) in [
            (503, 4),
            (500, 4),
            (429, 4),
            (408, 4),
            (409, 4),
            (400, 1),
            (402, 1),
        ] {
            let server = self.server(move |_| {
                Reply::http(
                    status,
                    &[("content-type", "application/json"), ("retry-after", "0")],
                    b"{}",
                )
            })?;
            failed(self.run(&server.url()).await)?;
            equal(&format!("requests at {status}"), self.asked(&server), wanted)?;
        }
        let (bytes, busy) = (self.stream(usize::MAX), AtomicBool::new(true));
        let server = self.server(move |_| {
            if busy.swap(false, Ordering::SeqCst) {
                Reply::http(503, &[("retry-after", "0")], b"busy")
            } else {
                Reply::Bytes(bytes.clone())
            }
        })?;
        let output = self.run(&server.url()).await.map_err(|error| error.to_string())?;
        equal("text", output.text.as_str(), self.text)?;
        equal("warnings", output.warnings.len(), 1)
    }

    /// Resets the connection before an answer. A request whose answer has begun is not sent again.
    async fn reset(&self) -> Result<(), String> {
        let (bytes, fresh) = (self.stream(usize::MAX), AtomicBool::new(true));
        let server = self.server(move |_| {
            if fresh.swap(false, Ordering::SeqCst) {
                Reply::Bytes(Vec::new())
            } else {
                Reply::Bytes(bytes.clone())
            }
        })?;
        let output = self.run(&server.url()).await.map_err(|error| error.to_string())?;
        equal("text", output.text.as_str(), self.text)?;
        equal("warnings", output.warnings.len(), 1)?;
        let cut = head(200, &[("content-type", "application/json")], Some(99));
        let server = self.server(move |_| Reply::Bytes(cut.clone()))?;
        let error = failed(self.run(&server.url()).await)?;
        equal("detail", error.detail.as_str(), "closed")?;
        equal("requests", self.asked(&server), 1)
    }

    async fn retry_date(&self) -> Result<(), String> {
        let (bytes, busy) = (self.stream(usize::MAX), AtomicBool::new(true));
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        let server = self.server(move |_| {
            if busy.swap(false, Ordering::SeqCst) {
                Reply::http(429, &[("date", date), ("retry-after", date)], b"{}")
            } else {
                Reply::Bytes(bytes.clone())
            }
        })?;
        let output = self.run(&server.url()).await.map_err(|error| error.to_string())?;
        equal("warnings", output.warnings.len(), 1)
    }

    fn asked(&self, server: &FakeServer) -> usize {
        server
            .requests()
            .iter()
            .filter(|request| request.path == self.run_path)
            .count()
    }
}

/// The health state an adapter reports when `fixture` is played on the paths `stands_for`, and `side` on all
/// others: by a run where the recording is one of a run, else by a probe.
///
/// # Errors
/// When there is no free port.
pub async fn state_of(
    fixture: &Fixture,
    make: impl Fn(&str, Option<&str>) -> Box<dyn Adapter>,
    stands_for: &'static [&'static str],
    side: fn(&Recorded) -> Reply,
) -> io::Result<String> {
    let reply = fixture.reply();
    let server = FakeServer::start(move |request| {
        let played = stands_for.is_empty() || stands_for.contains(&request.path.as_str());
        if played { reply.clone() } else { side(request) }
    })?;
    let adapter = make(&server.url(), fixture.key());
    if fixture.request.method == "GET" || fixture.request.path == "/api/show" {
        return Ok(adapter.health_check(now()).await.status.to_string());
    }
    let state = match adapter.run(&task(PATIENCE), &NoProgress).await {
        Ok(_) => Some(HealthStatus::Connected),
        Err(error) => error.health,
    };
    Ok(state.map_or_else(|| "none".to_owned(), |state| state.to_string()))
}

/// A small task with a limit.
#[must_use]
pub fn task(limit: Duration) -> ToolTask {
    ToolTask {
        task_id: RunId::new(&now(), 1),
        instruction: "Fix add() in src/lib.rs.".to_owned(),
        context: Vec::new(),
        outline: Vec::new(),
        edit_format: EditFormat::UnifiedDiff,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds: limit.as_secs(),
            max_output_tokens: None,
            loaded_context: None,
        },
        attempt: 1,
        feedback: None,
        history: Vec::new(),
        remark: None,
        has_tools: false,
    }
}

fn now() -> Timestamp {
    Timestamp::from_unix_seconds(0)
}

#[derive(Default)]
struct FirstText {
    seen: AtomicBool,
}

impl ProgressSink for FirstText {
    fn progress(&self, progress: Progress) {
        if matches!(progress, Progress::Text(_)) {
            self.seen.store(true, Ordering::SeqCst);
        }
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{what} is {found:?}, not {wanted:?}"))
    }
}

fn failed(result: Result<ToolOutput, ToolError>) -> Result<ToolError, String> {
    match result {
        Ok(output) => Err(format!("it gave an answer: {output:?}")),
        Err(error) => Ok(error),
    }
}
