//! The wire of `POST {base}/chat/completions`.
//!
//! Owns: building the request, and reading the answers of OpenAI and compatible servers. Never: reads a missing count as
//! zero.

use agentos_generic_http::{
    AnswerPiece, Fault, ModelRequest, OptionalField, Reason, Wire, read_functions, write_function,
};
use agentos_model::{ChatPiece, ThoughtPiece, ToolChoice, WireAbilities};
use agentos_net::HttpUrl;
use agentos_tool::{ExactCost, FinishReason, ThinkingLevel, Usage};
use serde_json::{Map, Value, json};

use crate::messages::write_messages;

/// Name of the field that limits the answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    /// OpenAI's newer name. Its newer models refuse the older one.
    MaxCompletionTokens,
    /// The older name, for compatible servers. Some ignore the newer one without an error.
    MaxTokens,
}

impl LimitField {
    fn as_str(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// Fields that a server may refuse.
const OPTIONAL: [OptionalField; 12] = [
    OptionalField::new("stream_options"),
    OptionalField::new("max_tokens").limit(Some("max_completion_tokens")),
    OptionalField::new("max_completion_tokens").limit(Some("max_tokens")),
    OptionalField::new("temperature"),
    OptionalField::new("top_p"),
    OptionalField::new("seed"),
    OptionalField::new("stop"),
    OptionalField::new("tool_choice"),
    OptionalField::new("response_format"),
    OptionalField::new("grammar"),
    OptionalField::new("reasoning_effort").asks_thinking(),
    OptionalField::new("chat_template_kwargs").asks_thinking(),
];

/// Wire of OpenAI's chat completions.
#[derive(Debug, Clone)]
pub struct ChatWire {
    limit: LimitField,
    grammar: Option<String>,
    /// False if the server has no format of its own for any JSON object.
    has_json_mode: bool,
    /// True if the server writes the prompt by the model's own template, whose variables a request can set.
    has_template: bool,
}

impl ChatWire {
    /// Makes the wire with the server's name for the limit.
    #[must_use]
    pub fn new(limit: LimitField) -> Self {
        Self {
            limit,
            grammar: None,
            has_json_mode: true,
            has_template: false,
        }
    }

    /// Asks for thinking by the variables of the model's template too, for servers of a user's own models.
    #[must_use]
    pub fn with_template(mut self, has_template: bool) -> Self {
        self.has_template = has_template;
        self
    }

    /// Asks for any JSON object by a schema, for LM Studio: it refuses the format `json_object` (lmstudio-bug-tracker, issue 189).
    #[must_use]
    pub fn without_json_mode(mut self) -> Self {
        self.has_json_mode = false;
        self
    }

    /// Sets a grammar in GBNF, which only llama.cpp's server reads.
    #[must_use]
    pub fn with_grammar(mut self, grammar: Option<String>) -> Self {
        self.grammar = grammar;
        self
    }

    /// Returns the address of this wire below a base URL that ends with the version.
    #[must_use]
    pub fn url_below(base: &HttpUrl) -> HttpUrl {
        base.join("chat/completions")
    }
}

impl Wire for ChatWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        let mut body = Map::new();
        if let Some(model) = job.model {
            body.insert("model".to_owned(), model.into());
        }
        let messages = write_messages(job.chat.system.as_deref(), job.messages);
        body.insert("messages".to_owned(), messages.into());
        if job.stream {
            body.insert("stream".to_owned(), true.into());
            // OpenAI sends no usage in a stream unless it is requested.
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
        if !job.chat.tools.is_empty() {
            let tools = job.chat.tools.iter().map(write_function);
            body.insert("tools".to_owned(), tools.collect());
            // Without the field the model decides, and some compatible servers refuse the field.
            if let Some(choice) = write_choice(&job.chat.tool_choice) {
                body.insert("tool_choice".to_owned(), choice);
            }
        }
        if let Some(limit) = job.max_tokens {
            body.insert(self.limit.as_str().to_owned(), limit.into());
        }
        // Sent only when the user set them: some reasoning models refuse every value but the default.
        if let Some(temperature) = job.temperature {
            body.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(top_p) = job.top_p {
            body.insert("top_p".to_owned(), top_p.into());
        }
        if let Some(seed) = job.seed {
            body.insert("seed".to_owned(), seed.into());
        }
        if !job.stop.is_empty() {
            body.insert("stop".to_owned(), json!(job.stop));
        }
        if let Some(schema) = &job.chat.answer_schema {
            let any = job.chat.wants_any_object();
            let described = |strict: bool| json!({"type": "json_schema", "json_schema": {"name": "edits", "strict": strict, "schema": schema}});
            let format = match (any, self.has_json_mode) {
                (true, true) => json!({"type": "json_object"}),
                // Strict schemas must name every property.
                (true, false) => described(false),
                (false, _) => described(true),
            };
            body.insert("response_format".to_owned(), format);
        }
        if let Some(grammar) = &self.grammar {
            body.insert("grammar".to_owned(), grammar.as_str().into());
        }
        if let Some(level) = job.thinking {
            // Many servers of a user's own models know no effort `none`, and the variables switch thinking off by themselves.
            if !(self.has_template && level == ThinkingLevel::Off) {
                body.insert("reasoning_effort".to_owned(), level.effort().into());
            }
            if self.has_template {
                body.insert("chat_template_kwargs".to_owned(), template_variables(level));
            }
        }
        Value::Object(body)
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let choice = find_choice(body).ok_or(Reason::Fields)?;
        let message = choice.get("message").ok_or(Reason::Fields)?;
        read_piece(body, Some(choice), Some(message))
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        // With `stream_options.include_usage` the last event carries the usage and has an empty list of choices; some servers
        // leave the list out or send an empty choice.
        let choice = find_choice(event);
        read_piece(event, choice, choice.and_then(|choice| choice.get("delta")))
    }

    fn optional_fields(&self) -> &'static [OptionalField] {
        &OPTIONAL
    }

    fn abilities<'a>(&self, provider: &'a str) -> WireAbilities<'a> {
        WireAbilities {
            provider,
            tools: true,
            // Compatible servers send thinking, and none of them requires it back.
            thinking: false,
            images: true,
            result_images: false,
            // OpenAI's limit for `tool_call_id`.
            max_id_bytes: 40,
        }
    }
}

