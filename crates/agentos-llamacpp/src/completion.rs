//! `POST /completion`.
//!
//! Owns: the native request and its reader. Never: waits for `[DONE]`; this wire has none.

use agentos_generic_http::{Fault, Job, Piece, Reason, Wire};
use agentos_tool::{FinishReason, ToolTask, Usage, prompt};
use serde_json::{Map, Value, json};

/// Tokens of an answer where nobody set a limit; the server itself has none and would not stop.
const DEFAULT_LIMIT: u64 = 2048;

/// The end-of-turn texts of common models, for servers that do not know them as tokens. The words `User:` and
/// `Assistant:`, usual in such lists, are left out: they stand in ordinary source code and would cut a diff.
const STOP: [&str; 3] = ["</s>", "<|im_end|>", "<|eot_id|>"];

/// What is read of an answer; asked for, so that the last event does not repeat the whole prompt.
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

/// The native wire. The prompt is what the server's own chat template made of the task; without one it is
/// rules, task and a final cue in plain text.
#[derive(Debug, Clone, Default)]
pub struct CompletionWire {
    templated: Option<String>,
}

impl CompletionWire {
    /// A wire for one prompt that is already in the model's own form.
    #[must_use]
    pub fn with_prompt(prompt: String) -> Self {
        Self {
            templated: Some(prompt),
        }
    }
}

/// The task in plain text, for a model whose form is not known.
fn plain_prompt(task: &ToolTask) -> String {
    format!("{}\n\n{}\nAnswer:\n", prompt::system(task), prompt::user(task))
}

impl Wire for CompletionWire {
    fn endpoint(&self) -> &str {
        "completion"
    }

    fn request(&self, job: &Job<'_>) -> Value {
        let prompt = self.templated.clone().unwrap_or_else(|| plain_prompt(job.task));
        let mut body = Map::new();
        body.insert("prompt".to_owned(), prompt.into());
        body.insert(
            "n_predict".to_owned(),
            job.max_tokens.unwrap_or(DEFAULT_LIMIT).into(),
        );
        body.insert("stop".to_owned(), json!(STOP));
        body.insert("stream".to_owned(), true.into());
        body.insert("response_fields".to_owned(), json!(FIELDS));
        if let Some(temperature) = job.temperature {
            body.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(model) = job.model {
            body.insert("model".to_owned(), model.into());
        }
        Value::Object(body)
    }

    fn response(&self, body: &Value) -> Result<Piece, Fault> {
        read(body, true)
    }

    fn event(&self, event: &Value) -> Result<Piece, Fault> {
        read(event, event.get("stop").and_then(Value::as_bool).unwrap_or(false))
    }
}

fn read(body: &Value, is_end: bool) -> Result<Piece, Fault> {
    let missing = || Fault::from(Reason::Fields).saying("there is no `content`");
    let text = body.get("content").and_then(Value::as_str).ok_or_else(missing)?;
    let mut piece = Piece {
        text: text.to_owned(),
        ..Piece::default()
    };
    if !is_end {
        return Ok(piece);
    }
    let count = |pointer| body.pointer(pointer).and_then(Value::as_u64);
    piece.finish = Some(finish_reason(body));
    piece.model = body
        .get("model")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .map(str::to_owned);
    piece.usage = Some(Usage {
        input_tokens: count("/tokens_evaluated"),
        cached_tokens: count("/timings/cache_n"),
        output_tokens: count("/tokens_predicted"),
        reasoning_tokens: None,
    });
    Ok(piece)
}

fn finish_reason(body: &Value) -> FinishReason {
    if body.get("truncated").and_then(Value::as_bool) == Some(true) {
        return FinishReason::Length;
    }
    match body.get("stop_type").and_then(Value::as_str) {
        Some("eos" | "word") => FinishReason::Stop,
        Some("limit") => FinishReason::Length,
        _ => FinishReason::Unknown,
    }
}
