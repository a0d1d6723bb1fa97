//! Responses as documents, and the items of their output.
//!
//! Owns: these forms. Never: calls a response complete that has no end.

use agentos_model::{ChatReply, MessagePart};
use agentos_tool::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::tools::{ToolForm, unwrap_input};
use crate::seal::{seal_call, seal_item};
use crate::wire::ReplyFacts;

/// State of a response or an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemStatus {
    /// More follows.
    InProgress,
    /// Complete.
    Completed,
    /// Cut off by a limit or a filter.
    Incomplete,
    /// Ended by a failure.
    Failed,
}

impl ItemStatus {
    /// Returns the state at the end of an answer.
    pub fn at_end(finish: FinishReason) -> Self {
        match finish {
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Unknown => Self::Completed,
            FinishReason::Length | FinishReason::ContentFilter => Self::Incomplete,
        }
    }

    /// Returns OpenAI's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        }
    }
}

/// Writes a complete answer.
pub fn write_reply(facts: &ReplyFacts, reply: &ChatReply) -> Value {
    let status = ItemStatus::at_end(reply.end.finish);
    let parts = &reply.message.parts;
    let items = parts.iter().enumerate().filter_map(|(at, part)| {
        // Only the last item can be cut off.
        let status = match at + 1 == parts.len() {
            true => status,
            false => ItemStatus::Completed,
        };
        write_part(facts, part, at, status)
    });
    let items: Vec<Value> = items.collect();
    let usage = reply.usage.as_ref();
    let mut response = write_response(facts, status, &items, usage);
    note_end(&mut response, reply.end.finish);
    Value::Object(response)
}

fn write_part(facts: &ReplyFacts, part: &MessagePart, at: usize, status: ItemStatus) -> Option<Value> {
    Some(match part {
        MessagePart::Text(text) => write_message(&item_id(facts, "msg", at), Some(text), status),
        MessagePart::ToolCall(call) => {
            let call_id = match &call.signature {
                Some(signature) => seal_call(&call.id, &signature.provider, Some(&signature.mark)),
                None => call.id.clone(),
            };
            // A model may have written arguments that are not JSON; the client sees them as they are.
            let arguments = match &call.arguments {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let written = WrittenCall {
                id: item_id(facts, "fc", at),
                call_id,
                form: facts.echo.tools.find(&call.name),
            };
            written.to_item(&arguments, status)
        }
        MessagePart::Thinking(thinking) => {
            let sealed = seal_item(
                &thinking.provider,
                thinking.signature.as_deref(),
                thinking.is_encrypted,
            );
            write_reasoning(&item_id(facts, "rs", at), &thinking.text, Some(sealed))
        }
        // A model answers with neither.
        MessagePart::Image(_) | MessagePart::ToolResult(_) => return None,
    })
}

/// Returns the id of an item.
pub fn item_id(facts: &ReplyFacts, kind: &str, at: usize) -> String {
    format!("{kind}_{}_{at}", facts.id.trim_start_matches("resp_"))
}

/// Writes a response. `usage` is null until it is known: zeros would be taken for counts.
pub fn write_response(
    facts: &ReplyFacts,
    status: ItemStatus,
    output: &[Value],
    usage: Option<&Usage>,
) -> Map<String, Value> {
    let mut response = facts.echo.fields.clone();
    let own = [
        ("id", json!(facts.id)),
        ("object", json!("response")),
        ("created_at", json!(facts.created)),
        ("status", json!(status.as_str())),
        ("model", json!(facts.model)),
        ("output", json!(output)),
        ("error", Value::Null),
        ("incomplete_details", Value::Null),
        // Whatever the client wanted.
        ("store", json!(false)),
        ("previous_response_id", Value::Null),
        ("background", json!(false)),
        ("truncation", json!("disabled")),
        ("reasoning", json!({"effort": null, "summary": null})),
        ("usage", usage.map(write_usage).into()),
    ];
    response.extend(own.map(|(name, value)| (name.to_owned(), value)));
    response
}

/// Adds why a response is not complete, if it is not.
pub fn note_end(response: &mut Map<String, Value>, finish: FinishReason) {
    let reason = match finish {
        FinishReason::Length => "max_output_tokens",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Unknown => return,
    };
    response.insert("incomplete_details".to_owned(), json!({"reason": reason}));
}

/// Writes the counts of tokens. OpenAI counts cached input and reasoning as parts of the sums, as we do.
fn write_usage(usage: &Usage) -> Value {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens.unwrap_or(0),
            "cache_write_tokens": usage.cache_write_tokens.unwrap_or(0),
        },
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens.unwrap_or(0)},
        "total_tokens": input.saturating_add(output),
    })
}

/// Writes a part of a message.
pub fn write_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

/// Writes a message. `text` is `None` before its first piece.
pub fn write_message(id: &str, text: Option<&str>, status: ItemStatus) -> Value {
    let content: Vec<Value> = text.map(write_text).into_iter().collect();
    json!({"type": "message", "id": id, "role": "assistant", "status": status.as_str(), "content": content})
}

/// Writes reasoning. The summary is the thinking that the provider shows, as one part.
pub fn write_reasoning(id: &str, text: &str, sealed: Option<String>) -> Value {
    let summary: Vec<Value> = match text {
        "" => Vec::new(),
        text => vec![json!({"type": "summary_text", "text": text})],
    };
    json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": sealed})
}

/// Call of a tool with everything but its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenCall {
    /// Id of the item.
    pub id: String,
    /// Id that the result refers to, sealed.
    pub call_id: String,
    /// Tool as the client names it.
    pub form: ToolForm,
}

impl WrittenCall {
    /// Writes the item.
    pub fn to_item(&self, arguments: &str, status: ItemStatus) -> Value {
        let ToolForm {
            namespace,
            name,
            is_custom,
        } = &self.form;
        let mut item = Map::new();
        let mut set = |name: &str, value: Value| item.insert(name.to_owned(), value);
        set("id", json!(self.id));
        set("call_id", json!(self.call_id));
        set("name", json!(name));
        set("status", json!(status.as_str()));
        match is_custom {
            true => {
                set("type", json!("custom_tool_call"));
                set("input", unwrap_input(arguments).into());
            }
            false => {
                set("type", json!("function_call"));
                set("arguments", json!(arguments));
            }
        }
        if let Some(namespace) = namespace {
            set("namespace", json!(namespace));
        }
        Value::Object(item)
    }
}
