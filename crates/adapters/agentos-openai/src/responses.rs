//! The wire of `POST {base}/responses`.
//!
//! Owns: building the request, and reading the answers of OpenAI's newer API. Never: lets the server store a conversation, or
//! sends thinking back without the server's own signature.
//!
//! | canonical | here |
//! |---|---|
//! | system prompt | `instructions` |
//! | texts and images of the user | an item `message` with `input_text` and `input_image` |
//! | text of the model | an item `message` with its text |
//! | call, result | items `function_call` and `function_call_output` |
//! | thinking with its signature | an item `reasoning`; the signature is its id and its encrypted content, joined by a blank |

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use agentos_generic_http::{
    AnswerPiece, Fault, ModelRequest, OptionalField, Reason, Wire, judge_failed_answer,
};
use agentos_model::{
    CallPiece, ChatMessage, ChatPiece, ChatRole, ImageData, MessagePart, ThinkingPart, ThoughtPiece,
    ToolCall, ToolChoice, ToolResult, ToolSpec, WireAbilities,
};
use agentos_net::HttpUrl;
use agentos_tool::{ExactCost, FinishReason, Usage};
use serde_json::{Map, Value, json};

/// Fields that a server may refuse.
const OPTIONAL: [OptionalField; 8] = [
    OptionalField::new("include"),
    OptionalField::new("store"),
    OptionalField::new("max_output_tokens").limit(None),
    OptionalField::new("temperature"),
    OptionalField::new("top_p"),
    OptionalField::new("tool_choice"),
    OptionalField::new("text"),
    OptionalField::new("reasoning").asks_thinking(),
];

/// Wire of OpenAI's responses.
#[derive(Debug, Clone, Copy)]
pub struct ResponsesWire;

impl ResponsesWire {
    /// Returns the address of this wire below a base URL that ends with the version.
    #[must_use]
    pub fn url_below(base: &HttpUrl) -> HttpUrl {
        base.join("responses")
    }
}

impl Wire for ResponsesWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        let mut body = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            body.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("model", job.model.map(Value::from));
        set("instructions", job.chat.system.as_deref().map(Value::from));
        set("input", Some(write_items(job.messages).into()));
        // By default the server keeps every conversation for 30 days.
        set("store", Some(false.into()));
        // Without a stored conversation, the server accepts its thinking back only in this form.
        set("include", Some(json!(["reasoning.encrypted_content"])));
        set("stream", job.stream.then(|| true.into()));
        if !job.chat.tools.is_empty() {
            set("tools", Some(job.chat.tools.iter().map(write_tool).collect()));
            set("tool_choice", write_choice(&job.chat.tool_choice));
        }
        set("max_output_tokens", job.max_tokens.map(Value::from));
        set("temperature", job.temperature.map(Value::from));
        set("top_p", job.top_p.map(Value::from));
        // This API has neither a seed nor texts at which an answer ends.
        let format = job.chat.answer_schema.as_ref().map(|schema| match job.chat.wants_any_object() {
            true => json!({"format": {"type": "json_object"}}),
            false => {
                json!({"format": {"type": "json_schema", "name": "edits", "strict": true, "schema": schema}})
            }
        });
        set("text", format);
        let effort = job.thinking.map(|level| json!({"effort": level.effort()}));
        set("reasoning", effort);
        Value::Object(body)
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let items = body
            .get("output")
            .and_then(Value::as_array)
            .ok_or(Reason::Fields)?;
        let mut piece = read_end(body)?;
        for (position, item) in (0..).zip(items) {
            read_item(item, position, &mut piece);
        }
        Ok(piece)
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        let delta = || {
            event
                .get("delta")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let position = find_position(event);
        let item = event.get("item").unwrap_or(&Value::Null);
        let mut piece = AnswerPiece::default();
        match event.get("type").and_then(Value::as_str) {
            Some("response.output_text.delta") => piece.content.text = delta(),
            Some("response.refusal.delta") => piece.refusal = delta(),
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                piece.content.thoughts.push(ThoughtPiece {
                    text: delta(),
                    position,
                    ..ThoughtPiece::default()
                })
            }
            Some("response.output_item.added") if is_kind(item, "function_call") => {
                // The arguments follow in pieces; what stands here is empty.
                piece.content.calls.push(CallPiece {
                    arguments: String::new(),
                    ..read_call(item, position)
                });
            }
            Some("response.function_call_arguments.delta") => piece.content.calls.push(CallPiece {
                arguments: delta(),
                position,
                ..CallPiece::default()
            }),
            // The text has arrived in pieces; only the finished item has the encrypted content.
            Some("response.output_item.done") if is_kind(item, "reasoning") => {
                piece.content.thoughts.push(ThoughtPiece {
                    signature: read_signature(item),
                    position,
                    ..ThoughtPiece::default()
                });
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                return read_end(event.get("response").unwrap_or(&Value::Null));
            }
            // Beginnings and repetitions of what the other events have, and types that were added later.
            Some(_) => {}
            None => return Err(Fault::from(Reason::BrokenStream).with_message("an event has no `type`")),
        }
        Ok(piece)
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
            result_images: false,
            // The limit of `call_id` in the API's description.
            max_id_bytes: 64,
        }
    }
}

fn write_tool(tool: &ToolSpec) -> Value {
    // Strict mode, the default here, refuses schemas with optional arguments.
    json!({"type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.input_schema, "strict": false})
}

fn write_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({"type": "function", "name": name})),
    }
}

