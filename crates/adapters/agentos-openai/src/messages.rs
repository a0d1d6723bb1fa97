//! Messages in the form of OpenAI's chat completions.
//!
//! Owns: that form. Never: decides what fits the wire; the messages are prepared.

use agentos_model::{ChatMessage, ChatRole, ImageData, MessagePart, ToolCall, ToolResult};
use serde_json::{Value, json};

/// Writes a system prompt and prepared messages. Each result of a tool is a message of its own.
#[must_use]
pub fn write_messages(system: Option<&str>, messages: &[ChatMessage]) -> Vec<Value> {
    let system = system.map(|text| json!({"role": "system", "content": text}));
    let rest = messages.iter().flat_map(|message| match message.role {
        ChatRole::User => write_user(&message.parts),
        ChatRole::Assistant => vec![write_assistant(message)],
    });
    system.into_iter().chain(rest).collect()
}

fn write_user(parts: &[MessagePart]) -> Vec<Value> {
    let mut out = Vec::new();
    let mut content = Vec::new();
    for part in parts {
        match part {
            MessagePart::Text(text) => content.push(json!({"type": "text", "text": text})),
            MessagePart::Image(image) => content.push(write_image(image)),
            MessagePart::ToolResult(result) => out.push(write_result(result)),
            MessagePart::ToolCall(_) | MessagePart::Thinking(_) => {}
        }
    }
    match content.as_slice() {
        [] => {}
        // Some compatible servers take no list of parts.
        [only] if only.get("text").is_some() => {
            out.push(json!({"role": "user", "content": only.get("text")}))
        }
        _ => out.push(json!({"role": "user", "content": content})),
    }
    out
}

fn write_image(image: &ImageData) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.base64);
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn write_result(result: &ToolResult) -> Value {
    let content = match result.is_error {
        // The wire has no field for it.
        true => format!("Error: {}", result.text),
        false => result.text.clone(),
    };
    json!({"role": "tool", "tool_call_id": result.tool_use_id, "content": content})
}

fn write_assistant(message: &ChatMessage) -> Value {
    let calls: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(write_call(call)),
            MessagePart::Text(_)
            | MessagePart::Image(_)
            | MessagePart::ToolResult(_)
            | MessagePart::Thinking(_) => None,
        })
        .collect();
    let text = message.text();
    if calls.is_empty() {
        return json!({"role": "assistant", "content": text});
    }
    // OpenAI wants null and not an empty text together with calls.
    let content = Some(text).filter(|text| !text.is_empty());
    json!({"role": "assistant", "content": content, "tool_calls": calls})
}

fn write_call(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {
        "name": call.name, "arguments": call.arguments.to_string(),
    }})
}
