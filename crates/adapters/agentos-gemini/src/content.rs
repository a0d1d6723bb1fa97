//! The wire of `POST {base}/models/{model}:streamGenerateContent`.
//!
//! Owns: building the request and reading the answer. Never: returns a model's thoughts as its answer.

use agentos_generic_http::{AnswerPiece, Fault, ModelRequest, OfferedTool, Reason, ToolCall, Wire};
use agentos_tool::{FinishReason, Usage, prompt};
use serde_json::{Map, Value, json};

/// Wire of Gemini's content. The model's name is a part of the address, not of the request.
#[derive(Debug, Clone, Copy)]
pub struct ContentWire;

impl Wire for ContentWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        let mut config = Map::new();
        if let Some(limit) = job.max_tokens {
            config.insert("maxOutputTokens".to_owned(), limit.into());
        }
        if let Some(temperature) = job.temperature {
            config.insert("temperature".to_owned(), temperature.into());
        }
        if let Some(top_p) = job.top_p {
            config.insert("topP".to_owned(), top_p.into());
        }
        if let Some(seed) = job.seed {
            config.insert("seed".to_owned(), seed.into());
        }
        if !job.stop.is_empty() {
            config.insert("stopSequences".to_owned(), json!(job.stop));
        }
        if let Some(schema) = job.answer_schema() {
            config.insert("responseMimeType".to_owned(), "application/json".into());
            config.insert("responseJsonSchema".to_owned(), schema);
        }
        let mut body = json!({
            "systemInstruction": {"parts": [{"text": prompt::system(job.task)}]},
            "contents": [{"role": "user", "parts": [{"text": prompt::user(job.task)}]}],
        });
        if let Some(body) = body.as_object_mut().filter(|_| !config.is_empty()) {
            body.insert("generationConfig".to_owned(), config.into());
        }
        body
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        // No field is in every event: the last ones of a stream may have only the usage, and a blocked prompt has no candidate.
        let is_known = ["candidates", "promptFeedback", "usageMetadata"]
            .iter()
            .any(|field| body.get(field).is_some_and(|value| !value.is_null()));
        if !is_known {
            return Err(Reason::Fields.into());
        }
        let candidate = body.pointer("/candidates/0");
        let parts = candidate
            .and_then(|candidate| candidate.pointer("/content/parts")?.as_array())
            .map_or(&[][..], Vec::as_slice);
        // Thoughts arrive as parts with `text`, like the answer, and only this mark separates them.
        let is_thought = |part: &&Value| part.get("thought").and_then(Value::as_bool) == Some(true);
        let mut piece = AnswerPiece {
            text: parts
                .iter()
                .filter(|part| !is_thought(part))
                .filter_map(|part| part.get("text")?.as_str())
                .collect(),
            usage: body.get("usageMetadata").map(read_usage),
            model: body
                .get("modelVersion")
                .and_then(Value::as_str)
                .map(str::to_owned),
            ..AnswerPiece::default()
        };
        if let Some(why) = body
            .pointer("/promptFeedback/blockReason")
            .and_then(Value::as_str)
        {
            piece.finish = Some(FinishReason::ContentFilter);
            piece.refusal = format!("the prompt is blocked ({why})");
        }
        let word = candidate
            .and_then(|candidate| candidate.get("finishReason")?.as_str())
            // The default of the enumeration in the API, which means that no reason was set.
            .filter(|word| *word != "FINISH_REASON_UNSPECIFIED");
        if let Some(word) = word {
            let asks_for_tool = parts.iter().any(|part| part.get("functionCall").is_some());
            let finish = finish_reason(word, asks_for_tool);
            piece.finish = Some(finish);
            piece.ending = (finish == FinishReason::Unknown).then(|| word.to_owned());
        }
        Ok(piece)
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        self.read_answer(event)
    }

    fn add_tool(&self, mut request: Value, tool: &OfferedTool) -> Option<Value> {
        let body = request.as_object_mut()?;
        // The system prompt asks for a diff and nothing else, which contradicts the call of a tool.
        body.remove("systemInstruction");
        let user = json!([{"role": "user", "parts": [{"text": tool.instruction}]}]);
        body.insert("contents".to_owned(), user);
        let function = json!({
            "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.argument_schema(),
        });
        body.insert("tools".to_owned(), json!([{"functionDeclarations": [function]}]));
        Some(request)
    }

    fn read_calls(&self, body: &Value) -> Vec<ToolCall> {
        let parts = body.pointer("/candidates/0/content/parts");
        let parts = parts.and_then(Value::as_array).into_iter().flatten();
        parts
            .filter_map(|part| part.get("functionCall"))
            .map(|call| {
                let name = call.get("name").and_then(Value::as_str);
                ToolCall::new(name.unwrap_or_default(), call.get("args"))
            })
            .collect()
    }
}

fn finish_reason(word: &str, asks_for_tool: bool) -> FinishReason {
    match word {
        // This wire has no reason of its own for a tool call.
        "STOP" if asks_for_tool => FinishReason::ToolCalls,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            FinishReason::ContentFilter
        }
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => FinishReason::ToolCalls,
        _ => FinishReason::Unknown,
    }
}

/// Reads the counts of tokens. Thoughts are counted separately from the answer.
fn read_usage(usage: &Value) -> Usage {
    let count = |name| usage.get(name).and_then(Value::as_u64);
    let thoughts = count("thoughtsTokenCount");
    Usage {
        input_tokens: count("promptTokenCount"),
        cached_tokens: count("cachedContentTokenCount"),
        // `candidatesTokenCount` excludes the thoughts, and `output_tokens` includes reasoning for every provider.
        output_tokens: count("candidatesTokenCount").map(|answer| answer + thoughts.unwrap_or(0)),
        reasoning_tokens: thoughts,
    }
}