/// Writes prepared messages as a flat list of items.
fn write_items(messages: &[ChatMessage]) -> Vec<Value> {
    let mut items = Vec::new();
    for message in messages {
        let mut content = Vec::new();
        for part in &message.parts {
            match (part, message.role) {
                (MessagePart::Text(text), ChatRole::User) => {
                    content.push(json!({"type": "input_text", "text": text}));
                }
                (MessagePart::Text(text), ChatRole::Assistant) => {
                    items.push(json!({"type": "message", "role": "assistant", "content": text}));
                }
                (MessagePart::Image(image), _) => content.push(write_image(image)),
                (MessagePart::ToolCall(call), _) => items.push(write_call(call)),
                (MessagePart::ToolResult(result), _) => items.push(write_result(result)),
                (MessagePart::Thinking(thinking), _) => items.extend(write_thinking(thinking)),
            }
        }
        if !content.is_empty() {
            items.push(json!({"type": "message", "role": "user", "content": content}));
        }
    }
    items
}

fn write_image(image: &ImageData) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.base64);
    json!({"type": "input_image", "image_url": url})
}

fn write_call(call: &ToolCall) -> Value {
    json!({"type": "function_call", "call_id": call.id, "name": call.name,
        "arguments": call.arguments.to_string()})
}

fn write_result(result: &ToolResult) -> Value {
    let output = match result.is_error {
        // The wire has no field for it.
        true => format!("Error: {}", result.text),
        false => result.text.clone(),
    };
    json!({"type": "function_call_output", "call_id": result.tool_use_id, "output": output})
}

/// Writes thinking. `None` if its signature is not one of this wire.
fn write_thinking(thinking: &ThinkingPart) -> Option<Value> {
    let (id, encrypted) = thinking.signature.as_deref()?.split_once(' ')?;
    let summary = Some(&thinking.text).filter(|text| !text.is_empty());
    let summary: Vec<Value> = summary
        .iter()
        .map(|text| json!({"type": "summary_text", "text": text}))
        .collect();
    Some(json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": encrypted}))
}

fn is_kind(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

fn read_item(item: &Value, position: u64, piece: &mut AnswerPiece) {
    let content = &mut piece.content;
    match item.get("type").and_then(Value::as_str) {
        Some("message") => {
            for part in item
                .get("content")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let text = |name| part.get(name).and_then(Value::as_str).unwrap_or_default();
                content.text.push_str(text("text"));
                piece.refusal.push_str(text("refusal"));
            }
        }
        Some("function_call") => content.calls.push(read_call(item, None)),
        Some("reasoning") => read_reasoning(item, position, content),
        // Results of the server's own tools, which are not offered.
        Some(_) | None => {}
    }
}

fn read_reasoning(item: &Value, position: u64, content: &mut ChatPiece) {
    let summary = item
        .get("summary")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let texts: Vec<&str> = summary.filter_map(|part| part.get("text")?.as_str()).collect();
    let thought = ThoughtPiece {
        text: texts.join("\n"),
        signature: read_signature(item),
        is_encrypted: false,
        position: Some(position),
    };
    if !thought.text.is_empty() || thought.signature.is_some() {
        content.thoughts.push(thought);
    }
}

fn read_signature(item: &Value) -> Option<String> {
    let text = |name| {
        item.get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    Some(format!("{} {}", text("id")?, text("encrypted_content")?))
}

/// Returns the position of the item that an event is about. `None` if it names none.
///
/// llama.cpp (build 11549) leaves `output_index` out and names items by their ids alone. A hash of the id is a position as good as
/// any: positions are only compared.
fn find_position(event: &Value) -> Option<u64> {
    let stated = event.get("output_index").and_then(Value::as_u64);
    let id = || {
        event
            .get("item_id")
            .or_else(|| event.get("item")?.get("id"))
            .and_then(Value::as_str)
    };
    stated.or_else(|| {
        let mut hasher = DefaultHasher::new();
        id()?.hash(&mut hasher);
        Some(hasher.finish())
    })
}

fn read_call(item: &Value, position: Option<u64>) -> CallPiece {
    let text = |name| item.get(name).and_then(Value::as_str).map(str::to_owned);
    CallPiece {
        id: text("call_id"),
        name: text("name"),
        arguments: text("arguments").unwrap_or_default(),
        signature: None,
        position,
    }
}

/// Reads what a whole response says besides its items.
///
/// # Errors
/// If the response failed.
fn read_end(response: &Value) -> Result<AnswerPiece, Fault> {
    let word = |pointer| response.pointer(pointer).and_then(Value::as_str);
    let items = response
        .get("output")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut piece = AnswerPiece {
        model: word("/model").map(str::to_owned),
        usage: response
            .get("usage")
            .filter(|usage| usage.is_object())
            .map(read_usage),
        ..AnswerPiece::default()
    };
    piece.finish = match word("/status") {
        Some("completed") if items.into_iter().any(|item| is_kind(item, "function_call")) => {
            Some(FinishReason::ToolCalls)
        }
        Some("completed") => Some(FinishReason::Stop),
        Some("incomplete") => Some(match word("/incomplete_details/reason") {
            Some("max_output_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            other => {
                piece.ending = other.map(str::to_owned);
                // Whatever the reason is, the server says that the answer is not complete.
                FinishReason::Length
            }
        }),
        Some("failed" | "cancelled") => return Err(judge_failed_answer(response)),
        // Still in progress: an answer that was cut off by a proxy.
        Some(_) => None,
        None => return Err(Reason::Fields.into()),
    };
    Ok(piece)
}

fn read_usage(usage: &Value) -> Usage {
    let count = |pointer| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: count("/input_tokens"),
        cached_tokens: count("/input_tokens_details/cached_tokens"),
        cache_write_tokens: None,
        output_tokens: count("/output_tokens"),
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
        stated_cost: ExactCost::read_stated(usage),
    }
}
