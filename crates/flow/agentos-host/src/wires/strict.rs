//! Strict fakes of the vendors: each reads a request as its vendor's published schema describes it, and refuses everything else.
//!
//! Sources: OpenAI's `CreateChatCompletionRequest`, Anthropic's `CreateMessageParams`, Google's `GenerateContentRequest`, Ollama's
//! `docs/api.md` and llama.cpp's `tools/server/README.md`. A real server may be more lenient in places, and never stricter.

use std::collections::VecDeque;

use agentos_model::{
    CallSignature, ChatMessage, ChatRole, ImageData, MessagePart, ThinkingPart, ToolCall, ToolResult,
};
use serde_json::{Map, Value};

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

pub(super) fn read_openai(body: &Value, _: &str) -> ReadChat {
    let known = [
        "model",
        "messages",
        "stream",
        "max_tokens",
        "tools",
        "tool_choice",
    ];
    let body = object(body, &known)?;
    let (mut out, mut open) = (Vec::new(), OpenCalls::default());
    for (at, message) in list_of(body, "messages")?.iter().enumerate() {
        let role = text_of(message.as_object().ok_or("a message is no object")?, "role")?;
        match role {
            "system" => {
                let message = object(message, &["role", "content"])?;
                check(
                    at == 0 && !text_of(message, "content")?.is_empty(),
                    "the system prompt",
                )?;
            }
            "user" => {
                open.expect_none()?;
                let message = object(message, &["role", "content"])?;
                let parts = match message.get("content") {
                    Some(Value::String(text)) => vec![visible(text)?],
                    _ => list_of(message, "content")?
                        .iter()
                        .map(read_openai_part)
                        .collect::<Result<_, _>>()?,
                };
                push(&mut out, ChatRole::User, parts);
            }
            "assistant" => {
                let parts = read_openai_answer(object(message, &["role", "content", "tool_calls"])?)?;
                open.begin(&parts)?;
                push(&mut out, ChatRole::Assistant, parts);
            }
            "tool" => {
                let message = object(message, &["role", "content", "tool_call_id"])?;
                let id = text_of(message, "tool_call_id")?;
                open.end(|call| call.id == id)?;
                let result = result(id, text_of(message, "content")?, false);
                push(&mut out, ChatRole::User, vec![MessagePart::ToolResult(result)]);
            }
            other => return Err(format!("role {other}")),
        }
    }
    open.expect_none()?;
    check_turns(&out)?;
    Ok(out)
}

fn read_openai_part(part: &Value) -> Result<MessagePart, String> {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => visible(text_of(object(part, &["type", "text"])?, "text")?),
        Some("image_url") => {
            let part = object(part, &["type", "image_url"])?;
            let url = text_of(object(&part["image_url"], &["url", "detail"])?, "url")?;
            let data = url
                .strip_prefix("data:")
                .and_then(|url| url.split_once(";base64,"));
            let (media_type, base64) = data.ok_or("not a data URL")?;
            Ok(MessagePart::Image(image(media_type, base64)?))
        }
        _ => Err(format!("part {part}")),
    }
}

fn read_openai_answer(message: &Map<String, Value>) -> Result<Vec<MessagePart>, String> {
    let mut parts = Vec::new();
    match message.get("content") {
        Some(Value::String(text)) => parts.push(visible(text)?),
        Some(Value::Null) if message.contains_key("tool_calls") => {}
        other => return Err(format!("content {other:?}")),
    }
    if message.contains_key("tool_calls") {
        for item in list_of(message, "tool_calls")? {
            let item = object(item, &["id", "type", "function"])?;
            check(text_of(item, "type")? == "function", "the type of a call")?;
            let function = object(&item["function"], &["name", "arguments"])?;
            let arguments = serde_json::from_str(text_of(function, "arguments")?);
            let id = text_of(item, "id")?;
            check((1..=40).contains(&id.len()), "the length of an id")?;
            let arguments = arguments.map_err(|error| error.to_string())?;
            parts.push(MessagePart::ToolCall(call(
                id,
                text_of(function, "name")?,
                arguments,
            )?));
        }
    }
    Ok(parts)
}

