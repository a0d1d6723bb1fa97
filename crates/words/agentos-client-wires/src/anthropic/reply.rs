//! Answers in Anthropic's form: one document, or events.
//!
//! Owns: that form, and the block that is open in a stream. Never: writes `message_stop` behind an answer that has no end.

use agentos_model::{CallPiece, ChatEvent, ChatReply, MessagePart, ThoughtPiece};
use agentos_tool::{FinishReason, Usage};
use serde_json::{Value, json};

use crate::fault::ClientFault;
use crate::seal::{seal_call, seal_thinking};
use crate::wire::{ClientWire, ReplyFacts, write_sse};

/// Writes a complete answer.
pub fn write_reply(facts: &ReplyFacts, reply: &ChatReply) -> Value {
    let blocks: Vec<Value> = reply.message.parts.iter().filter_map(write_part).collect();
    json!({
        "id": facts.id, "type": "message", "role": "assistant", "model": facts.model, "content": blocks,
        "stop_reason": stop_word(reply.end.finish), "stop_sequence": null,
        "usage": write_usage(&reply.usage.unwrap_or_default()),
    })
}

fn write_part(part: &MessagePart) -> Option<Value> {
    Some(match part {
        MessagePart::Text(text) => json!({"type": "text", "text": text}),
        MessagePart::ToolCall(call) => {
            let id = match &call.signature {
                Some(signature) => seal_call(&call.id, &signature.provider, Some(&signature.mark)),
                None => call.id.clone(),
            };
            // Clients require an object; what is none is shown under a name that no schema has.
            let input = match &call.arguments {
                Value::Object(_) => call.arguments.clone(),
                other => json!({"_invalid_arguments": other}),
            };
            json!({"type": "tool_use", "id": id, "name": call.name, "input": input})
        }
        MessagePart::Thinking(thinking) => {
            let sealed = seal_thinking(&thinking.provider, thinking.signature.as_deref());
            match thinking.is_encrypted {
                true => json!({"type": "redacted_thinking", "data": sealed}),
                false => json!({"type": "thinking", "thinking": thinking.text, "signature": sealed}),
            }
        }
        // A model answers with neither.
        MessagePart::Image(_) | MessagePart::ToolResult(_) => return None,
    })
}

/// Returns Anthropic's word for the end of an answer. It has none for an unknown reason.
fn stop_word(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop | FinishReason::Unknown => "end_turn",
        FinishReason::Length => "max_tokens",
        FinishReason::ContentFilter => "refusal",
        FinishReason::ToolCalls => "tool_use",
    }
}

/// Writes the counts of tokens. Anthropic counts input that was read from the cache or written to it apart from the rest.
fn write_usage(usage: &Usage) -> Value {
    let (read, written) = (
        usage.cached_tokens.unwrap_or(0),
        usage.cache_write_tokens.unwrap_or(0),
    );
    let rest = usage.input_tokens.unwrap_or(0);
    json!({
        "input_tokens": rest.saturating_sub(read).saturating_sub(written),
        "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
        "output_tokens": usage.output_tokens.unwrap_or(0),
    })
}

/// Kind of the block that is open, with what distinguishes its pieces from those of the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OpenBlock {
    Text,
    Thinking(Option<u64>),
    Call(Option<u64>, Option<String>),
}

/// Writer of events.
///
/// | state | next events |
/// |---|---|
/// | nothing written | `message_start` |
/// | no block open | `content_block_start` |
/// | block open, piece of the same block | `content_block_delta` |
/// | block open, piece of another block | `content_block_stop`, then as with no block open |
/// | end | `content_block_stop` if a block is open, `message_delta`, `message_stop` |
#[derive(Debug)]
pub struct EventWriter {
    facts: ReplyFacts,
    has_begun: bool,
    open: Option<OpenBlock>,
    /// Index of the next block.
    next: usize,
    /// Signature of the thinking that is open, which is written when it ends: vendors may send it in pieces.
    signature: Option<String>,
    usage: Usage,
}

impl EventWriter {
    /// Makes a writer of one answer.
    pub fn new(facts: ReplyFacts) -> Self {
        Self {
            facts,
            has_begun: false,
            open: None,
            next: 0,
            signature: None,
            usage: Usage::default(),
        }
    }

