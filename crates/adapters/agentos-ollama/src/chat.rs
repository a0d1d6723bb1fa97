//! The wire of `POST /api/chat`.
//!
//! Owns: building the request and reading the answer. Never: reads the end of loading a model as the end of an answer.

use agentos_generic_http::{AnswerPiece, Fault, ModelRequest, OfferedTool, Reason, ToolCall, Wire};
use agentos_tool::{FinishReason, Usage, prompt};
use serde_json::{Map, Value, json};

/// Maximum tokens of an answer if no limit is set. The server has no limit of its own, so a model that repeats itself would not
/// stop.
pub(crate) const DEFAULT_LIMIT: u64 = 4096;

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
            "messages": [
                {"role": "system", "content": prompt::system(job.task)},
                {"role": "user", "content": prompt::user(job.task)},
            ],
            "stream": true,
            // By default Ollama drops the beginning of a prompt that is too long, without an error.
            "truncate": false,
            "options": options,
        });
        if let Some(body) = body.as_object_mut() {
            if let Some(model) = job.model {
                body.insert("model".to_owned(), model.into());
            }
            if let Some(schema) = job.answer_schema() {
                body.insert("format".to_owned(), schema);
            }
        }
        body
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
            text: text.unwrap_or_default().to_owned(),
            ..AnswerPiece::default()
        };
        let calls = message.get("tool_calls").and_then(Value::as_array);
        if calls.is_some_and(|calls| !calls.is_empty()) {
            piece.finish = Some(FinishReason::ToolCalls);
        }
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
            output_tokens: count("eval_count"),
            reasoning_tokens: None,
        });
        Ok(piece)
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        self.read_answer(event)
    }

    fn add_tool(&self, mut request: Value, tool: &OfferedTool) -> Option<Value> {
        let body = request.as_object_mut()?;
        body.remove("format");
        // Ollama streams unless `stream` is false.
        body.insert("stream".to_owned(), false.into());
        let user = json!([{"role": "user", "content": tool.instruction}]);
        body.insert("messages".to_owned(), user);
        body.insert("tools".to_owned(), json!([tool.as_function()]));
        Some(request)
    }

    fn read_calls(&self, body: &Value) -> Vec<ToolCall> {
        ToolCall::of_functions(body.pointer("/message/tool_calls"))
    }
}
