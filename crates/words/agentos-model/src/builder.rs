//! Pieces of an answer, and the parts that they become.
//!
//! Owns: joining pieces that arrive in any portions. Never: interprets a vendor's event; the wire has done that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallSignature, MessagePart, ThinkingPart, ToolCall};

/// Piece of an answer, besides its end and its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatPiece {
    /// Text of the answer.
    pub text: String,
    /// Thinking of the model.
    pub thoughts: Vec<ThoughtPiece>,
    /// Tool calls, or pieces of them.
    pub calls: Vec<CallPiece>,
}

impl ChatPiece {
    /// Makes a piece of text.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Returns true if the piece contains nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Piece of a model's thinking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThoughtPiece {
    /// Text, appended to the thinking at the same position.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Signature. `None` if the piece has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// True if the signature is encrypted thinking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_encrypted: bool,
    /// Position of the thinking in the answer. `None` if the wire has one thinking at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
}

/// Piece of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallPiece {
    /// Id of the call. `None` in later pieces, and in wires without ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the tool. `None` in later pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A part of the arguments' JSON, appended to the call at the same position.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Signature of the call. `None` if the piece has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Position of the call in the answer. `None` if the piece is a whole call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
}

/// Joins the pieces of one answer.
#[derive(Debug, Clone, Default)]
pub struct PartBuilder {
    parts: Vec<OpenPart>,
}

#[derive(Debug, Clone)]
enum OpenPart {
    Text(String),
    Thinking(Option<u64>, ThinkingPart),
    Call(Option<u64>, CallPiece),
}

impl PartBuilder {
    /// Adds a piece. Thinking comes before text and text before calls if one piece has several: so do the vendors.
    pub fn add_piece(&mut self, piece: ChatPiece) {
        for thought in piece.thoughts {
            self.add_thought(thought);
        }
        if !piece.text.is_empty() {
            match self.parts.last_mut() {
                Some(OpenPart::Text(text)) => text.push_str(&piece.text),
                Some(OpenPart::Thinking(..) | OpenPart::Call(..)) | None => {
                    self.parts.push(OpenPart::Text(piece.text));
                }
            }
        }
        for call in piece.calls {
            self.add_call(call);
        }
    }

    fn add_thought(&mut self, piece: ThoughtPiece) {
        // Without positions, thinking that follows text or a call is another one.
        let continues = piece.position.is_some() || matches!(self.parts.last(), Some(OpenPart::Thinking(..)));
        let open = self.parts.iter_mut().rev().find_map(|part| match part {
            OpenPart::Thinking(at, thinking) if *at == piece.position => Some(thinking),
            OpenPart::Thinking(..) | OpenPart::Text(_) | OpenPart::Call(..) => None,
        });
        match open.filter(|thinking| continues && !thinking.is_encrypted && !piece.is_encrypted) {
            Some(thinking) => {
                thinking.text.push_str(&piece.text);
                if let Some(signature) = piece.signature {
                    // Anthropic may send a signature in several events.
                    thinking.signature.get_or_insert_default().push_str(&signature);
                }
            }
            None => {
                let thinking = ThinkingPart {
                    text: piece.text,
                    signature: piece.signature,
                    is_encrypted: piece.is_encrypted,
                    provider: String::new(),
                };
                self.parts.push(OpenPart::Thinking(piece.position, thinking));
            }
        }
    }

    fn add_call(&mut self, piece: CallPiece) {
        let open = self.parts.iter_mut().find_map(|part| match part {
            OpenPart::Call(at @ Some(_), call) if *at == piece.position => Some(call),
            OpenPart::Call(..) | OpenPart::Text(_) | OpenPart::Thinking(..) => None,
        });
        match open {
            // Some servers give every call of an answer the position 0. Another id means another call.
            Some(call) if piece.id.is_none() || piece.id == call.id || call.id.is_none() => {
                call.arguments.push_str(&piece.arguments);
                call.id = call.id.take().or(piece.id);
                call.name = call.name.take().or(piece.name);
                call.signature = call.signature.take().or(piece.signature);
            }
            Some(_) | None => self.parts.push(OpenPart::Call(piece.position, piece)),
        }
    }

    /// Turns the text so far into thinking.
    pub(crate) fn turn_text_into_thinking(&mut self) {
        for part in &mut self.parts {
            if let OpenPart::Text(text) = part {
                let thinking = ThinkingPart {
                    text: std::mem::take(text),
                    signature: None,
                    is_encrypted: false,
                    provider: String::new(),
                };
                *part = OpenPart::Thinking(None, thinking);
            }
        }
    }

    /// Returns the parts of the answer. Thinking and signatures are those of `provider`.
    #[must_use]
    pub fn finish(self, provider: &str) -> Vec<MessagePart> {
        let mut parts = Vec::new();
        for (at, part) in self.parts.into_iter().enumerate() {
            parts.push(match part {
                OpenPart::Text(text) => MessagePart::Text(text),
                OpenPart::Thinking(_, thinking) => MessagePart::Thinking(ThinkingPart {
                    provider: provider.to_owned(),
                    ..thinking
                }),
                OpenPart::Call(_, call) => MessagePart::ToolCall(finish_call(call, at, provider)),
            });
        }
        parts
    }
}

fn finish_call(call: CallPiece, at: usize, provider: &str) -> ToolCall {
    let text = call.arguments.trim();
    let arguments = match text {
        // A tool without arguments: vendors send nothing or an empty object.
        "" => Value::Object(serde_json::Map::new()),
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::String(call.arguments.clone())),
    };
    ToolCall {
        // Gemini and Ollama give calls no ids, and results are matched by them.
        id: call
            .id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| format!("call_{at}")),
        name: call.name.unwrap_or_default(),
        arguments,
        signature: call.signature.map(|mark| CallSignature {
            provider: provider.to_owned(),
            mark,
        }),
    }
}

#[cfg(test)]
mod tests;
