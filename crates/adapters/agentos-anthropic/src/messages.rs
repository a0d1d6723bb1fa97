//! The wire of `POST /v1/messages`.
//!
//! Owns: building the request and reading the answer. Never: accepts a stream without `message_stop` as complete.

use agentos_generic_http::{
    AnswerClose, AnswerPiece, Fault, ModelRequest, OfferedTool, Reason, ToolCall, Wire,
};
use agentos_tool::{FinishReason, Usage, prompt};
use serde_json::{Map, Value, json};

/// Maximum tokens of an answer if no limit is set, because this wire requires `max_tokens`.
const DEFAULT_LIMIT: u64 = 8192;

/// Wire of Anthropic's messages.
#[derive(Debug, Clone, Copy)]
pub struct MessagesWire;

impl Wire for MessagesWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        let mut body = Map::new();
        if let Some(model) = job.model {
            body.insert("model".to_owned(), model.into());
        }
        let limit = job.max_tokens.unwrap_or(DEFAULT_LIMIT);
        body.insert("max_tokens".to_owned(), limit.into());
        body.insert("system".to_owned(), prompt::system(job.task).into());
        let user = json!([{"role": "user", "content": prompt::user(job.task)}]);
        body.insert("messages".to_owned(), user);
        body.insert("stream".to_owned(), true.into());
        // Newer models answer 400 to any `temperature` or `top_p`, so neither is sent unless it is set.
        if let Some(temperature) = job.temperature {
            body.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(top_p) = job.top_p {
            body.insert("top_p".to_owned(), top_p.into());
        }
        if !job.stop.is_empty() {
            body.insert("stop_sequences".to_owned(), json!(job.stop));
        }
        if let Some(schema) = job.answer_schema() {
            let format = json!({"format": {"type": "json_schema", "schema": schema}});
            body.insert("output_config".to_owned(), format);
        }
        Value::Object(body)
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let parts = body
            .get("content")
            .and_then(Value::as_array)
            .ok_or(Reason::Fields)?;
        // Blocks of the types `thinking`, `redacted_thinking` and `tool_use` have no `text`, so they are left out.
        let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
        Ok(AnswerPiece {
            text: texts.collect(),
            usage: body.get("usage").map(|counts| read_usage(counts, true)),
            model: read_model_name(body),
            ..read_end(body.get("stop_reason"))
        })
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        Ok(match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                let message = event.get("message").unwrap_or(&Value::Null);
                AnswerPiece {
                    usage: message.get("usage").map(|counts| read_usage(counts, true)),
                    model: read_model_name(message),
                    ..AnswerPiece::default()
                }
            }
            Some("content_block_start") => text_at(event, "/content_block/text"),
            Some("content_block_delta") => text_at(event, "/delta/text"),
            // The stop reason alone is not the end: a stream is complete only with `message_stop`.
            Some("message_delta") => {
                let piece = read_end(event.pointer("/delta/stop_reason"));
                AnswerPiece {
                    close: piece.finish.map(|_| AnswerClose::Awaited),
                    usage: event.get("usage").map(|counts| read_usage(counts, false)),
                    ..piece
                }
            }
            Some("message_stop") => AnswerPiece {
                close: Some(AnswerClose::Seen),
                ..AnswerPiece::default()
            },
            // `ping`, `content_block_stop`, and types that were added later. Anthropic's documentation asks clients to ignore
            // unknown event types.
            Some(_) => AnswerPiece::default(),
            None => return Err(Fault::from(Reason::BrokenStream).with_message("an event has no `type`")),
        })
    }

    fn add_tool(&self, mut request: Value, tool: &OfferedTool) -> Option<Value> {
        let body = request.as_object_mut()?;
        for of_edits in ["stream", "system", "output_config"] {
            body.remove(of_edits);
        }
        let user = json!([{"role": "user", "content": tool.instruction}]);
        body.insert("messages".to_owned(), user);
        let tools = json!([{"name": tool.name, "description": tool.description, "input_schema": tool.argument_schema()}]);
        body.insert("tools".to_owned(), tools);
        Some(request)
    }

    fn read_calls(&self, body: &Value) -> Vec<ToolCall> {
        let parts = body
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        parts
            .filter(|part| part.get("type").and_then(Value::as_str) == Some("tool_use"))
            .map(|part| {
                let name = part.get("name").and_then(Value::as_str);
                ToolCall::new(name.unwrap_or_default(), part.get("input"))
            })
            .collect()
    }
}

fn text_at(event: &Value, pointer: &str) -> AnswerPiece {
    let text = event.pointer(pointer).and_then(Value::as_str);
    AnswerPiece {
        text: text.unwrap_or_default().to_owned(),
        ..AnswerPiece::default()
    }
}

fn read_model_name(body: &Value) -> Option<String> {
    let name = body.get("model")?.as_str()?;
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn read_end(reason: Option<&Value>) -> AnswerPiece {
    let word = reason.and_then(Value::as_str);
    let finish = word.map(|word| match word {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    });
    AnswerPiece {
        finish,
        ending: word
            .filter(|_| finish == Some(FinishReason::Unknown))
            .map(str::to_owned),
        ..AnswerPiece::default()
    }
}

/// Reads the counts of tokens. Input that was read from a cache or written to it is counted in fields of its own. The last event
/// of a stream may lack those fields, and then its input is not the complete one.
fn read_usage(usage: &Value, is_first: bool) -> Usage {
    let count = |name| usage.get(name).and_then(Value::as_u64);
    let (read, written) = (
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
    );
    let is_all = is_first || read.is_some() || written.is_some();
    Usage {
        input_tokens: count("input_tokens")
            .filter(|_| is_all)
            // `input_tokens` counts only what was neither read from the cache nor written to it.
            .map(|rest| rest + read.unwrap_or(0) + written.unwrap_or(0)),
        cached_tokens: read,
        output_tokens: count("output_tokens"),
        reasoning_tokens: None,
    }
}