/// Returns the variables by which templates switch thinking. A template ignores a variable that it does not read.
///
/// Qwen's templates read `enable_thinking`, those of DeepSeek and Granite `thinking` (vLLM's page "Reasoning Outputs"), and that of
/// gpt-oss `reasoning_effort`. vLLM, SGLang and llama.cpp pass them on.
fn template_variables(level: ThinkingLevel) -> Value {
    let is_on = level != ThinkingLevel::Off;
    let mut variables = json!({"enable_thinking": is_on, "thinking": is_on});
    if is_on && let Some(variables) = variables.as_object_mut() {
        variables.insert("reasoning_effort".to_owned(), level.effort().into());
    }
    variables
}

fn write_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

/// Returns the requested choice, which has the index 0 or no index. `None` if the event has none. Servers do not sort several choices.
fn find_choice(body: &Value) -> Option<&Value> {
    let choices = body.get("choices")?.as_array()?;
    let index = |choice: &Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0);
    choices.iter().find(|choice| index(choice) == 0)
}

fn read_piece(body: &Value, choice: Option<&Value>, message: Option<&Value>) -> Result<AnswerPiece, Fault> {
    let field = |name| message.and_then(|message: &Value| message.get(name));
    // Servers mark an event that is not the end by a missing, a null or an empty `finish_reason`.
    let word = choice
        .and_then(|choice| choice.get("finish_reason")?.as_str())
        .filter(|word| !word.is_empty());
    let finish = word.map(finish_reason).transpose()?;
    Ok(AnswerPiece {
        content: ChatPiece {
            text: field("content").map(content_text).unwrap_or_default(),
            // DeepSeek, vLLM and llama.cpp call it `reasoning_content`, OpenRouter and Ollama `reasoning`.
            thoughts: ["reasoning_content", "reasoning"]
                .iter()
                .find_map(|name| {
                    field(name)?
                        .as_str()
                        .filter(|text| !text.is_empty())
                        .map(str::to_owned)
                })
                .or_else(|| {
                    field("content")
                        .map(thinking_text)
                        .filter(|text| !text.is_empty())
                })
                .map(thought_of)
                .into_iter()
                .collect(),
            calls: read_functions(field("tool_calls")),
        },
        refusal: field("refusal")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        finish,
        ending: word
            .filter(|_| finish == Some(FinishReason::Unknown))
            .map(str::to_owned),
        usage: body
            .get("usage")
            .filter(|usage| usage.is_object())
            .map(read_usage),
        model: body
            .get("model")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .map(str::to_owned),
        close: None,
    })
}

fn thought_of(text: String) -> ThoughtPiece {
    ThoughtPiece {
        text,
        ..ThoughtPiece::default()
    }
}

fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        // Compatible servers may send the content as a list of parts.
        Value::Array(parts) => parts
            .iter()
            .filter(|part| !is_thinking(part))
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Returns the thinking in a content of parts: Mistral writes `{"type": "thinking", "thinking": [{"type": "text", "text": …}]}`, other
/// servers a text in it.
fn thinking_text(content: &Value) -> String {
    let parts = content
        .as_array()
        .into_iter()
        .flatten()
        .filter(|part| is_thinking(part));
    parts
        .map(|part| match part.get("thinking").or_else(|| part.get("text")) {
            Some(Value::String(text)) => text.clone(),
            Some(inner) => content_text(inner),
            None => String::new(),
        })
        .collect()
}

fn is_thinking(part: &Value) -> bool {
    matches!(
        part.get("type").and_then(Value::as_str),
        Some("thinking" | "reasoning")
    )
}

fn finish_reason(word: &str) -> Result<FinishReason, Fault> {
    Ok(match word {
        "stop" => FinishReason::Stop,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        // OpenRouter ends a stream that failed with the finish reason `error`.
        "error" | "abort" => {
            return Err(
                Fault::from(Reason::BrokenAnswer).with_message(&format!("the finish reason is `{word}`"))
            );
        }
        _ => FinishReason::Unknown,
    })
}

fn read_usage(usage: &Value) -> Usage {
    let count = |pointer| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: count("/prompt_tokens"),
        cached_tokens: count("/prompt_tokens_details/cached_tokens"),
        // OpenAI charges nothing for writing; LiteLLM passes Anthropic's count on, as a part of `prompt_tokens`.
        cache_write_tokens: count("/cache_creation_input_tokens").filter(|tokens| *tokens > 0),
        output_tokens: count("/completion_tokens"),
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens"),
        stated_cost: ExactCost::read_stated(usage),
    }
}
