//! The gate that is asked before each sending, and the size that it is told.

use std::sync::{Arc, Mutex};

use agentos_model::{
    ChatEvent, ChatMessage, ChatRequest, ImageData, MessagePart, Model, ToolCall, ToolResult, ToolSpec,
};
use agentos_tool::{BoxFuture, SendGate, SendingSize, ToolFailure};
use proptest::prelude::*;

use super::*;

/// Gate that lists what it is asked, and permits a number of sendings.
struct ListingGate {
    permits: usize,
    asked: Mutex<Vec<SendingSize>>,
    failures: Mutex<Vec<String>>,
}

impl ListingGate {
    fn with_permits(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            permits,
            asked: Mutex::default(),
            failures: Mutex::default(),
        })
    }
}

impl SendGate for ListingGate {
    fn permit(&self, size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            let mut asked = self.asked.lock().unwrap();
            asked.push(size);
            match asked.len() > self.permits {
                false => Ok(()),
                true => Err(refusal()),
            }
        })
    }

    fn note_failure(&self, failure: &str, _has_begun: bool) {
        self.failures.lock().unwrap().push(failure.to_owned());
    }
}

fn refusal() -> ToolError {
    ToolError {
        failure: ToolFailure::Timeout,
        category: agentos_tool::ErrorCategory::Runtime,
        detail: "budget-spent".to_owned(),
        health: None,
        message: "nothing is left".to_owned(),
        causes: Vec::new(),
        advice: agentos_tool::ToolAdvice::new(None, Vec::new()),
        endpoint: None,
        latency_ms: 0,
    }
}

/// Sends a request to a server. Returns the end of the answer, or the code of its failure.
async fn send(
    server: &FakeServer,
    request: &ChatRequest,
    gate: &Arc<ListingGate>,
) -> Result<Vec<String>, String> {
    let adapter = adapter_for(settings(Some(&server.url()), None));
    let mut stream = adapter.chat(request, Arc::<ListingGate>::clone(gate));
    let mut warnings = Vec::new();
    while let Some(event) = stream.next_event().await.map_err(|error| error.detail)? {
        if let ChatEvent::Finish(end) = event {
            warnings = end.warnings;
        }
    }
    Ok(warnings)
}

/// Answers each request with the next of these statuses, and then with an answer.
fn failing_server(statuses: &'static [u16]) -> FakeServer {
    let count = std::sync::atomic::AtomicUsize::new(0);
    FakeServer::start(move |_| {
        let at = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        match statuses.get(at) {
            Some(status) => Reply::http(*status, &[("retry-after", "0")], b"busy"),
            None => answer_with(7, 2),
        }
    })
    .unwrap()
}

fn answer_with(prompt: u64, completion: u64) -> Reply {
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": completion});
    let choice = json!({"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"});
    Reply::json(
        200,
        &json!({"model": "gpt-5.4", "choices": [choice], "usage": usage}),
    )
}

/// Answers before the whole one, permits, requests at the server, failures that the gate is told, and the result.
type RetryCase = (
    &'static [u16],
    usize,
    usize,
    &'static [&'static str],
    Option<&'static str>,
);

#[tokio::test]
async fn each_sending_is_asked_for() {
    let request = ChatRequest::from_text("Hello");
    let cases: [RetryCase; 5] = [
        (&[], 9, 1, &[], None),
        (&[503, 429], 9, 3, &["overloaded", "rate-limited"], None),
        (
            &[500, 500, 500, 500],
            9,
            4,
            &["server-error"; 3],
            Some("server-error"),
        ),
        (&[503, 503], 1, 1, &["overloaded"], Some("budget-spent")),
        (&[], 0, 0, &[], Some("budget-spent")),
    ];
    for (statuses, permits, requests, failures, failed) in cases {
        let server = failing_server(statuses);
        let gate = ListingGate::with_permits(permits);
        let result = send(&server, &request, &gate).await;
        assert_eq!(result.err().as_deref(), failed, "{statuses:?}");
        assert_eq!(server.requests().len(), requests, "{statuses:?}");
        assert_eq!(*gate.failures.lock().unwrap(), failures, "{statuses:?}");
    }
}

#[tokio::test]
async fn a_server_that_counts_more_than_it_was_sent_is_capped_with_a_warning() {
    let request = ChatRequest {
        max_output_tokens: Some(10),
        ..ChatRequest::from_text("Hello")
    };
    let server = FakeServer::start(|_| answer_with(9_007_199_254_740_993, 11)).unwrap();
    let warnings = send(&server, &request, &ListingGate::with_permits(1))
        .await
        .unwrap();
    insta::assert_debug_snapshot!(warnings, @r#"
    [
        "the server reported more tokens than were possible, so the most possible number is recorded",
    ]
    "#);
}

#[test]
fn an_image_counts_what_its_vendor_documents() {
    let service = |url: &str| OpenAiService::at_address(Some(url));
    use agentos_generic_http::Service as _;
    assert_eq!(
        service("https://api.openai.com/v1").most_image_tokens("api.openai.com"),
        Some(48_169)
    );
    assert_eq!(
        service("https://a.example/v1").most_image_tokens("a.example"),
        None
    );
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,60}", "[\\x00-\\x1f\"\\\\]{0,40}", "[가-힣😀-😎]{0,20}"]
}

