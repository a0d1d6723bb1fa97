//! The wire of `POST /completion`.
//!
//! Owns: building the native request and reading the answer. Never: waits for `[DONE]`; this wire has none.

use agentos_generic_http::{AnswerPiece, Fault, ModelRequest, OptionalField, Reason, Wire};
use agentos_model::{ChatMessage, ChatPiece, flatten_messages};
use agentos_tool::{FinishReason, Usage};
use serde_json::{Map, Value, json};

/// Maximum tokens of an answer if no limit is set. The server has no limit of its own, so a model that repeats itself would not
/// stop.
pub(crate) const DEFAULT_LIMIT: u64 = 4096;

/// Stop words for a plain prompt, after which a model would continue with a conversation that it invents. With the chat template
/// none is needed, because the model's end-of-turn token ends the answer.
const STOP: [&str; 3] = ["</s>", "\nUser:", "\nAssistant:"];

/// Fields of the answer that are requested. Without this list, the last event would repeat the whole prompt.
const FIELDS: [&str; 9] = [
    "content",
    "stop",
    "stop_type",
    "stopping_word",
    "truncated",
    "model",
    "tokens_predicted",
    "tokens_evaluated",
    "timings",
];

/// Fields that a server may refuse.
const OPTIONAL: [OptionalField; 7] = [
    OptionalField::new("response_fields"),
    OptionalField::new("temperature"),
    OptionalField::new("top_p"),
    OptionalField::new("seed"),
    OptionalField::new("stop"),
    OptionalField::new("json_schema"),
    OptionalField::new("grammar"),
];

/// Native wire of llama.cpp. The prompt is the task in the model's chat template, or plain text if there is no template.
#[derive(Debug, Clone, Default)]
pub struct CompletionWire {
    templated: Option<String>,
    grammar: Option<String>,
    lines_are_marked: bool,
}

impl CompletionWire {
    /// Makes a wire for a prompt in the model's chat template.
    #[must_use]
    pub fn with_prompt(prompt: String) -> Self {
        Self {
            templated: Some(prompt),
            ..Self::default()
        }
    }

    /// Returns the prompt that is sent.
    pub(crate) fn prompt(&self, system: Option<&str>, messages: &[ChatMessage]) -> String {
        self.templated
            .clone()
            .unwrap_or_else(|| plain_prompt(system, messages))
    }

    /// States that every line of the answer begins with a mark, as in a diff. Then stop words that begin a line cannot cut it off.
    #[must_use]
    pub fn with_marked_lines(mut self, marked: bool) -> Self {
        self.lines_are_marked = marked;
        self
    }

    /// Sets a grammar in GBNF.
    #[must_use]
    pub fn with_grammar(mut self, grammar: Option<String>) -> Self {
        self.grammar = grammar;
        self
    }
}

/// Selects the stop words that cannot cut off an answer: those that do not appear in the prompt and, if they begin a line, only
/// if every line of the answer begins with a mark.
fn stop_words(lines_are_marked: bool, prompt: &str) -> Vec<&'static str> {
    let fits = |word: &&str| !prompt.contains(*word) && (lines_are_marked || !word.starts_with('\n'));
    STOP.into_iter().filter(fits).collect()
}

/// Formats a conversation as plain text, for a model without a chat template.
fn plain_prompt(system: Option<&str>, messages: &[ChatMessage]) -> String {
    let text = flatten_messages(messages);
    match system {
        Some(system) => format!("{system}\n\n{text}\nAnswer:\n"),
        None => format!("{text}\nAnswer:\n"),
    }
}