pub(super) fn read_anthropic(body: &Value, provider: &str) -> ReadChat {
    let known = [
        "model",
        "messages",
        "system",
        "stream",
        "max_tokens",
        "tools",
        "tool_choice",
    ];
    let body = object(body, &known)?;
    check(body["max_tokens"].is_u64(), "max_tokens is required")?;
    let (mut out, mut open) = (Vec::new(), OpenCalls::default());
    for message in list_of(body, "messages")? {
        let message = object(message, &["role", "content"])?;
        let role = match text_of(message, "role")? {
            "user" => ChatRole::User,
            "assistant" => ChatRole::Assistant,
            other => return Err(format!("role {other}")),
        };
        let parts = match message.get("content") {
            Some(Value::String(text)) => vec![visible(text)?],
            _ => list_of(message, "content")?
                .iter()
                .map(|block| read_block(block, role, provider))
                .collect::<Result<_, _>>()?,
        };
        match role {
            ChatRole::Assistant => open.begin(&parts)?,
            ChatRole::User => {
                end_results(&parts, &mut open)?;
                // The results stand before everything else of their message.
                let rest = parts
                    .iter()
                    .skip_while(|part| matches!(part, MessagePart::ToolResult(_)));
                let late = rest
                    .filter(|part| matches!(part, MessagePart::ToolResult(_)))
                    .count();
                check(late == 0, "a result after a text")?;
            }
        }
        out.push(ChatMessage { role, parts });
    }
    open.expect_none()?;
    check_turns(&out)?;
    Ok(out)
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

fn read_block(block: &Value, role: ChatRole, provider: &str) -> Result<MessagePart, String> {
    let thinking = |text: &str, signature: &str, is_encrypted| {
        check(!signature.is_empty(), "thinking without a signature")?;
        Ok(MessagePart::Thinking(ThinkingPart {
            text: text.to_owned(),
            signature: Some(signature.to_owned()),
            is_encrypted,
            provider: provider.to_owned(),
        }))
    };
    match (block.get("type").and_then(Value::as_str), role) {
        (Some("text"), _) => visible(text_of(object(block, &["type", "text"])?, "text")?),
        (Some("image"), ChatRole::User) => Ok(MessagePart::Image(read_source(block)?)),
        (Some("tool_use"), ChatRole::Assistant) => {
            let block = object(block, &["type", "id", "name", "input"])?;
            let id = text_of(block, "id")?;
            check_name(id)?;
            let call = call(id, text_of(block, "name")?, block["input"].clone())?;
            Ok(MessagePart::ToolCall(call))
        }
        (Some("tool_result"), ChatRole::User) => {
            let block = object(block, &["type", "tool_use_id", "content", "is_error"])?;
            let is_error = block.get("is_error").is_some_and(|is_error| is_error == true);
            let mut found = result(text_of(block, "tool_use_id")?, "", is_error);
            for part in block["content"].as_array().ok_or("the content of a result")? {
                match read_block(part, role, provider)? {
                    MessagePart::Text(text) => found.text = text,
                    MessagePart::Image(image) => found.images.push(image),
                    other => return Err(format!("{other:?} in a result")),
                }
            }
            Ok(MessagePart::ToolResult(found))
        }
        (Some("thinking"), ChatRole::Assistant) => {
            let block = object(block, &["type", "thinking", "signature"])?;
            thinking(text_of(block, "thinking")?, text_of(block, "signature")?, false)
        }
        (Some("redacted_thinking"), ChatRole::Assistant) => {
            thinking("", text_of(object(block, &["type", "data"])?, "data")?, true)
        }
        (other, _) => Err(format!("block {other:?} of {role:?}")),
    }
}

fn read_source(block: &Value) -> Result<ImageData, String> {
    let source = object(
        &object(block, &["type", "source"])?["source"],
        &["type", "media_type", "data"],
    )?;
    check(text_of(source, "type")? == "base64", "the type of a source")?;
    image(text_of(source, "media_type")?, text_of(source, "data")?)
}

pub(super) fn read_gemini(body: &Value, provider: &str) -> ReadChat {
    let known = [
        "contents",
        "systemInstruction",
        "tools",
        "toolConfig",
        "generationConfig",
    ];
    let body = object(body, &known)?;
    let (mut out, mut open) = (Vec::new(), OpenCalls::default());
    for content in list_of(body, "contents")? {
        let content = object(content, &["role", "parts"])?;
        let role = match text_of(content, "role")? {
            "user" => ChatRole::User,
            "model" => ChatRole::Assistant,
            other => return Err(format!("role {other}")),
        };
        let parts = list_of(content, "parts")?
            .iter()
            .map(|part| read_gemini_part(part, role, provider));
        let parts: Vec<MessagePart> = parts.collect::<Result<_, _>>()?;
        match role {
            ChatRole::Assistant => open.begin(&parts)?,
            ChatRole::User => end_results(&parts, &mut open)?,
        }
        out.push(ChatMessage { role, parts });
    }
    open.expect_none()?;
    check_turns(&out)?;
    Ok(out)
}

fn read_gemini_part(part: &Value, role: ChatRole, provider: &str) -> Result<MessagePart, String> {
    let known = [
        "text",
        "thought",
        "thoughtSignature",
        "inlineData",
        "functionCall",
        "functionResponse",
    ];
    let part = object(part, &known)?;
    let signature = part.get("thoughtSignature").and_then(Value::as_str);
    let is_user = role == ChatRole::User;
    if part.get("thought").is_some_and(|thought| thought == true) {
        check(
            !is_user && signature.is_some(),
            "thinking of the user, or without a signature",
        )?;
        return Ok(MessagePart::Thinking(ThinkingPart {
            text: text_of(part, "text")?.to_owned(),
            signature: signature.map(str::to_owned),
            is_encrypted: false,
            provider: provider.to_owned(),
        }));
    }
    if part.contains_key("text") {
        return visible(text_of(part, "text")?);
    }
    if let Some(data) = part.get("inlineData").filter(|_| is_user) {
        let data = object(data, &["mimeType", "data"])?;
        return Ok(MessagePart::Image(image(
            text_of(data, "mimeType")?,
            text_of(data, "data")?,
        )?));
    }
    if let Some(function) = part.get("functionCall").filter(|_| !is_user) {
        let function = object(function, &["id", "name", "args"])?;
        let mut call = call(
            text_of(function, "id")?,
            text_of(function, "name")?,
            function["args"].clone(),
        )?;
        call.signature = signature.map(|mark| CallSignature {
            provider: provider.to_owned(),
            mark: mark.to_owned(),
        });
        return Ok(MessagePart::ToolCall(call));
    }
    let function = part.get("functionResponse").filter(|_| is_user);
    let function = object(
        function.ok_or_else(|| format!("part {part:?}"))?,
        &["id", "name", "response"],
    )?;
    check_name(text_of(function, "name")?)?;
    let response = object(&function["response"], &["output", "error"])?;
    let is_error = response.contains_key("error");
    let text = text_of(response, if is_error { "error" } else { "output" })?;
    Ok(MessagePart::ToolResult(result(
        text_of(function, "id")?,
        text,
        is_error,
    )))
}

/// Reads without ids, which this wire has not: a result belongs to the first open call of its tool.
pub(super) fn read_ollama(body: &Value, _: &str) -> ReadChat {
    let known = [
        "model", "messages", "tools", "stream", "options", "truncate", "format",
    ];
    let body = object(body, &known)?;
    let (mut out, mut open, mut number) = (Vec::new(), OpenCalls::default(), 0);
    for message in list_of(body, "messages")? {
        let known = ["role", "content", "images", "tool_calls", "tool_name"];
        let message = object(message, &known)?;
        let text = text_of(message, "content")?;
        match text_of(message, "role")? {
            "system" => check(out.is_empty(), "the system prompt")?,
            "user" => {
                open.expect_none()?;
                let mut parts = Vec::new();
                if !text.is_empty() {
                    parts.push(visible(text)?);
                }
                for data in message
                    .get("images")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    let image = image("image/png", data.as_str().ok_or("an image is no text")?)?;
                    parts.push(MessagePart::Image(image));
                }
                push(&mut out, ChatRole::User, parts);
            }
            "assistant" => {
                let mut parts = Vec::new();
                if !text.is_empty() {
                    parts.push(visible(text)?);
                }
                for item in message
                    .get("tool_calls")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    let function = object(&object(item, &["function"])?["function"], &["name", "arguments"])?;
                    let arguments = function["arguments"].clone();
                    let call = call(&format!("call_{number}"), text_of(function, "name")?, arguments)?;
                    number += 1;
                    parts.push(MessagePart::ToolCall(call));
                }
                open.begin(&parts)?;
                push(&mut out, ChatRole::Assistant, parts);
            }
            "tool" => {
                let name = text_of(message, "tool_name")?;
                let call = open.end(|call| call.name == name)?;
                let result = result(&call.id, text, false);
                push(&mut out, ChatRole::User, vec![MessagePart::ToolResult(result)]);
            }
            other => return Err(format!("role {other}")),
        }
    }
    open.expect_none()?;
    check_turns(&out)?;
    Ok(out)
}

/// Reads a prompt, of which only the text is left: one message.
pub(super) fn read_completion(body: &Value, _: &str) -> ReadChat {
    let known = [
        "model",
        "prompt",
        "n_predict",
        "stop",
        "stream",
        "response_fields",
        "return_progress",
        "cache_prompt",
    ];
    let prompt = text_of(object(body, &known)?, "prompt")?;
    Ok(vec![ChatMessage {
        role: ChatRole::User,
        parts: vec![visible(prompt)?],
    }])
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
