//! Messages as lists of Anthropic's content blocks.
//!
//! Owns: that form. Never: decides what fits the wire; the messages are prepared.

use agentos_model::{ChatMessage, ChatRole, ImageData, MessagePart, ThinkingPart, ToolResult};
use serde_json::{Value, json};

/// Writes prepared messages.
pub(crate) fn write_messages(messages: &[ChatMessage]) -> Vec<Value> {
    let write = |message: &ChatMessage| {
        let role = match message.role {
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
        };
        json!({"role": role, "content": write_content(&message.parts)})
    };
    messages.iter().map(write).collect()
}

fn write_content(parts: &[MessagePart]) -> Value {
    match parts {
        [MessagePart::Text(text)] => text.as_str().into(),
        _ => parts.iter().map(write_part).collect(),
    }
}

fn write_part(part: &MessagePart) -> Value {
    match part {
        MessagePart::Text(text) => json!({"type": "text", "text": text}),
        MessagePart::Image(image) => write_image(image),
        MessagePart::ToolCall(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        }
        MessagePart::ToolResult(result) => write_result(result),
        MessagePart::Thinking(thinking) => write_thinking(thinking),
    }
}

fn write_image(image: &ImageData) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.base64}})
}

fn write_result(result: &ToolResult) -> Value {
    // A text block without a visible character is refused, and a result without content is not.
    let text = Some(&result.text).filter(|text| !text.trim().is_empty());
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let content: Vec<Value> = text
        .into_iter()
        .chain(result.images.iter().map(write_image))
        .collect();
    let mut block = json!({"type": "tool_result", "tool_use_id": result.tool_use_id, "content": content});
    if let Some(block) = block.as_object_mut().filter(|_| result.is_error) {
        block.insert("is_error".to_owned(), true.into());
    }
    block
}

fn write_thinking(thinking: &ThinkingPart) -> Value {
    match thinking.is_encrypted {
        true => json!({"type": "redacted_thinking", "data": thinking.signature}),
        false => json!({"type": "thinking", "thinking": thinking.text, "signature": thinking.signature}),
    }
}
