//! Strict fakes of OpenAI's two APIs.

use agentos_model::{ChatMessage, ChatRole, MessagePart, ThinkingPart};
use serde_json::{Map, Value};

use super::{
    OpenCalls, ReadChat, call, check, check_turns, end_results, image, list_of, object, push, result,
    text_of, visible,
};

pub(in crate::wires) fn read_openai(body: &Value, _: &str) -> ReadChat {
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

/// Reads `CreateResponse` with its flat list of items.
pub(in crate::wires) fn read_responses(body: &Value, provider: &str) -> ReadChat {
    let known = [
        "model",
        "input",
        "instructions",
        "store",
        "include",
        "stream",
        "tools",
        "tool_choice",
        "max_output_tokens",
    ];
    let body = object(body, &known)?;
    let mut out: Vec<ChatMessage> = Vec::new();
    for item in list_of(body, "input")? {
        let (role, parts) = read_item(item, provider)?;
        match out.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            Some(_) | None => out.push(ChatMessage { role, parts }),
        }
    }
    let mut open = OpenCalls::default();
    for message in &out {
        match message.role {
            ChatRole::Assistant => open.begin(&message.parts)?,
            ChatRole::User => end_results(&message.parts, &mut open)?,
        }
    }
    open.expect_none()?;
    check_turns(&out)?;
    Ok(out)
}

fn read_item(item: &Value, provider: &str) -> Result<(ChatRole, Vec<MessagePart>), String> {
    let call_id = |item: &Map<String, Value>| {
        let id = text_of(item, "call_id")?.to_owned();
        check((1..=64).contains(&id.len()), "the length of an id").map(|()| id)
    };
    match item.get("type").and_then(Value::as_str) {
        Some("message") => {
            let item = object(item, &["type", "role", "content"])?;
            if text_of(item, "role")? == "assistant" {
                return Ok((ChatRole::Assistant, vec![visible(text_of(item, "content")?)?]));
            }
            check(text_of(item, "role")? == "user", "the role")?;
            let parts = list_of(item, "content")?.iter().map(|part| {
                if part.get("type").is_some_and(|kind| kind == "input_text") {
                    return visible(text_of(object(part, &["type", "text"])?, "text")?);
                }
                let url = text_of(object(part, &["type", "image_url", "detail"])?, "image_url")?;
                let data = url
                    .strip_prefix("data:")
                    .and_then(|url| url.split_once(";base64,"));
                let (media_type, base64) = data.ok_or("not a data URL")?;
                Ok(MessagePart::Image(image(media_type, base64)?))
            });
            Ok((ChatRole::User, parts.collect::<Result<_, String>>()?))
        }
        Some("function_call") => {
            let item = object(item, &["type", "call_id", "name", "arguments"])?;
            let arguments = serde_json::from_str(text_of(item, "arguments")?);
            let arguments = arguments.map_err(|error| error.to_string())?;
            let call = call(&call_id(item)?, text_of(item, "name")?, arguments)?;
            Ok((ChatRole::Assistant, vec![MessagePart::ToolCall(call)]))
        }
        Some("function_call_output") => {
            let item = object(item, &["type", "call_id", "output"])?;
            let result = result(&call_id(item)?, text_of(item, "output")?, false);
            Ok((ChatRole::User, vec![MessagePart::ToolResult(result)]))
        }
        Some("reasoning") => {
            let item = object(item, &["type", "id", "summary", "encrypted_content"])?;
            let (id, content) = (text_of(item, "id")?, text_of(item, "encrypted_content")?);
            check(
                id.starts_with("rs_") && !content.is_empty(),
                "thinking without its content",
            )?;
            let summary = item["summary"].as_array().ok_or("the summary")?.iter();
            let texts = summary.map(|part| text_of(object(part, &["type", "text"])?, "text"));
            let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
            let thinking = ThinkingPart {
                text: texts.concat(),
                signature: Some(format!("{id} {content}")),
                is_encrypted: false,
                provider: provider.to_owned(),
            };
            Ok((ChatRole::Assistant, vec![MessagePart::Thinking(thinking)]))
        }
        other => Err(format!("item {other:?}")),
    }
}
