//! Streams of model servers: whatever the events say, an answer is complete or there is a failure with words that are safe to show.
//!
//! Owns: the claims about the reader of streams and the reader of failures. Never: opens a connection.

use agentos_anthropic::MessagesWire;
use agentos_gemini::ContentWire;
use agentos_generic_http::fuzzing::read_stream;
use agentos_generic_http::{Wire, judge_response};
use agentos_llamacpp::CompletionWire;
use agentos_model::ChatEvent;
use agentos_net::{LineParser, Response, SseParser};
use agentos_ollama::OllamaWire;
use agentos_openai::{ChatWire, LimitField, ResponsesWire};
use agentos_tool::Secret;
use serde_json::Value;

use crate::bytes::ByteReader;

/// Key that the request was sent with.
const KEY: &str = "sk-canary-0123456789abcdef";
/// Tools on offer.
const TOOLS: [&str; 2] = ["read_file", "list_files"];
/// Most characters of a server's words.
const WORDS: usize = 300;
/// Longest event.
const LONGEST_EVENT: usize = 1 << 20;

/// Reads a byte each for the wire and the status; then the body.
///
/// # Panics
/// If a claim does not hold.
pub fn check_server_stream(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let (wire, status) = (bytes.next(), bytes.next());
    let body = bytes.0;
    if status & 1 == 1 {
        check_failure(400 + u16::from(status >> 1), body);
        return;
    }
    let wire = wire_of(wire);
    let events = match status & 2 {
        0 => split_events(body),
        _ => split_lines(body),
    };
    let read = read_stream(wire.as_ref(), &TOOLS, &Secret::new(KEY), &events);
    for event in &read.shown {
        let shown = format!("{event:?}");
        assert!(!shown.contains(KEY), "the key is shown");
    }
    let calls = read.shown.iter().filter_map(|event| match event {
        ChatEvent::ToolCall(call) => call.name.as_deref(),
        _ => None,
    });
    let native = has_native_calls(wire.as_ref(), &events);
    for name in calls {
        assert!(native || TOOLS.contains(&name), "`{name}` was not on offer");
    }
    match read.end {
        Ok((_, warnings)) => assert!(warnings.iter().all(|warning| !warning.is_empty())),
        Err((fault, words)) => {
            assert!(!fault.reason.as_str().is_empty(), "a failure has a reason");
            check_words(words.as_deref());
        }
    }
}

fn check_failure(status: u16, body: &[u8]) {
    let response = Response {
        status,
        content_type: None,
        retry_after: None,
        body: body.to_vec(),
    };
    let judged = judge_response(&response, true);
    let has_reason = judged.is_err_and(|fault| !fault.reason.as_str().is_empty());
    assert!(has_reason, "an error status is a failure with a reason");
}

fn check_words(words: Option<&str>) {
    let Some(words) = words else { return };
    assert!(words.chars().count() <= WORDS, "the words are not cut");
    assert!(
        !words.chars().any(char::is_control),
        "the words have control characters"
    );
    assert!(!words.contains(KEY), "the words have the key");
}

fn wire_of(number: u8) -> Box<dyn Wire> {
    match number % 6 {
        0 => Box::new(ChatWire::new(LimitField::MaxTokens)),
        1 => Box::new(MessagesWire),
        2 => Box::new(ContentWire),
        3 => Box::new(OllamaWire::new(4096)),
        4 => Box::new(CompletionWire::with_prompt(String::new())),
        _ => Box::new(ResponsesWire),
    }
}

fn split_events(body: &[u8]) -> Vec<String> {
    let mut parser = SseParser::new(LONGEST_EVENT);
    let mut events = Vec::new();
    // An event that is too long ends the stream.
    let _ = parser.push_bytes(body, |event| events.push(event));
    events
}

fn split_lines(body: &[u8]) -> Vec<String> {
    let mut parser = LineParser::new(LONGEST_EVENT);
    let mut lines = Vec::new();
    if parser.push_bytes(body, |line| lines.push(line)).is_ok() {
        lines.extend(parser.finish_line().ok().flatten());
    }
    lines
}

/// Returns true if the wire itself has a call in one of the events. A call in the text has to be of a tool on offer.
fn has_native_calls(wire: &dyn Wire, events: &[String]) -> bool {
    let read = |event: &String| wire.read_event(&serde_json::from_str::<Value>(event).ok()?).ok();
    let mut pieces = events.iter().filter_map(read);
    // A character that is split over two events makes an event readable only together with the other.
    let is_split = events.iter().any(|event| event.contains("\\u"));
    is_split || pieces.any(|piece| !piece.content.calls.is_empty())
}
