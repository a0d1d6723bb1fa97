//! The interface of everything that answers a conversation.
//!
//! Owns: the [`Model`] trait, the events of an answer, and the reply that they become. Never: takes an answer without its end for
//! a reply.

use std::sync::Arc;

use agentos_tool::{BoxFuture, Confinement, Endpoint, FinishReason, SendGate, ToolError, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    CallPiece, ChatMessage, ChatPiece, ChatRequest, MessagePart, PartBuilder, SideEndpoint, SideRequest,
    ThoughtPiece,
};

/// Model behind a server, which answers conversations.
pub trait Model: Send + Sync {
    /// Returns the provider's name. Thinking and signatures of the answer belong to it.
    fn provider_name(&self) -> &str;

    /// Prepares an answer. Nothing is sent before the first event is requested; the time limits begin now. `gate` is asked before each
    /// sending, also if the request is sent again after a failure.
    fn chat<'a>(&'a self, request: &'a ChatRequest, gate: Arc<dyn SendGate>) -> Box<dyn ChatStream + 'a>;

    /// Asks as [`Model::chat`] does, for a caller that needs only the whole answer: its pieces may come late, and joined to fewer.
    fn chat_whole<'a>(
        &'a self,
        request: &'a ChatRequest,
        gate: Arc<dyn SendGate>,
    ) -> Box<dyn ChatStream + 'a> {
        self.chat(request, gate)
    }

    /// Returns true if the server's wire has an endpoint besides the one for conversations.
    fn has_endpoint(&self, _endpoint: SideEndpoint) -> bool {
        false
    }

    /// Asks such an endpoint. `None` if the wire does not have it. `gate` is asked before each sending that a server may bill.
    fn ask_endpoint<'a>(
        &'a self,
        _request: &'a SideRequest,
        _gate: Arc<dyn SendGate>,
    ) -> BoxFuture<'a, Result<Option<Value>, ToolError>> {
        Box::pin(async { Ok(None) })
    }

    /// Returns how the model's adapter is confined while it answers.
    fn confinement(&self) -> Confinement {
        // The weakest claim, as for a tool: one that does not say how it is confined is treated as one that is not.
        Confinement::observed()
    }
}

/// Answer that arrives in pieces.
///
/// It is read by pulling, so a reader that pauses makes the server wait, and nothing is kept in memory for it. Dropping the stream,
/// or a future of it that is not ready yet, closes the connection: a server then ends the generation and frees its slot.
pub trait ChatStream: Send {
    /// Waits for the next event. `None` after [`ChatEvent::Finish`], after an error, and after a future that was dropped.
    ///
    /// # Errors
    /// If the request fails, or the answer ends without its end. The error contains no key, so it can be shown and recorded.
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>>;
}

/// Event of an answer. Texts of the model are untrusted: they must be escaped before they reach a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChatEvent {
    /// Note for the user, worded by AgentOS and safe to show, such as the reason for sending the request again.
    Note {
        /// Text of the note.
        note: String,
    },
    /// Piece of the text.
    Text {
        /// The piece.
        text: String,
    },
    /// Piece of the model's thinking.
    Thinking(ThoughtPiece),
    /// All text so far was thinking: its end came, and its beginning was a part of the prompt.
    TextWasThinking,
    /// Tool call, or a piece of one.
    ToolCall(CallPiece),
    /// Tokens so far. Each event replaces the earlier one.
    Usage(Usage),
    /// The end. Without it, there is no reply.
    Finish(ChatFinish),
}

/// End of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatFinish {
    /// Reason why the model stopped.
    pub finish: FinishReason,
    /// Model that answered, as the answer names it. `None` if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Address of the server that answered. `None` if the model is not a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Time from the request to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Warnings for a person, such as that another model answered than the requested one.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Complete answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// Message of the model, to be appended to the conversation.
    pub message: ChatMessage,
    /// All text of the answer, as it arrived. The message has it in parts if thinking or calls are between its pieces.
    pub text: String,
    /// Tokens. `None` if the server reported none.
    pub usage: Option<Usage>,
    /// The end.
    pub end: ChatFinish,
}

/// Joins the events of one answer.
#[derive(Debug, Clone, Default)]
pub struct ReplyBuilder {
    parts: PartBuilder,
    text: String,
    usage: Option<Usage>,
    end: Option<ChatFinish>,
}

