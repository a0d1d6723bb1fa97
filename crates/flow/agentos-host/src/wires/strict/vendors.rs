//! Strict fakes of Anthropic, Gemini, Ollama and llama.cpp.

use agentos_model::{CallSignature, ChatMessage, ChatRole, ImageData, MessagePart, ThinkingPart};
use serde_json::Value;

use super::{
    OpenCalls, ReadChat, call, check, check_name, check_turns, end_results, image, list_of, object, push,
    result, text_of, visible,
};

pub(in crate::wires) fn read_anthropic(body: &Value, provider: &str) -> ReadChat {
    let known = [
        "model",
        "messages",
        "system",
        "stream",
        "max_tokens",
        "tools",
        "tool_choice",
    ];
    let (body, marks) = take_marks(body.clone())?;
    check(marks <= 4, "more than four marks for the cache")?;
    let body = object(&body, &known)?;
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

/// Takes the marks for the cache out of a request, where Anthropic takes them, and counts them.
fn take_marks(mut body: Value) -> Result<(Value, usize), String> {
    let mut marks = 0;
    let mut take = |part: &mut Value| -> Result<(), String> {
        let kind = part["type"].as_str().unwrap_or_default().to_owned();
        let taken = part.as_object_mut().and_then(|part| part.remove("cache_control"));
        let Some(mark) = taken else { return Ok(()) };
        marks += 1;
        check(
            mark == serde_json::json!({"type": "ephemeral"}),
            "the form of a mark",
        )?;
        check(!kind.ends_with("thinking"), "a mark on thinking")
    };
    for field in ["system", "tools"] {
        let parts = body.get_mut(field).and_then(Value::as_array_mut);
        parts.into_iter().flatten().try_for_each(&mut take)?;
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        let blocks = message.get_mut("content").and_then(Value::as_array_mut);
        blocks.into_iter().flatten().try_for_each(&mut take)?;
    }
    Ok((body, marks))
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

pub(in crate::wires) fn read_gemini(body: &Value, provider: &str) -> ReadChat {
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
pub(in crate::wires) fn read_ollama(body: &Value, _: &str) -> ReadChat {
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
pub(in crate::wires) fn read_completion(body: &Value, _: &str) -> ReadChat {
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
