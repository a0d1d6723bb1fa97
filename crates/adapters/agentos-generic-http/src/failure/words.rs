//! Finds the words of a failure in an answer of any shape.
//!
//! Owns: the fields that servers put their words into, and their order. Never: shortens or cleans the words.
//!
//! | shape | servers |
//! |---|---|
//! | `{"error": {"message": …}}`, `{"error": "…"}` | OpenAI and most compatible servers |
//! | `{"error": {"message": …, "metadata": {"raw": …}}}` | OpenRouter: `raw` has the words of the server behind it |
//! | `{"object": "error", "message": …}` | vLLM before 0.10; Mistral, whose `message` is an object with `detail` |
//! | `{"detail": "…"}`, `{"detail": [{"loc": […], "msg": …}]}` | FastAPI, and servers that are built on it |
//! | `{"errors": [{"message": …}]}` | Cloudflare |
//! | `{"message": …}`, `{"Message": …}` | AWS, API gateways |
//! | `[{"error": {…}}]` | Gemini's list |
//! | `{"error_type": …, "error_message": …}` | Venice |
//! | `{"status": "loading model"}` | llama.cpp before August 2024 |
//! | `{"response": {"error": {…}}}` | an event of OpenAI's `/responses` |

use agentos_net::Response;
use serde_json::Value;

/// Maximum depth of a document that is searched for words.
const DEPTH: usize = 6;
/// Maximum entries of a list whose words are joined.
const ENTRIES: usize = 4;

/// Fields that contain words, the best first.
const FIELDS: [&str; 14] = [
    "error",
    "error_message",
    "errorMessage",
    "message",
    "Message",
    "msg",
    "detail",
    "details",
    "errors",
    "error_description",
    "title",
    "reason",
    "response",
    "status",
];

/// Returns true if a document is the report of a failure, whatever the status of its answer.
pub(super) fn is_report(json: &Value) -> bool {
    let text = |name| json.get(name).and_then(Value::as_str);
    let is_set = |name| json.get(name).is_some_and(is_something);
    match json {
        Value::Array(entries) => entries
            .first()
            .is_some_and(|entry| entry.get("error").is_some_and(is_something)),
        Value::Object(_) => {
            is_set("error")
                || text("object") == Some("error")
                || text("type") == Some("error")
                || text("type") == Some("response.failed")
                || is_set("error_message")
                || (json.get("success") == Some(&Value::Bool(false)) && is_set("errors"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns true if a field has a value: `null`, `false` and empty values are how servers say that there is no error.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) | Value::Number(_) | Value::Object(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(entries) => !entries.is_empty(),
    }
}

/// Returns the words of a document. A document without any known field is returned as text, because it is all that the server said.
pub(super) fn of_json(json: &Value) -> String {
    match words_in(json, DEPTH) {
        Some(words) => words,
        // A known field without words says nothing more than the status.
        None if has_known_field(json) || !is_something(json) => String::new(),
        None => json.to_string(),
    }
}

fn has_known_field(json: &Value) -> bool {
    json.as_object()
        .is_some_and(|fields| fields.is_empty() || FIELDS.iter().any(|name| fields.contains_key(*name)))
}

fn words_in(value: &Value, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Array(entries) => {
            let words = entries
                .iter()
                .take(ENTRIES)
                .filter_map(|entry| words_in(entry, depth));
            Some(words.collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
        }
        Value::Object(fields) => {
            let found = FIELDS.iter().find_map(|name| words_in(fields.get(*name)?, depth));
            let found = found.map(|words| match place_of(value) {
                Some(place) => format!("{place}: {words}"),
                None => words,
            });
            match (found, words_behind(value, depth)) {
                (Some(words), Some(behind)) if !words.contains(&behind) => Some(format!("{words}: {behind}")),
                (words, behind) => words.or(behind),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns the field that an entry of FastAPI's list is about, without the part of the request that every entry names.
fn place_of(entry: &Value) -> Option<String> {
    let steps = entry.get("loc")?.as_array()?;
    let steps = steps.iter().map(|step| match step {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let steps: Vec<String> = steps.filter(|step| step != "body").collect();
    Some(steps.join(".")).filter(|place| !place.is_empty())
}

/// Returns the words of the server behind a gateway, which OpenRouter repeats as text.
fn words_behind(error: &Value, depth: usize) -> Option<String> {
    let raw = error.pointer("/metadata/raw")?;
    match raw.as_str().map(serde_json::from_str::<Value>) {
        Some(Ok(json)) => words_in(&json, depth),
        Some(Err(_)) | None => words_in(raw, depth),
    }
}

/// Returns the documents of an event stream that came with an error status.
pub(super) fn events_of(body: &[u8]) -> impl Iterator<Item = Value> {
    let lines = body.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.filter_map(|line| serde_json::from_slice(line.strip_prefix(b"data:")?).ok())
}

/// Returns the words of an answer that is not JSON: the title of a web page, or the text itself.
pub(super) fn of_text(body: &[u8]) -> String {
    // Compressed or binary bytes are no words.
    let Ok(text) = std::str::from_utf8(body) else {
        return String::new();
    };
    match find_title(text) {
        Some(title) => title,
        None if starts_as_page(body) => String::new(),
        None => text.trim().to_owned(),
    }
}

fn find_title(text: &str) -> Option<String> {
    /// Maximum characters of a page in which its title is searched.
    const HEAD: usize = 4000;
    let head: String = text.chars().take(HEAD).collect();
    // The lengths of both are the same, so a position in one is a position in the other.
    let lower = head.to_ascii_lowercase();
    let inner = |tag: &str| {
        let open = lower.find(&format!("<{tag}"))?;
        let start = open + lower.get(open..)?.find('>')? + 1;
        let end = start + lower.get(start..)?.find(&format!("</{tag}"))?;
        let words: Vec<&str> = head.get(start..end)?.split_whitespace().collect();
        Some(words.join(" ")).filter(|words| !words.is_empty() && !words.contains('<'))
    };
    inner("title").or_else(|| inner("h1"))
}

/// Returns true for a web page, by its content type or, because some servers send none, by its beginning.
pub(super) fn is_page(response: &Response) -> bool {
    let kind = response.content_type.as_deref();
    kind.is_some_and(|kind| kind.contains("html")) || starts_as_page(&response.body)
}

fn starts_as_page(body: &[u8]) -> bool {
    let start = body.iter().copied().skip_while(u8::is_ascii_whitespace).take(14);
    let start: Vec<u8> = start.collect::<Vec<u8>>().to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}