impl ReplyBuilder {
    /// Adds an event.
    pub fn add_event(&mut self, event: ChatEvent) {
        let mut piece = ChatPiece::default();
        match event {
            // The word of AgentOS, and no part of what the model said.
            ChatEvent::Note { .. } => {}
            ChatEvent::Text { text } => {
                self.text.push_str(&text);
                piece.text = text;
            }
            ChatEvent::Thinking(thought) => piece.thoughts.push(thought),
            ChatEvent::TextWasThinking => {
                self.text.clear();
                self.parts.turn_text_into_thinking();
            }
            ChatEvent::ToolCall(call) => piece.calls.push(call),
            // Replaced and not added: the counts of an event include those of the events before it.
            ChatEvent::Usage(usage) => self.usage = Some(usage),
            ChatEvent::Finish(end) => self.end = Some(end),
        }
        self.parts.add_piece(piece);
    }

    /// Returns the text so far as a message, for an answer that was cut. `None` if no text arrived.
    ///
    /// Thinking and calls of tools are left out: a cut call must not run, and a vendor refuses thinking without its signature.
    #[must_use]
    pub fn finish_cut(self) -> Option<ChatMessage> {
        let parts = self.parts.finish("").into_iter();
        let texts: Vec<MessagePart> = parts
            .filter(|part| matches!(part, MessagePart::Text(_)))
            .collect();
        let message = ChatMessage::from_model(texts);
        (!message.text().trim().is_empty()).then_some(message)
    }

    /// Returns the reply of a provider's model. `None` if the answer has no end.
    #[must_use]
    pub fn finish_reply(self, provider: &str) -> Option<ChatReply> {
        // A connection may break off behind a whole sentence, so only the end proves that nothing is missing.
        let end = self.end?;
        Some(ChatReply {
            message: ChatMessage::from_model(self.parts.finish(provider)),
            text: self.text,
            usage: self.usage,
            end,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ThinkingPart, ToolCall};

    fn read_events(events: serde_json::Value) -> ReplyBuilder {
        let events: Vec<ChatEvent> = serde_json::from_value(events).unwrap();
        // The events cross a process boundary, so each must survive its own JSON.
        let again: Vec<ChatEvent> = serde_json::from_str(&serde_json::to_string(&events).unwrap()).unwrap();
        assert_eq!(events, again);
        let mut builder = ReplyBuilder::default();
        events.into_iter().for_each(|event| builder.add_event(event));
        builder
    }

    // LB-07, LB-08: pieces of a stream, and the answer that they become.
    #[test]
    fn events_become_a_reply_only_with_their_end() {
        let pieces = json!([
            {"type": "note", "note": "sending again"},
            {"type": "thinking", "text": "I must"},
            {"type": "thinking", "text": " look.", "signature": "sig"},
            {"type": "text", "text": "I "},
            {"type": "text", "text": "look."},
            {"type": "tool_call", "id": "a", "name": "read", "arguments": "{\"path\"", "position": 0},
            {"type": "tool_call", "arguments": ":\"x\"}", "position": 0},
            {"type": "usage", "output_tokens": 3},
            {"type": "usage", "output_tokens": 5},
        ]);
        assert_eq!(read_events(pieces.clone()).finish_reply("p"), None);
        let cut = read_events(pieces.clone()).finish_cut().unwrap();
        assert_eq!(cut.parts, [MessagePart::Text("I look.".to_owned())]);
        assert_eq!(
            read_events(json!([{"type": "text", "text": " \n"}])).finish_cut(),
            None
        );
        let mut whole = pieces.as_array().unwrap().clone();
        whole.push(json!({"type": "finish", "finish": "tool_calls", "latency_ms": 1}));
        let reply = read_events(whole.into()).finish_reply("p").unwrap();
        assert_eq!(reply.text, "I look.");
        assert_eq!(reply.usage.and_then(|usage| usage.output_tokens), Some(5));
        assert_eq!(reply.end.finish, FinishReason::ToolCalls);
        assert_eq!(
            reply.message.parts,
            [
                MessagePart::Thinking(ThinkingPart {
                    text: "I must look.".to_owned(),
                    signature: Some("sig".to_owned()),
                    is_encrypted: false,
                    provider: "p".to_owned(),
                }),
                MessagePart::Text("I look.".to_owned()),
                MessagePart::ToolCall(ToolCall {
                    id: "a".to_owned(),
                    name: "read".to_owned(),
                    arguments: json!({"path": "x"}),
                    signature: None,
                }),
            ]
        );
    }
}
