//! Sizes in tokens: of a window, of a message, of tool definitions.
//!
//! Owns: these estimates, which rest on the one estimate of a text's tokens. Never: knows the tokenizer of a model.

use agentos_context::estimate_tokens;
use agentos_model::{ChatMessage, ChatRole, MessagePart, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of an image, estimated. Anthropic counts at most about 1,600 for one; the other vendors count fewer at their usual sizes.
const IMAGE_TOKENS: u64 = 1_600;
/// Tokens that a wire adds to each message for its author and its borders.
const MESSAGE_TOKENS: u64 = 4;
/// Tokens that a wire adds to a call, a result or a tool definition for its names and borders.
const PART_TOKENS: u64 = 8;

/// Size of a model's context window, and where the number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSize {
    /// Tokens of prompt and answer together.
    pub tokens: u64,
    /// Origin of the number.
    pub source: WindowSource,
}

/// Origin of a window's size, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSource {
    /// The server reports the window that it has loaded.
    Server,
    /// The provider's profile states it.
    Profile,
    /// A public table of models states it.
    Catalog,
    /// Nobody states it, so the smallest usual window is assumed.
    Assumed,
}

impl WindowSize {
    /// Returns the window that is assumed if nobody states one: 4,096 tokens, which local servers load by default.
    #[must_use]
    pub fn assume_smallest() -> Self {
        Self {
            tokens: 4_096,
            source: WindowSource::Assumed,
        }
    }
}

/// Kind of a message, as far as a plan needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Message of the user.
    Request,
    /// Message of the model without a call.
    Answer,
    /// Message of the model that calls tools. The next message has the results.
    Calls,
    /// Results of the calls of the message before it.
    Results,
}

/// Size and kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSize {
    /// Kind of the message.
    pub kind: MessageKind,
    /// Tokens, estimated.
    pub tokens: u64,
}

impl MessageSize {
    /// Measures a message.
    #[must_use]
    pub fn from_message(message: &ChatMessage) -> Self {
        let has = |wanted: fn(&MessagePart) -> bool| message.parts.iter().any(wanted);
        let kind = match message.role {
            ChatRole::User if has(|part| matches!(part, MessagePart::ToolResult(_))) => MessageKind::Results,
            ChatRole::User => MessageKind::Request,
            ChatRole::Assistant if has(|part| matches!(part, MessagePart::ToolCall(_))) => MessageKind::Calls,
            ChatRole::Assistant => MessageKind::Answer,
        };
        Self {
            kind,
            tokens: estimate_message(message),
        }
    }
}

/// Estimates the tokens of a message with all its parts.
#[must_use]
pub fn estimate_message(message: &ChatMessage) -> u64 {
    let parts = message.parts.iter().map(|part| match part {
        MessagePart::Text(text) => estimate_tokens(text),
        MessagePart::Image(_) => IMAGE_TOKENS,
        MessagePart::ToolCall(call) => {
            PART_TOKENS + estimate_tokens(&call.name) + estimate_tokens(&call.arguments.to_string())
        }
        MessagePart::ToolResult(result) => {
            let images = u64::try_from(result.images.len()).unwrap_or(u64::MAX);
            (PART_TOKENS + estimate_tokens(&result.text)).saturating_add(IMAGE_TOKENS.saturating_mul(images))
        }
        // Counted although another provider is not sent it: a number that is too high costs a little room, one that is too low an
        // error of the server.
        MessagePart::Thinking(thinking) => estimate_tokens(&thinking.text),
    });
    parts.fold(MESSAGE_TOKENS, u64::saturating_add)
}

/// Estimates the tokens of tool definitions.
#[must_use]
pub fn estimate_tools<'a>(tools: impl IntoIterator<Item = &'a ToolSpec>) -> u64 {
    let sizes = tools.into_iter().map(|tool| {
        PART_TOKENS
            + estimate_tokens(&tool.name)
            + estimate_tokens(&tool.description)
            + estimate_tokens(&tool.input_schema.to_string())
    });
    sizes.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use agentos_model::{ImageData, ToolCall, ToolResult};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_measured_with_all_its_parts() {
        let call = MessagePart::ToolCall(ToolCall {
            id: "a".to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({ "path": "a.txt" }),
            signature: None,
        });
        let image = ImageData {
            media_type: "image/png".to_owned(),
            base64: "A".repeat(100_000),
        };
        let result = MessagePart::ToolResult(ToolResult {
            tool_use_id: "a".to_owned(),
            text: "one two".to_owned(),
            images: vec![image.clone()],
            is_error: false,
        });
        let from_user = |parts| ChatMessage {
            parts,
            ..ChatMessage::from_user("")
        };
        let cases = [
            (ChatMessage::from_user("one two"), MessageKind::Request, 6),
            (
                ChatMessage::from_model(vec![MessagePart::Text("one two".to_owned())]),
                MessageKind::Answer,
                6,
            ),
            (ChatMessage::from_model(vec![call]), MessageKind::Calls, 25),
            (from_user(vec![result]), MessageKind::Results, 1_614),
            (
                from_user(vec![MessagePart::Image(image)]),
                MessageKind::Request,
                1_604,
            ),
        ];
        for (message, kind, tokens) in cases {
            assert_eq!(MessageSize::from_message(&message), MessageSize { kind, tokens });
        }
    }

    #[test]
    fn a_tool_is_measured_with_its_schema() {
        let tool = |schema| ToolSpec {
            name: "time".to_owned(),
            description: "Returns the time.".to_owned(),
            input_schema: schema,
        };
        let small = estimate_tools(&[tool(json!({}))]);
        let large = estimate_tools(&[tool(json!({ "properties": { "zone": { "type": "string" } } }))]);
        assert!(0 < small && small < large, "{small} {large}");
        assert_eq!(estimate_tools(&[]), 0);
    }
}
