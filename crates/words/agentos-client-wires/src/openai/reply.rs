//! Answers in OpenAI's form: one document, or chunks.
//!
//! Owns: that form. Never: writes `[DONE]` behind an answer that has no end.

use agentos_model::{CallPiece, ChatEvent, ChatReply, MessagePart};
use agentos_tool::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use crate::seal::seal_call;
use crate::wire::{ReplyFacts, write_sse};

/// Writes a complete answer.
pub fn write_reply(facts: &ReplyFacts, reply: &ChatReply) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let calls = reply.message.parts.iter().filter_map(|part| match part {
        MessagePart::ToolCall(call) => {
            let signature = call.signature.as_ref();
            let id = match signature {
                Some(signature) => seal_call(&call.id, &signature.provider, Some(&signature.mark)),
                None => call.id.clone(),
            };
            // A model may have written arguments that are not JSON; the client sees them as they are.
            let arguments = match &call.arguments {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            Some(json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments}}))
        }
        MessagePart::Text(_) | MessagePart::Image(_) | MessagePart::ToolResult(_) | MessagePart::Thinking(_) => None,
    });
    let calls: Vec<Value> = calls.collect();
    let thinking = reply.message.parts.iter().filter_map(|part| match part {
        MessagePart::Thinking(thinking) => Some(thinking.text.as_str()),
        MessagePart::Text(_)
        | MessagePart::Image(_)
        | MessagePart::ToolResult(_)
        | MessagePart::ToolCall(_) => None,
    });
    let thinking: String = thinking.collect();
    let has_text = !reply.text.is_empty() || calls.is_empty();
    message.insert("content".to_owned(), has_text.then(|| reply.text.clone()).into());
    message.insert("refusal".to_owned(), Value::Null);
    if !thinking.is_empty() {
        message.insert("reasoning_content".to_owned(), thinking.into());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish_word(reply.end.finish),
    });
    json!({
        "id": facts.id, "object": "chat.completion", "created": facts.created, "model": facts.model,
        "choices": [choice],
        // Zeros would be taken for counts.
        "usage": reply.usage.as_ref().map(write_usage),
    })
}

/// Returns OpenAI's word for the end of an answer. It has none for an unknown reason.
fn finish_word(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop | FinishReason::Unknown => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ToolCalls => "tool_calls",
    }
}

/// Writes the counts of tokens. OpenAI counts cached input and reasoning as parts of the whole, as we do.
fn write_usage(usage: &Usage) -> Value {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens.unwrap_or(0)},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens.unwrap_or(0)},
    })
}

/// Writer of chunks.
#[derive(Debug)]
pub struct ChunkWriter {
    facts: ReplyFacts,
    reports_usage: bool,
    has_begun: bool,
    usage: Option<Usage>,
    /// Position and id of each call that has begun, in the order of their indices.
    calls: Vec<(Option<u64>, Option<String>)>,
}

impl ChunkWriter {
    /// Makes a writer of one answer.
    pub fn new(facts: ReplyFacts, reports_usage: bool) -> Self {
        Self {
            facts,
            reports_usage,
            has_begun: false,
            usage: None,
            calls: Vec::new(),
        }
    }

    /// Appends the chunks of an event.
    pub fn write_event(&mut self, event: &ChatEvent, out: &mut String) {
        match event {
            // A word for a person, which no field of this form has room for.
            // A client cannot take back what it was sent.
            ChatEvent::Note { .. } | ChatEvent::TextWasThinking => {}
            ChatEvent::Text { text } => self.write_delta(json!({"content": text}), out),
            // The name that DeepSeek, vLLM and llama.cpp use; OpenAI itself shows no thinking here.
            ChatEvent::Thinking(thought) if !thought.text.is_empty() => {
                self.write_delta(json!({"reasoning_content": thought.text}), out);
            }
            ChatEvent::Thinking(_) => {}
            ChatEvent::ToolCall(piece) => {
                let call = self.write_call(piece);
                self.write_delta(json!({"tool_calls": [call]}), out);
            }
            ChatEvent::Usage(usage) => self.usage = Some(*usage),
            ChatEvent::Finish(end) => {
                self.begin(out);
                self.write_chunk(json!({}), Some(finish_word(end.finish)), out);
                if self.reports_usage {
                    let usage = self.usage.as_ref().map(write_usage);
                    let chunk = self.chunk(json!([]), usage);
                    write_sse(None, &chunk, out);
                }
                // OpenAI's own end, which is no JSON. Clients without it wait for the connection to close.
                out.push_str("data: [DONE]\n\n");
            }
        }
    }

    /// Writes a piece of a call. Its first piece has id, type and name; the others have the index alone.
    fn write_call(&mut self, piece: &CallPiece) -> Value {
        let same = |(at, id): &(Option<u64>, Option<String>)| {
            at.is_some() && *at == piece.position && (piece.id.is_none() || *id == piece.id)
        };
        let arguments = &piece.arguments;
        if let Some(index) = self.calls.iter().position(same) {
            return json!({"index": index, "function": {"arguments": arguments}});
        }
        let index = self.calls.len();
        self.calls.push((piece.position, piece.id.clone()));
        let id = piece.id.clone().filter(|id| !id.is_empty());
        // Gemini and Ollama give calls no ids, and results are matched by them.
        let id = id.unwrap_or_else(|| format!("call_{index}"));
        let id = seal_call(&id, &self.facts.provider, piece.signature.as_deref());
        json!({
            "index": index, "id": id, "type": "function",
            "function": {"name": piece.name.as_deref().unwrap_or_default(), "arguments": arguments},
        })
    }

    /// Writes the role, which the first chunk has.
    fn begin(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.write_chunk(json!({"role": "assistant", "content": ""}), None, out);
        }
    }

    fn write_delta(&mut self, delta: Value, out: &mut String) {
        self.begin(out);
        self.write_chunk(delta, None, out);
    }

    fn write_chunk(&self, delta: Value, finish: Option<&str>, out: &mut String) {
        let choices = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        write_sse(None, &self.chunk(choices, None), out);
    }

    fn chunk(&self, choices: Value, usage: Option<Value>) -> Value {
        let ReplyFacts {
            id, model, created, ..
        } = &self.facts;
        let mut chunk = json!({
            "id": id, "object": "chat.completion.chunk", "created": created, "model": model, "choices": choices,
        });
        // Every chunk has the field if usage was requested, and it is null in all but the last (OpenAI's reference).
        if self.reports_usage
            && let Some(map) = chunk.as_object_mut()
        {
            map.insert("usage".to_owned(), usage.into());
        }
        chunk
    }
}
