//! The wire of `POST /api/chat`.
//!
//! Owns: building the request and reading the answer. Never: reads the end of loading a model as the end of an answer.

use agentos_generic_http::{
    AnswerPiece, Fault, ModelRequest, OptionalField, Reason, Wire, read_functions, write_function,
};
use agentos_model::{
    CallPiece, ChatMessage, ChatPiece, ChatRole, ImageData, MessagePart, ThoughtPiece, ToolChoice,
    WireAbilities,
};
use agentos_tool::{FinishReason, ThinkingLevel, Usage};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Maximum tokens of an answer if no limit is set. The server has no limit of its own, so a model that repeats itself would not
/// stop.
pub(crate) const DEFAULT_LIMIT: u64 = 4096;

/// Fields that a server may refuse.
const OPTIONAL: [OptionalField; 7] = [
    OptionalField::new("truncate"),
    OptionalField::new("format"),
    OptionalField::new("think").asks_thinking().with_switch(),
    OptionalField::inside("options", "temperature"),
    OptionalField::inside("options", "top_p"),
    OptionalField::inside("options", "seed"),
    OptionalField::inside("options", "stop"),
];

/// Wire of Ollama's chat, with the context length to request.
#[derive(Debug, Clone, Copy)]
pub struct OllamaWire {
    context: u64,
}

impl OllamaWire {
    /// Makes the wire for a context of so many tokens.
    #[must_use]
    pub fn new(context: u64) -> Self {
        Self { context }
    }
}

impl Wire for OllamaWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        let mut options = Map::new();
        options.insert("num_ctx".to_owned(), self.context.into());
        let limit = job.max_tokens.unwrap_or(DEFAULT_LIMIT);
        options.insert("num_predict".to_owned(), limit.into());
        if let Some(temperature) = job.temperature {
            options.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(top_p) = job.top_p {
            options.insert("top_p".to_owned(), top_p.into());
        }
        if let Some(seed) = job.seed {
            options.insert("seed".to_owned(), seed.into());
        }
        if !job.stop.is_empty() {
            options.insert("stop".to_owned(), json!(job.stop));
        }
        let mut body = json!({
            "messages": write_messages(job.chat.system.as_deref(), job.messages),
            // Ollama streams unless `stream` is false.
            "stream": job.stream,
            // By default Ollama drops the beginning of a prompt that is too long, without an error.
            "truncate": false,
            "options": options,
        });
        if let Some(body) = body.as_object_mut() {
            if let Some(model) = job.model {
                body.insert("model".to_owned(), model.into());
            }
            if let Some(schema) = &job.chat.answer_schema {
                body.insert("format".to_owned(), schema.clone());
            }
            if let Some(level) = job.thinking {
                body.insert("think".to_owned(), write_thinking(level));
            }
            // The wire has no choice of tools: without tools the model calls none, which is the nearest to `Never`.
            if !job.chat.tools.is_empty() && job.chat.tool_choice != ToolChoice::Never {
                let tools = job.chat.tools.iter().map(write_function);
                body.insert("tools".to_owned(), tools.collect());
            }
        }
        body
    }

    fn limit_sent(&self, job: &ModelRequest<'_>) -> Option<u64> {
        Some(job.max_tokens.unwrap_or(DEFAULT_LIMIT))
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let missing = || Fault::from(Reason::Fields).with_message("the answer has no `message`");
        let message = body
            .get("message")
            .filter(|message| message.is_object())
            .ok_or_else(missing)?;
        let text = message.get("content").and_then(Value::as_str);
        // Counts that are zero are left out by the server, so a missing one is unknown and never an error.
        let mut piece = AnswerPiece {
            content: ChatPiece {
                text: text.unwrap_or_default().to_owned(),
                thoughts: read_thinking(message).into_iter().collect(),
                calls: read_calls(message),
            },
            ..AnswerPiece::default()
        };
        if body.get("done").and_then(Value::as_bool) != Some(true) {
            return Ok(piece);
        }
        let word = body.get("done_reason").and_then(Value::as_str);
        let finish = match word {
            // Older versions of Ollama send no `done_reason`.
            Some("stop") | None => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some(word @ ("load" | "unload")) => {
                return Err(
                    Fault::from(Reason::BrokenAnswer).with_message(&format!("the finish reason is `{word}`"))
                );
            }
            Some(_) => FinishReason::Unknown,
        };
        piece.ending = word
            .filter(|_| finish == FinishReason::Unknown)
            .map(str::to_owned);
        piece.finish = piece.finish.or(Some(finish));
        piece.model = body.get("model").and_then(Value::as_str).map(str::to_owned);
        let count = |name| body.get(name).and_then(Value::as_u64);
        piece.usage = Some(Usage {
            input_tokens: count("prompt_eval_count"),
            // The wire has no counts for the cache and for reasoning.
            cached_tokens: None,
            cache_write_tokens: None,
            output_tokens: count("eval_count"),
            reasoning_tokens: None,
            stated_cost: None,
        });
        Ok(piece)
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        self.read_answer(event)
    }

    fn optional_fields(&self) -> &'static [OptionalField] {
        &OPTIONAL
    }

    fn abilities<'a>(&self, provider: &'a str) -> WireAbilities<'a> {
        WireAbilities {
            provider,
            tools: true,
            // Models think again in each turn, and Ollama's templates drop earlier thinking.
            thinking: false,
            images: true,
            result_images: false,
            max_id_bytes: usize::MAX,
        }
    }
}

