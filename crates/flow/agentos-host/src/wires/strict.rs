//! Strict fakes of the vendors: each reads a request as its vendor's published schema describes it, and refuses everything else.
//!
//! Sources: OpenAI's `CreateChatCompletionRequest`, Anthropic's `CreateMessageParams`, Google's `GenerateContentRequest`, Ollama's
//! `docs/api.md` and llama.cpp's `tools/server/README.md`. A real server may be more lenient in places, and never stricter.

use std::collections::VecDeque;

use agentos_model::{ChatMessage, ChatRole, ImageData, MessagePart, ToolCall, ToolResult};
use serde_json::{Map, Value};

mod openai;
mod vendors;

pub(super) use openai::{read_openai, read_responses};
pub(super) use vendors::{read_anthropic, read_completion, read_gemini, read_ollama};

/// Messages that a vendor has read, or the reason for which it refuses the request.
pub(super) type ReadChat = Result<Vec<ChatMessage>, String>;

/// Returns an object all of whose fields are known.
fn object<'a>(value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let map = value.as_object().ok_or_else(|| format!("no object: {value}"))?;
    match map.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("unknown field `{name}` in {value}")),
        None => Ok(map),
    }
}

fn text_of<'a>(map: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    let text = map.get(name).and_then(Value::as_str);
    text.ok_or_else(|| format!("no text `{name}` in {map:?}"))
}

fn list_of<'a>(map: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], String> {
    let list = map.get(name).and_then(Value::as_array);
    let list = list.ok_or_else(|| format!("no list `{name}` in {map:?}"))?;
    match list.is_empty() {
        true => Err(format!("`{name}` is empty")),
        false => Ok(list),
    }
}

fn check(is_right: bool, words: &str) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(words.to_owned()) }
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    check(
        (1..=64).contains(&name.len()) && name.bytes().all(fits),
        "a name does not fit",
    )
}

fn visible(text: &str) -> Result<MessagePart, String> {
    check(!text.trim().is_empty(), "a text without a visible character")?;
    Ok(MessagePart::Text(text.to_owned()))
}

fn image(media_type: &str, base64: &str) -> Result<ImageData, String> {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    check(known.contains(&media_type) && !base64.is_empty(), "not an image")?;
    Ok(ImageData {
        media_type: media_type.to_owned(),
        base64: base64.to_owned(),
    })
}

fn call(id: &str, name: &str, arguments: Value) -> Result<ToolCall, String> {
    check_name(name)?;
    check(arguments.is_object(), "arguments that are no object")?;
    Ok(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        signature: None,
    })
}

fn result(id: &str, text: &str, is_error: bool) -> ToolResult {
    ToolResult {
        tool_use_id: id.to_owned(),
        text: text.to_owned(),
        images: Vec::new(),
        is_error,
    }
}

/// Calls of the last answer that wait for their results, which must all follow at once.
#[derive(Default)]
struct OpenCalls(VecDeque<ToolCall>);

impl OpenCalls {
    fn begin(&mut self, parts: &[MessagePart]) -> Result<(), String> {
        self.expect_none()?;
        self.0 = calls_of(parts).cloned().collect();
        let mut ids: Vec<&str> = self.0.iter().map(|call| call.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        check(ids.len() == self.0.len(), "an id is used twice")
    }

    fn end(&mut self, is_it: impl Fn(&ToolCall) -> bool) -> Result<ToolCall, String> {
        let at = self.0.iter().position(is_it);
        at.and_then(|at| self.0.remove(at))
            .ok_or_else(|| "a result without a call".to_owned())
    }

    fn expect_none(&self) -> Result<(), String> {
        check(self.0.is_empty(), "a call without a result")
    }
}

fn calls_of(parts: &[MessagePart]) -> impl Iterator<Item = &ToolCall> {
    parts.iter().filter_map(|part| match part {
        MessagePart::ToolCall(call) => Some(call),
        MessagePart::Text(_)
        | MessagePart::Image(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Thinking(_) => None,
    })
}

fn push(out: &mut Vec<ChatMessage>, role: ChatRole, parts: Vec<MessagePart>) {
    match out.last_mut() {
        Some(last) if last.role == role && role == ChatRole::User => last.parts.extend(parts),
        Some(_) | None => out.push(ChatMessage { role, parts }),
    }
}

/// Checks that the authors take turns, from the user on.
fn check_turns(messages: &[ChatMessage]) -> Result<(), String> {
    let is_user = |message: &ChatMessage| message.role == ChatRole::User;
    check(messages.first().is_some_and(is_user), "the user does not begin")?;
    let alternate = messages.windows(2).all(|pair| pair[0].role != pair[1].role);
    check(alternate, "two messages of one author")
}

/// Ends the calls that a message of the user answers, which must be all of them.
fn end_results(parts: &[MessagePart], open: &mut OpenCalls) -> Result<(), String> {
    for part in parts {
        if let MessagePart::ToolResult(result) = part {
            open.end(|call| call.id == result.tool_use_id)?;
        }
    }
    open.expect_none()
}

/// Returns the calls of a conversation.
pub(super) fn calls_of_chat(chat: &[ChatMessage]) -> impl Iterator<Item = &ToolCall> {
    chat.iter().flat_map(|message| calls_of(&message.parts))
}

/// Returns the result of a call. `None` if there is none.
pub(super) fn result_of<'a>(chat: &'a [ChatMessage], id: &str) -> Option<&'a ToolResult> {
    let mut parts = chat.iter().flat_map(|message| &message.parts);
    parts.find_map(|part| match part {
        MessagePart::ToolResult(result) if result.tool_use_id == id => Some(result),
        MessagePart::ToolResult(_)
        | MessagePart::Text(_)
        | MessagePart::Image(_)
        | MessagePart::ToolCall(_)
        | MessagePart::Thinking(_) => None,
    })
}