impl Wire for CompletionWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        let mut body = Map::new();
        let (prompt, own_words) = match &self.templated {
            Some(prompt) => (prompt.clone(), Vec::new()),
            None => {
                let prompt = plain_prompt(job.chat.system.as_deref(), job.messages);
                let words = stop_words(self.lines_are_marked, &prompt);
                (prompt, words)
            }
        };
        body.insert("prompt".to_owned(), prompt.into());
        let stop: Vec<&str> = job.stop.iter().map(String::as_str).chain(own_words).collect();
        if !stop.is_empty() {
            body.insert("stop".to_owned(), json!(stop));
        }
        body.insert(
            "n_predict".to_owned(),
            job.max_tokens.unwrap_or(DEFAULT_LIMIT).into(),
        );
        body.insert("stream".to_owned(), job.stream.into());
        body.insert("response_fields".to_owned(), json!(FIELDS));
        if let Some(temperature) = job.temperature {
            body.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(top_p) = job.top_p {
            body.insert("top_p".to_owned(), top_p.into());
        }
        if let Some(seed) = job.seed {
            body.insert("seed".to_owned(), seed.into());
        }
        if let Some(model) = job.model {
            body.insert("model".to_owned(), model.into());
        }
        if let Some(mut schema) = job.chat.answer_schema.clone() {
            // Some builds generate white space without end where the schema allows it. This field limits it; other builds ignore it.
            if let Some(schema) = schema.as_object_mut() {
                schema.insert("x-guidance".to_owned(), json!({"whitespace_flexible": false}));
            }
            body.insert("json_schema".to_owned(), schema);
        }
        if let Some(grammar) = &self.grammar {
            body.insert("grammar".to_owned(), grammar.as_str().into());
        }
        Value::Object(body)
    }

    fn limit_sent(&self, job: &ModelRequest<'_>) -> Option<u64> {
        Some(job.max_tokens.unwrap_or(DEFAULT_LIMIT))
    }

    fn optional_fields(&self) -> &'static [OptionalField] {
        &OPTIONAL
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        read(body, true)
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        read(event, event.get("stop").and_then(Value::as_bool).unwrap_or(false))
    }
}

fn read(body: &Value, is_end: bool) -> Result<AnswerPiece, Fault> {
    let missing = || Fault::from(Reason::Fields).with_message("the answer has no `content`");
    let text = body.get("content").and_then(Value::as_str).ok_or_else(missing)?;
    let mut piece = AnswerPiece {
        content: ChatPiece::from_text(text),
        ..AnswerPiece::default()
    };
    if !is_end {
        return Ok(piece);
    }
    let count = |pointer| body.pointer(pointer).and_then(Value::as_u64);
    let finish = finish_reason(body)?;
    piece.finish = Some(finish);
    piece.ending = body
        .get("stop_type")
        .and_then(Value::as_str)
        .filter(|_| finish == FinishReason::Unknown)
        .map(str::to_owned);
    piece.model = body
        .get("model")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .map(str::to_owned);
    piece.usage = Some(Usage {
        input_tokens: count("/tokens_evaluated"),
        cached_tokens: count("/timings/cache_n"),
        cache_write_tokens: None,
        output_tokens: count("/tokens_predicted"),
        reasoning_tokens: None,
        stated_cost: None,
    });
    Ok(piece)
}

fn finish_reason(body: &Value) -> Result<FinishReason, Fault> {
    let is = |flag| body.get(flag).and_then(Value::as_bool) == Some(true);
    let broken = |said: &str| Err(Fault::from(Reason::BrokenAnswer).with_message(said));
    // At the end of the context the server reports no error, only this flag.
    if is("truncated") {
        return Ok(FinishReason::Length);
    }
    match body.get("stop_type").and_then(Value::as_str) {
        Some("eos" | "word") => Ok(FinishReason::Stop),
        Some("limit") => Ok(FinishReason::Length),
        Some("none" | "") => broken("the answer has no stop reason"),
        Some(_) => Ok(FinishReason::Unknown),
        // Servers older than `stop_type` send three flags instead.
        None if is("stopped_limit") => Ok(FinishReason::Length),
        None if is("stopped_eos") || is("stopped_word") => Ok(FinishReason::Stop),
        None => broken("the answer has no stop reason"),
    }
}

#[cfg(test)]
mod tests;
