//! Messages as Gemini's contents.
//!
//! Owns: that form. Never: decides what fits the wire; the messages are prepared.

use std::collections::BTreeMap;

use agentos_model::{ChatMessage, ChatRole, MessagePart};
use serde_json::{Value, json};

/// Writes prepared messages.
pub(crate) fn write_contents(messages: &[ChatMessage]) -> Vec<Value> {
    // A result names its function here, and only the call says which one that was.
    let mut names = BTreeMap::new();
    let mut out = Vec::new();
    for message in messages {
        let role = match message.role {
            ChatRole::User => "user",
            ChatRole::Assistant => "model",
        };
        let parts: Vec<Value> = message
            .parts
            .iter()
            .map(|part| write_part(part, &mut names))
            .collect();
        out.push(json!({"role": role, "parts": parts}));
    }
    out
}

fn write_part<'a>(part: &'a MessagePart, names: &mut BTreeMap<&'a str, &'a str>) -> Value {
    match part {
        MessagePart::Text(text) => json!({"text": text}),
        MessagePart::Image(image) => {
            json!({"inlineData": {"mimeType": image.media_type, "data": image.base64}})
        }
        MessagePart::ToolCall(call) => {
            names.insert(&call.id, &call.name);
            let part = json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}});
            with_signature(
                part,
                call.signature.as_ref().map(|signature| signature.mark.as_str()),
            )
        }
        MessagePart::ToolResult(result) => {
            let name = names
                .get(result.tool_use_id.as_str())
                .copied()
                .unwrap_or_default();
            let field = if result.is_error { "error" } else { "output" };
            json!({"functionResponse": {"id": result.tool_use_id, "name": name, "response": {field: result.text}}})
        }
        MessagePart::Thinking(thinking) => with_signature(
            json!({"text": thinking.text, "thought": true}),
            thinking.signature.as_deref(),
        ),
    }
}

fn with_signature(mut part: Value, signature: Option<&str>) -> Value {
    if let (Some(part), Some(signature)) = (part.as_object_mut(), signature) {
        part.insert("thoughtSignature".to_owned(), signature.into());
    }
    part
}
