//! A conversation as a stream of events.

use agentos_model::{ChatEvent, ChatFinish, ChatRequest, Model, ReplyBuilder};
use agentos_testkit::server::head;

use super::*;

/// Pieces of a stream, each as one event.
fn events(pieces: &[String]) -> Vec<u8> {
    let mut bytes = head(200, &[("content-type", EVENT_STREAM)], None);
    for piece in pieces {
        bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    }
    bytes
}

fn end_of_answer() -> String {
    json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
        .to_string()
}

fn thinking(text: &str) -> String {
    json!({"choices": [{"delta": {"reasoning_content": text}}]}).to_string()
}

/// Reads a conversation with a server to its end: the events, and the error if there is one.
async fn read_chat(server: &FakeServer) -> (Vec<ChatEvent>, Option<ToolError>) {
    let adapter = adapter_for(settings(Some(&server.url()), None));
    let request = ChatRequest::from_text("Hello");
    let mut stream = adapter.chat(&request, FreeGate::share());
    let mut events = Vec::new();
    loop {
        match stream.next_event().await {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return (events, None),
            Err(error) => {
                // A stream that failed stays at its end.
                assert_eq!(stream.next_event().await.unwrap(), None);
                return (events, Some(error));
            }
        }
    }
}

#[tokio::test]
async fn pieces_arrive_one_by_one_and_end_with_the_end() {
    let pieces = [thinking("Hm."), chunk("Good "), chunk("day."), end_of_answer()];
    let server = FakeServer::start(move |_| Reply::Bytes(events(&pieces))).unwrap();
    let (seen, error) = read_chat(&server).await;
    assert_eq!(error, None);
    let text = |text: &str| ChatEvent::Text {
        text: text.to_owned(),
    };
    let [
        ChatEvent::Thinking(thought),
        first,
        second,
        usage,
        ChatEvent::Finish(end),
    ] = seen.as_slice()
    else {
        panic!("{seen:?}");
    };
    assert_eq!(thought.text, "Hm.");
    assert_eq!([first, second], [&text("Good "), &text("day.")]);
    assert_eq!(
        usage,
        &ChatEvent::Usage(Usage {
            input_tokens: Some(7),
            output_tokens: Some(2),
            ..Usage::default()
        })
    );
    assert_eq!(
        (end.finish, end.model_id.as_deref()),
        (FinishReason::Stop, Some("gpt-5.4"))
    );
}

#[tokio::test]
async fn an_answer_without_its_end_is_an_error_and_no_reply() {
    let cases: [(&str, Vec<String>); 3] = [
        ("the stream ended without a finish reason", vec![chunk("Good ")]),
        (
            "an event of the stream is not JSON",
            vec![chunk("Good "), "{".to_owned()],
        ),
        (
            "overloaded",
            vec![
                chunk("Good "),
                json!({"error": {"message": "overloaded"}}).to_string(),
            ],
        ),
    ];
    for (words, pieces) in cases {
        let server = FakeServer::start(move |_| Reply::Bytes(events(&pieces))).unwrap();
        let (seen, error) = read_chat(&server).await;
        let error = error.unwrap();
        assert_eq!(error.detail, "broken-stream");
        assert!(error.message.contains(words), "{words}: {}", error.message);
        // A part of the answer was seen, so the request is not sent again.
        assert_eq!(server.requests().len(), 1, "{words}");
        let mut reply = ReplyBuilder::default();
        seen.into_iter().for_each(|event| reply.add_event(event));
        assert_eq!(reply.finish_reply("openai"), None, "{words}");
    }
}

#[tokio::test]
async fn a_retry_is_an_event_and_a_warning() {
    let busy = std::sync::atomic::AtomicBool::new(true);
    let server = FakeServer::start(
        move |_| match busy.swap(false, std::sync::atomic::Ordering::SeqCst) {
            true => Reply::http(503, &[("retry-after", "0")], b"busy"),
            false => Reply::Bytes(events(&[chunk("Hi"), end_of_answer()])),
        },
    )
    .unwrap();
    let (seen, error) = read_chat(&server).await;
    assert_eq!(error, None);
    assert!(matches!(seen.first(), Some(ChatEvent::Note { note }) if note.contains("sending again")));
    let Some(ChatEvent::Finish(ChatFinish { warnings, .. })) = seen.last() else {
        panic!("{seen:?}");
    };
    assert_eq!(warnings.len(), 1);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_unread_and_dropping_the_stream_hangs_up() {
    let server = FakeServer::start(|_| Reply::Hang(events(&[chunk("Good ")]))).unwrap();
    let adapter = adapter_for(settings(Some(&server.url()), None));
    let request = ChatRequest::from_text("Hello");
    // A stream that nobody reads sends nothing.
    drop(adapter.chat(&request, FreeGate::share()));
    assert!(server.requests().is_empty());
    let mut stream = adapter.chat(&request, FreeGate::share());
    assert!(matches!(
        stream.next_event().await,
        Ok(Some(ChatEvent::Text { .. }))
    ));
    drop(stream);
    assert!(server.saw_hang_up(Duration::from_secs(20)));
}