/// Returns the value of `think`: a switch, or a level for models that have levels (docs.ollama.com/capabilities/thinking).
fn write_thinking(level: ThinkingLevel) -> Value {
    match level {
        ThinkingLevel::Off => false.into(),
        ThinkingLevel::On => true.into(),
        ThinkingLevel::Low | ThinkingLevel::High => level.as_str().into(),
    }
}

fn read_thinking(message: &Value) -> Option<ThoughtPiece> {
    let text = message
        .get("thinking")?
        .as_str()
        .filter(|text| !text.is_empty())?;
    Some(ThoughtPiece {
        text: text.to_owned(),
        ..ThoughtPiece::default()
    })
}

/// Reads the calls of a message. Ollama sends each call whole, also in a stream, and newer versions number them.
fn read_calls(message: &Value) -> Vec<CallPiece> {
    let mut calls = read_functions(message.get("tool_calls"));
    calls.iter_mut().for_each(|call| call.position = None);
    calls
}

/// Writes a system prompt and prepared messages. Each result of a tool is a message of its own, with the tool's name.
fn write_messages(system: Option<&str>, messages: &[ChatMessage]) -> Vec<Value> {
    let mut out: Vec<Value> = system
        .map(|text| json!({"role": "system", "content": text}))
        .into_iter()
        .collect();
    let mut names = BTreeMap::new();
    for message in messages {
        match message.role {
            ChatRole::Assistant => out.push(write_assistant(message, &mut names)),
            ChatRole::User => write_user(message, &names, &mut out),
        }
    }
    out
}

fn write_assistant(message: &ChatMessage, names: &mut BTreeMap<String, String>) -> Value {
    let mut calls = Vec::new();
    for part in &message.parts {
        if let MessagePart::ToolCall(call) = part {
            names.insert(call.id.clone(), call.name.clone());
            calls.push(json!({"function": {"name": call.name, "arguments": call.arguments}}));
        }
    }
    let mut out = json!({"role": "assistant", "content": message.text()});
    if let Some(out) = out.as_object_mut().filter(|_| !calls.is_empty()) {
        out.insert("tool_calls".to_owned(), calls.into());
    }
    out
}

fn write_user(message: &ChatMessage, names: &BTreeMap<String, String>, out: &mut Vec<Value>) {
    let mut images: Vec<&ImageData> = Vec::new();
    for part in &message.parts {
        match part {
            MessagePart::ToolResult(result) => {
                let failed = if result.is_error { "Error: " } else { "" };
                let name = names.get(&result.tool_use_id);
                out.push(
                    json!({"role": "tool", "tool_name": name, "content": format!("{failed}{}", result.text)}),
                );
            }
            MessagePart::Image(image) => images.push(image),
            MessagePart::Text(_) | MessagePart::ToolCall(_) | MessagePart::Thinking(_) => {}
        }
    }
    let text = message.text();
    if text.is_empty() && images.is_empty() {
        return;
    }
    let mut user = json!({"role": "user", "content": text});
    if let Some(user) = user.as_object_mut().filter(|_| !images.is_empty()) {
        let images: Vec<&str> = images.iter().map(|image| image.base64.as_str()).collect();
        user.insert("images".to_owned(), images.into());
    }
    out.push(user);
}
