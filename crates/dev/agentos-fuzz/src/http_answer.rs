//! Answers of model servers: whatever the status and the body, the result is a reason or a text from the body.
//!
//! Owns: the claims about judging an answer, and about the reader of every wire. Never: sends anything.

use std::time::Duration;

use agentos_anthropic::MessagesWire;
use agentos_gemini::ContentWire;
use agentos_generic_http::{AnswerPiece, TemplateWire, Wire, judge_response};
use agentos_llamacpp::CompletionWire;
use agentos_lmstudio::ModelState;
use agentos_model::PartBuilder;
use agentos_net::Response;
use agentos_ollama::OllamaWire;
use agentos_openai::{ChatWire, LimitField, ModelList};
use serde_json::Value;

use crate::bytes::{ByteReader, read_text, split_parts};

/// Statuses that servers send, and two that no server should send.
const STATUSES: [u16; 16] = [
    200, 201, 204, 301, 400, 401, 402, 403, 404, 408, 429, 500, 503, 529, 99, 999,
];

/// Reads a byte each for the wire, the status and the head; then the body. For the wire of a profile, the parts
/// between NUL bytes are the pointers to text and end, and the body.
///
/// # Panics
/// If a claim does not hold.
pub fn check_http_answer(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let (wire, status, head) = (bytes.next(), bytes.next(), bytes.next());
    let (wire, body) = match wire_of(wire) {
        Some(wire) => (wire, bytes.0),
        None => template_wire(bytes.0),
    };
    // The fourth value of the two bits has no content type, as some servers send none.
    let kinds = ["application/json", "text/html", "text/event-stream"];
    let response = Response {
        status: STATUSES.get(usize::from(status & 15)).copied().unwrap_or(200),
        content_type: kinds.get(usize::from(head & 3)).map(|kind| (*kind).to_owned()),
        retry_after: (head & 4 != 0).then(|| Duration::from_secs(u64::from(head))),
        body: body.to_vec(),
    };
    let judged = judge_response(&response, head & 8 != 0);
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    match judged {
        Ok(json) => {
            assert!(
                (200..=299).contains(&response.status),
                "{} is no success",
                response.status
            );
            assert_eq!(Some(&json), parsed.as_ref(), "another body was judged");
            check_readers(wire.as_ref(), &json);
        }
        Err(fault) => assert!(!fault.reason.as_str().is_empty(), "a failure has a reason"),
    }
}

/// Returns the wire with this number. `None` for the wire of a profile.
fn wire_of(number: u8) -> Option<Box<dyn Wire>> {
    Some(match number % 6 {
        0 => Box::new(ChatWire::new(LimitField::MaxTokens)),
        1 => Box::new(MessagesWire),
        2 => Box::new(ContentWire),
        3 => Box::new(OllamaWire::new(4096)),
        4 => Box::new(CompletionWire::with_prompt(String::new())),
        _ => return None,
    })
}

/// Returns the wire of a profile whose pointers are the first parts, and the rest of the bytes.
fn template_wire(data: &[u8]) -> (Box<dyn Wire>, &[u8]) {
    let parts = split_parts(data);
    let wire = TemplateWire {
        request: Value::Null,
        answer: read_text(parts.first()),
        finish: parts.get(1).map(|part| read_text(Some(part))),
        whole: vec!["stop".to_owned()],
    };
    (Box::new(wire), parts.get(2).copied().unwrap_or_default())
}

fn check_readers(wire: &dyn Wire, json: &Value) {
    let texts = texts_of(json);
    for read in [wire.read_answer(json), wire.read_event(json)] {
        let Ok(piece) = read else { continue };
        check_piece(&piece, &texts);
        for name in piece.content.calls.iter().filter_map(|call| call.name.as_deref()) {
            assert!(texts.contains(&name), "a call of `{name}` is made up");
        }
        // Joining must not panic for any pieces.
        let mut builder = PartBuilder::default();
        builder.add_piece(piece.content);
        let _ = builder.finish("any");
    }
    // A model that the server did not name would be requested from it, and fail with a message about nothing.
    if let Ok(list) = ModelList::read(json) {
        assert!(!list.model_ids().is_empty(), "a list without a model is none");
        for id in list.model_ids() {
            let chosen = list.choose_model(Some(&id)).ok().and_then(|found| found.model);
            assert!(
                chosen.is_none_or(|chosen| texts.contains(&chosen.as_str())),
                "`{id}` is made up"
            );
        }
    }
    for state in [ModelState::read_v1(json), ModelState::read_v0(json)] {
        // Choosing must not panic for any list.
        let _ = state.and_then(|state| state.choose_model(None));
    }
}

/// Text, refusal and names must consist of texts of the answer, with nothing inserted.
fn check_piece(piece: &AnswerPiece, texts: &[&str]) {
    for said in [&piece.content.text, &piece.refusal] {
        let mut rest = said.as_str();
        while !rest.is_empty() {
            let longest = texts
                .iter()
                .filter(|text| !text.is_empty() && rest.starts_with(**text))
                .map(|text| text.len())
                .max();
            let Some(after) = longest.and_then(|length| rest.get(length..)) else {
                // Texts may be beginnings of others, so that the longest is not always the right one.
                let total: usize = texts.iter().map(|text| text.len()).sum();
                assert!(said.len() <= total, "a text is made up: {said:?}");
                return;
            };
            rest = after;
        }
    }
    let names = piece.model.iter().chain(&piece.ending);
    for name in names {
        assert!(texts.contains(&name.as_str()), "`{name}` is made up");
    }
}

/// Returns all texts of a document, including the names of members.
fn texts_of(json: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut open = vec![json];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text.as_str()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                texts.extend(members.keys().map(String::as_str));
                open.extend(members.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}
