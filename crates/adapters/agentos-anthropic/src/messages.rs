//! The wire of `POST /v1/messages`.
//!
//! Owns: building the request and reading the answer. Never: accepts a stream without `message_stop` as complete.

use agentos_generic_http::{AnswerClose, AnswerPiece, Fault, ModelRequest, OptionalField, Reason, Wire};
use agentos_model::{CallPiece, ChatPiece, ThoughtPiece, ToolChoice, ToolSpec, WireAbilities};
use agentos_tool::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use crate::blocks::write_messages;
use crate::cache::mark_repeated;
use crate::thinking::ask_thinking;

/// Maximum tokens of an answer if no limit is set, because this wire requires `max_tokens`.
const DEFAULT_LIMIT: u64 = 8192;
/// Most tokens of the system prompt that the vendor adds to a request with tools. Its page about tool use lists 159 to 530 for its models.
const TOOL_PROMPT_TOKENS: u64 = 1_024;

/// End of an answer that filled the context window, which no limit of the request can make longer.
const WINDOW_IS_FULL: &str = "model_context_window_exceeded";

/// Fields that a server may refuse.
const OPTIONAL: [OptionalField; 7] = [
    OptionalField::new("temperature"),
    OptionalField::new("top_p"),
    OptionalField::new("stop_sequences"),
    OptionalField::new("tool_choice"),
    OptionalField::inside("output_config", "effort").asks_thinking(),
    OptionalField::new("output_config"),
    OptionalField::new("thinking").asks_thinking(),
];

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
        if let Some(system) = &job.chat.system {
            body.insert("system".to_owned(), system.as_str().into());
        }
        body.insert("messages".to_owned(), write_messages(job.messages).into());
        if job.stream {
            body.insert("stream".to_owned(), true.into());
        }
        if !job.chat.tools.is_empty() {
            body.insert(
                "tools".to_owned(),
                job.chat.tools.iter().map(write_tool).collect(),
            );
            if let Some(choice) = write_choice(&job.chat.tool_choice) {
                body.insert("tool_choice".to_owned(), choice);
            }
        }
        let thinking = ask_thinking(job, limit);
        let thinks = thinking.as_ref().is_some_and(|ask| ask.thinks);
        // Newer models answer 400 to any `temperature` or `top_p`, so neither is sent unless it is set. No model that is asked to think
        // takes another temperature (platform.claude.com/docs/en/build-with-claude/extended-thinking).
        if let Some(temperature) = job.temperature.filter(|_| !thinks) {
            body.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(top_p) = job.top_p.filter(|_| !thinks) {
            body.insert("top_p".to_owned(), top_p.into());
        }
        if !job.stop.is_empty() {
            body.insert("stop_sequences".to_owned(), json!(job.stop));
        }
        let mut output = Map::new();
        if let Some(schema) = &job.chat.answer_schema {
            output.insert(
                "format".to_owned(),
                json!({"type": "json_schema", "schema": schema}),
            );
        }
        if let Some(ask) = thinking {
            body.insert("thinking".to_owned(), ask.field);
            output.extend(ask.effort.map(|effort| ("effort".to_owned(), effort.into())));
        }
        if !output.is_empty() {
            body.insert("output_config".to_owned(), output.into());
        }
        mark_repeated(&mut body, job.chat.cache, job.stable_messages);
        Value::Object(body)
    }

    fn limit_sent(&self, job: &ModelRequest<'_>) -> Option<u64> {
        Some(job.max_tokens.unwrap_or(DEFAULT_LIMIT))
    }

    fn added_tokens(&self, job: &ModelRequest<'_>) -> u64 {
        match job.chat.tools.is_empty() {
            true => 0,
            false => TOOL_PROMPT_TOKENS,
        }
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let parts = body
            .get("content")
            .and_then(Value::as_array)
            .ok_or(Reason::Fields)?;
        let mut content = ChatPiece::default();
        for (at, part) in (0..).zip(parts) {
            let block = read_block(part, at);
            content.text.push_str(&block.text);
            content.thoughts.extend(block.thoughts);
            content.calls.extend(block.calls);
        }
        Ok(AnswerPiece {
            content,
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
            Some("content_block_start") => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                let mut content = read_block(block, position(event));
                // The arguments follow in pieces; what stands here is an empty object.
                content.calls.iter_mut().for_each(|call| call.arguments.clear());
                with_content(content)
            }
            Some("content_block_delta") => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                with_content(read_delta(delta, position(event)))
            }
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

    fn optional_fields(&self) -> &'static [OptionalField] {
        &OPTIONAL
    }

    fn abilities<'a>(&self, provider: &'a str) -> WireAbilities<'a> {
        WireAbilities {
            provider,
            tools: true,
            thinking: true,
            images: true,
            result_images: true,
            max_id_bytes: 64,
        }
    }
}

fn write_tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

fn write_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Named(name) => Some(json!({"type": "tool", "name": name})),
    }
}

fn with_content(content: ChatPiece) -> AnswerPiece {
    AnswerPiece {
        content,
        ..AnswerPiece::default()
    }
}

fn position(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or_default()
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Reads a whole block of the content.
fn read_block(block: &Value, position: u64) -> ChatPiece {
    let thought = |text, signature, is_encrypted| ChatPiece {
        thoughts: vec![ThoughtPiece {
            text,
            signature,
            is_encrypted,
            position: Some(position),
        }],
        ..ChatPiece::default()
    };
    match block.get("type").and_then(Value::as_str) {
        Some("tool_use") => ChatPiece {
            calls: vec![CallPiece {
                id: text_of(block, "id"),
                name: text_of(block, "name"),
                arguments: block.get("input").map(Value::to_string).unwrap_or_default(),
                signature: None,
                position: Some(position),
            }],
            ..ChatPiece::default()
        },
        Some("thinking") => thought(
            text_of(block, "thinking").unwrap_or_default(),
            // The block begins with an empty signature, and the true one follows.
            text_of(block, "signature").filter(|signature| !signature.is_empty()),
            false,
        ),
        Some("redacted_thinking") => thought(String::new(), text_of(block, "data"), true),
        // `text`, and blocks of types that were added later.
        Some(_) | None => ChatPiece::from_text(text_of(block, "text").unwrap_or_default()),
    }
}

/// Reads a piece of a block.
fn read_delta(delta: &Value, position: u64) -> ChatPiece {
    let thought = |text, signature| ChatPiece {
        thoughts: vec![ThoughtPiece {
            text,
            signature,
            is_encrypted: false,
            position: Some(position),
        }],
        ..ChatPiece::default()
    };
    match delta.get("type").and_then(Value::as_str) {
        Some("input_json_delta") => ChatPiece {
            calls: vec![CallPiece {
                arguments: text_of(delta, "partial_json").unwrap_or_default(),
                position: Some(position),
                ..CallPiece::default()
            }],
            ..ChatPiece::default()
        },
        Some("thinking_delta") => thought(text_of(delta, "thinking").unwrap_or_default(), None),
        Some("signature_delta") => thought(String::new(), text_of(delta, "signature")),
        Some(_) | None => ChatPiece::from_text(text_of(delta, "text").unwrap_or_default()),
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
        "max_tokens" | WINDOW_IS_FULL => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    });
    AnswerPiece {
        finish,
        ending: word
            .filter(|word| finish == Some(FinishReason::Unknown) || *word == WINDOW_IS_FULL)
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
        cache_write_tokens: written,
        output_tokens: count("output_tokens"),
        reasoning_tokens: None,
        stated_cost: None,
    }
}