    /// Appends the events of an event.
    pub fn write_event(&mut self, event: &ChatEvent, out: &mut String) {
        match event {
            // A word for a person, which no field of this form has room for.
            // A client cannot take back what it was sent.
            ChatEvent::Note { .. } | ChatEvent::TextWasThinking => {}
            ChatEvent::Text { text } => {
                if self.open != Some(OpenBlock::Text) {
                    self.start_block(OpenBlock::Text, &json!({"type": "text", "text": ""}), out);
                }
                self.write_delta(&json!({"type": "text_delta", "text": text}), out);
            }
            ChatEvent::Thinking(thought) => self.write_thought(thought, out),
            ChatEvent::ToolCall(piece) => self.write_call(piece, out),
            ChatEvent::Usage(usage) => self.usage = *usage,
            ChatEvent::Finish(end) => {
                self.begin(out);
                self.stop_block(out);
                let delta = json!({"stop_reason": stop_word(end.finish), "stop_sequence": null});
                let data =
                    json!({"type": "message_delta", "delta": delta, "usage": write_usage(&self.usage)});
                write_sse(Some("message_delta"), &data, out);
                write_sse(Some("message_stop"), &json!({"type": "message_stop"}), out);
            }
        }
    }

    /// Appends the event of a failure, after which nothing follows.
    pub fn write_fault(&self, fault: &ClientFault, out: &mut String) {
        let request = self
            .facts
            .id
            .replacen(ClientWire::Anthropic.id_prefix(), "req_", 1);
        write_sse(
            Some("error"),
            &fault.to_body(ClientWire::Anthropic, Some(&request)),
            out,
        );
    }

    fn write_thought(&mut self, thought: &ThoughtPiece, out: &mut String) {
        if thought.is_encrypted {
            let sealed = seal_thinking(&self.facts.provider, thought.signature.as_deref());
            let block = json!({"type": "redacted_thinking", "data": sealed});
            self.start_block(OpenBlock::Thinking(thought.position), &block, out);
            // It has no pieces, and what follows is another block.
            self.write_stop(out);
            return;
        }
        let wanted = OpenBlock::Thinking(thought.position);
        if self.open.as_ref() != Some(&wanted) {
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            self.start_block(wanted, &block, out);
        }
        if !thought.text.is_empty() {
            self.write_delta(&json!({"type": "thinking_delta", "thinking": thought.text}), out);
        }
        if let Some(signature) = &thought.signature {
            self.signature.get_or_insert_default().push_str(signature);
        }
    }

    fn write_call(&mut self, piece: &CallPiece, out: &mut String) {
        let is_same = match &self.open {
            Some(OpenBlock::Call(at, id)) => {
                at.is_some() && *at == piece.position && (piece.id.is_none() || *id == piece.id)
            }
            Some(OpenBlock::Text | OpenBlock::Thinking(_)) | None => false,
        };
        if !is_same {
            let id = piece.id.clone().filter(|id| !id.is_empty());
            // Gemini and Ollama give calls no ids, and results are matched by them.
            let id = id.unwrap_or_else(|| format!("call_{}", self.next));
            let id = seal_call(&id, &self.facts.provider, piece.signature.as_deref());
            let name = piece.name.as_deref().unwrap_or_default();
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            self.start_block(OpenBlock::Call(piece.position, piece.id.clone()), &block, out);
        }
        if !piece.arguments.is_empty() {
            let delta = json!({"type": "input_json_delta", "partial_json": piece.arguments});
            self.write_delta(&delta, out);
        }
    }

    fn begin(&mut self, out: &mut String) {
        // With the first piece and not before it: until then, the answer can still be a failure with a status of its own.
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let message = json!({
            "id": self.facts.id, "type": "message", "role": "assistant", "model": self.facts.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": write_usage(&self.usage),
        });
        let data = json!({"type": "message_start", "message": message});
        write_sse(Some("message_start"), &data, out);
    }

    fn start_block(&mut self, kind: OpenBlock, block: &Value, out: &mut String) {
        self.begin(out);
        self.stop_block(out);
        let data = json!({"type": "content_block_start", "index": self.next, "content_block": block});
        write_sse(Some("content_block_start"), &data, out);
        self.open = Some(kind);
    }

    fn write_delta(&self, delta: &Value, out: &mut String) {
        let data = json!({"type": "content_block_delta", "index": self.next, "delta": delta});
        write_sse(Some("content_block_delta"), &data, out);
    }

    fn stop_block(&mut self, out: &mut String) {
        if matches!(self.open, Some(OpenBlock::Thinking(_))) {
            // Also without a signature: it says whose thinking this is.
            let sealed = seal_thinking(&self.facts.provider, self.signature.take().as_deref());
            self.write_delta(&json!({"type": "signature_delta", "signature": sealed}), out);
        }
        // A client opens the next block only after this one has ended, because both would have the same index otherwise.
        if self.open.is_some() {
            self.write_stop(out);
        }
    }

    fn write_stop(&mut self, out: &mut String) {
        let data = json!({"type": "content_block_stop", "index": self.next});
        write_sse(Some("content_block_stop"), &data, out);
        self.next += 1;
        self.open = None;
    }
}
