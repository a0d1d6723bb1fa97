//! Messages and their parts.
//!
//! Owns: the canonical form, from which the forms of all wires are made. Never: leaves a part out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The user, and the results of tools that the model called.
    User,
    /// The model.
    Assistant,
}

/// Turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMessage {
    /// Author of the message.
    pub role: ChatRole,
    /// Parts in their order.
    pub parts: Vec<MessagePart>,
}

impl ChatMessage {
    /// Makes a message of the user with this text.
    #[must_use]
    pub fn from_user(text: impl Into<String>) -> Self {
        Self {
            role: ChatRole::User,
            parts: vec![MessagePart::Text(text.into())],
        }
    }

    /// Makes a message of the model with these parts.
    #[must_use]
    pub fn from_model(parts: Vec<MessagePart>) -> Self {
        Self {
            role: ChatRole::Assistant,
            parts,
        }
    }

    /// Joins the texts of the message, each beginning a line.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            MessagePart::Image(_)
            | MessagePart::ToolCall(_)
            | MessagePart::ToolResult(_)
            | MessagePart::Thinking(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// Image of the user or of a tool.
    Image(ImageData),
    /// Call of a tool, by the model.
    ToolCall(ToolCall),
    /// Result of a call, for the model.
    ToolResult(ToolResult),
    /// Thinking of the model.
    Thinking(ThinkingPart),
}

/// Image in the message itself. Images by address are not supported: a server would fetch them from anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageData {
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Content in base64.
    pub base64: String,
}

/// Call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Id that the result refers to.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as a JSON object. A string if the model wrote something that is not JSON.
    pub arguments: Value,
    /// Mark that must be sent back with the call. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<CallSignature>,
}

/// Opaque mark of a provider on a tool call of its model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallSignature {
    /// Provider that made the mark. Another one does not accept it.
    pub provider: String,
    /// The mark, unchanged.
    pub mark: String,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Id of the call.
    pub tool_use_id: String,
    /// Text of the result.
    pub text: String,
    /// Images of the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// True if the tool failed and the text is the reason.
    #[serde(default)]
    pub is_error: bool,
}

/// Thinking of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThinkingPart {
    /// Text. Empty if the provider shows none.
    pub text: String,
    /// Opaque signature of the provider, which must be sent back unchanged. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// True if the signature is encrypted thinking, which has no text.
    #[serde(default)]
    pub is_encrypted: bool,
    /// Provider whose model thought. Another provider does not accept its signature.
    pub provider: String,
}