fn image() -> impl Strategy<Value = ImageData> {
    (0_usize..3_000).prop_map(|length| ImageData {
        media_type: "image/png".to_owned(),
        base64: "iVBORw0K".chars().cycle().take(length * 4).collect(),
    })
}

fn part() -> impl Strategy<Value = MessagePart> {
    let result = (text(), proptest::collection::vec(image(), 0..2)).prop_map(|(text, images)| {
        MessagePart::ToolResult(ToolResult {
            tool_use_id: "call-1".to_owned(),
            text,
            images,
            is_error: false,
        })
    });
    let call = text().prop_map(|argument| {
        MessagePart::ToolCall(ToolCall {
            id: "call-1".to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({"path": argument}),
            signature: None,
        })
    });
    prop_oneof![
        text().prop_map(MessagePart::Text),
        image().prop_map(MessagePart::Image),
        result,
        call
    ]
}

fn message() -> impl Strategy<Value = ChatMessage> {
    (any::<bool>(), proptest::collection::vec(part(), 1..4)).prop_map(|(is_users, parts)| match is_users {
        true => ChatMessage {
            parts,
            ..ChatMessage::from_user("")
        },
        false => ChatMessage::from_model(parts),
    })
}

fn tool() -> impl Strategy<Value = ToolSpec> {
    (text(), 0_usize..400).prop_map(|(description, fields)| {
        let fields = (0..fields).map(|at| (format!("field_{at}"), json!({"type": "string"})));
        ToolSpec {
            name: "a_tool".to_owned(),
            description,
            input_schema: json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()}),
        }
    })
}

fn request() -> impl Strategy<Value = ChatRequest> {
    (
        proptest::option::of(text()),
        proptest::collection::vec(message(), 1..6),
        proptest::collection::vec(tool(), 0..4),
        proptest::option::of(text().prop_map(|words| json!({"type": "object", "description": words}))),
        proptest::option::of(1_u64..9_000),
    )
        .prop_map(
            |(system, messages, tools, answer_schema, max_output_tokens)| ChatRequest {
                system,
                messages,
                tools,
                answer_schema,
                max_output_tokens,
                ..ChatRequest::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    // One token a byte is the most that any tokenizer counts.
    #[test]
    fn what_is_reserved_is_never_less_than_the_bytes_that_arrive(request in request()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = failing_server(&[]);
        let gate = ListingGate::with_permits(1);
        let _ = runtime.block_on(send(&server, &request, &gate));
        let received = server.requests();
        prop_assert_eq!(received.len(), 1);
        let asked = gate.asked.lock().unwrap().first().copied().unwrap();
        let billed = u64::try_from(received[0].body.len()).unwrap();
        prop_assert!(asked.bound_input(None) >= billed, "{} < {}", asked.bound_input(None), billed);
        prop_assert_eq!(asked.output_tokens, request.max_output_tokens);
    }
}

/// Mistral's answer to a field that it does not take, and OpenAI's answer to the older name of the limit.
#[tokio::test]
async fn a_field_that_the_server_refuses_is_left_out_and_the_answer_comes() {
    let refuse = |path: &str, name: &str| {
        let oddities = agentos_testkit::oddities::Oddity::all().unwrap();
        let reply = oddities
            .iter()
            .find(|oddity| oddity.id() == name)
            .unwrap()
            .reply();
        (path.to_owned(), reply)
    };
    let refused = [
        refuse("stream_options", "mistral/message-is-an-object"),
        refuse("max_tokens", "openai/other-name-of-the-limit"),
    ];
    let server = FakeServer::start(move |request| {
        let body = request.json();
        let refusal = refused
            .iter()
            .find(|(field, _)| body.get(field.as_str()).is_some());
        match refusal {
            Some((_, reply)) => reply.clone(),
            None => Reply::json(
                200,
                &json!({"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}),
            ),
        }
    })
    .unwrap();
    let mut settings = once(settings(Some(&server.url()), None));
    settings.max_tokens = Some(100);
    let adapter = adapter_for(settings);
    for sent in [3, 4] {
        let output = adapter
            .run(&task(Duration::from_secs(20)), &NoProgress)
            .await
            .unwrap();
        assert_eq!(output.text, "Hello");
        assert_eq!(server.requests().len(), sent, "a refused field is not sent again");
    }
    let last = server.requests().last().unwrap().json();
    assert_eq!(
        (&last["max_completion_tokens"], last.get("stream_options")),
        (&json!(100), None)
    );
}
