//! The Agent Client Protocol: whatever an agent says, the client asks in order, offers nothing else, and stops.
//!
//! Owns: the claims about what is sent to an agent and how its turn ends. Never: starts a program.

use std::path::Path;

use agentos_programs::fuzzing::{HeardAgent, read_agent_lines};
use agentos_tool::Progress;
use serde_json::Value;

use crate::bytes::{Bytes, cut_chunks};

/// What a client asks, in this order; the ids of the requests are their places.
const ASKED: [&str; 3] = ["initialize", "session/new", "session/prompt"];

/// Reads the first byte as the way to cut, and the rest as what an agent wrote.
///
/// # Panics
/// When a claim does not hold.
pub fn check_acp(data: &[u8]) {
    let mut bytes = Bytes(data);
    let cuts = bytes.next();
    let said = bytes.0;
    let read = |chunks: &[&[u8]]| read_agent_lines(Path::new("/copy"), "fix it", chunks);
    let whole = read(&[said]);
    let single: Vec<&[u8]> = said.chunks(1).collect();
    assert_eq!(read(&single), whole, "byte by byte it is another conversation");
    assert_eq!(
        read(&cut_chunks(said, cuts)),
        whole,
        "in chunks it is another conversation"
    );
    let lines = said.iter().filter(|byte| **byte == b'\n').count();
    check_sent(&whole, lines);
    check_shown(&whole);
}

/// Each line sent is one JSON message; requests come in their order, each once, and all else answers the agent.
fn check_sent(whole: &HeardAgent, lines: usize) {
    assert!(whole.sent.len() <= lines + 1, "it says more than it is asked");
    let mut asked = Vec::new();
    for line in &whole.sent {
        let text = line.strip_suffix(b"\n");
        assert!(
            text.is_some_and(|text| !text.contains(&b'\n')),
            "a message is one line: {}",
            line.escape_ascii()
        );
        let message: Option<Value> = serde_json::from_slice(line).ok();
        let message = message.unwrap_or_default();
        assert_eq!(message.get("jsonrpc"), Some(&Value::from("2.0")), "{message}");
        match message.get("method").and_then(Value::as_str) {
            Some(method) => {
                assert_eq!(message.get("id"), Some(&Value::from(asked.len())), "{message}");
                asked.push(method.to_owned());
            }
            None => check_answer(&message),
        }
    }
    assert_eq!(asked.as_slice(), ASKED.get(..asked.len()).unwrap_or_default());
    if whole.end.is_ok() {
        assert_eq!(asked.len(), ASKED.len(), "a turn ended that had not begun");
    }
}

/// Nothing is granted but what the agent may do in its copy, and nothing else is offered.
fn check_answer(message: &Value) {
    let outcome = message.pointer("/result/outcome/outcome").and_then(Value::as_str);
    let code = message.pointer("/error/code").and_then(Value::as_i64);
    assert!(
        matches!(outcome, Some("selected" | "cancelled")) || code == Some(-32601),
        "it answers: {message}"
    );
    let members = message.as_object().map_or(0, serde_json::Map::len);
    assert_eq!(members, 3, "an answer holds id and result or error: {message}");
}

/// A title is one line without control characters, as far as it is put into words of ours.
fn check_shown(whole: &HeardAgent) {
    for progress in &whole.shown {
        let Progress::Transcript(text) = progress else {
            panic!("an agent's words are its transcript alone: {progress:?}");
        };
        if let Some(asks) = text.strip_prefix("[asks] ") {
            let line = asks.strip_suffix('\n').unwrap_or(asks);
            let is_plain = line.len() <= 1024 && !line.chars().any(char::is_control);
            assert!(is_plain || !line.ends_with(" in its copy"), "{line:?}");
        }
    }
}
