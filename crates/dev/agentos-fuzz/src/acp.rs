//! The Agent Client Protocol: whatever an agent says, the client asks in order, offers nothing else, and stops.
//!
//! Owns: the claims about what is sent to an agent, and how its turn ends. Never: starts a program.

use std::path::Path;

use agentos_programs::fuzzing::{HeardAgent, read_agent_lines};
use agentos_tool::Progress;
use serde_json::Value;

use crate::bytes::{ByteReader, cut_chunks};

/// Methods that a client calls, in this order. The id of a request is its index.
const ASKED: [&str; 3] = ["initialize", "session/new", "session/prompt"];

/// Reads the first byte as the way to cut, and the rest as an agent's output.
///
/// # Panics
/// If a claim does not hold.
pub fn check_acp(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let cuts = bytes.next();
    let said = bytes.0;
    let read = |chunks: &[&[u8]]| read_agent_lines(Path::new("/copy"), "fix it", chunks);
    let whole = read(&[said]);
    // A pipe delivers bytes in any portions. Byte by byte reaches every state of the reader between two bytes.
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

/// Each sent line must be one JSON message. Requests come in their order, each once; everything else answers the
/// agent.
fn check_sent(whole: &HeardAgent, lines: usize) {
    // One request begins the conversation, and every further message answers or follows a line of the agent: a client
    // that sends more could be driven into a loop.
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

/// Nothing may be granted except what the agent may do in its copy, and nothing else may be offered.
fn check_answer(message: &Value) {
    let outcome = message.pointer("/result/outcome/outcome").and_then(Value::as_str);
    let code = message.pointer("/error/code").and_then(Value::as_i64);
    assert!(
        // Code -32601 is "method not found" of JSON-RPC 2.0: the client offers no files and no terminal.
        matches!(outcome, Some("selected" | "cancelled")) || code == Some(-32601),
        "it answers: {message}"
    );
    let members = message.as_object().map_or(0, serde_json::Map::len);
    assert_eq!(members, 3, "an answer holds id and result or error: {message}");
}

/// A title that is quoted in a sentence of this program must be one line without control characters.
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
