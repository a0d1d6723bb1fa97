//! The wire of `POST {base}/models/{model}:streamGenerateContent`.
//!
//! Owns: building the request and reading the answer. Never: returns a model's thoughts as its answer.

use agentos_generic_http::{AnswerPiece, Fault, ModelRequest, OptionalField, Reason, Wire};
use agentos_model::{CallPiece, ChatPiece, ThoughtPiece, ToolChoice, WireAbilities};
use agentos_tool::{FinishReason, ThinkingLevel, Usage};
use serde_json::{Map, Value, json};

use crate::contents::write_contents;

/// Fields that a server may refuse.
const OPTIONAL: [OptionalField; 8] = [
    OptionalField::inside("generationConfig", "maxOutputTokens").limit(None),
    OptionalField::inside("generationConfig", "temperature"),
    OptionalField::inside("generationConfig", "topP"),
    OptionalField::inside("generationConfig", "seed"),
    OptionalField::inside("generationConfig", "stopSequences"),
    OptionalField::inside("generationConfig", "responseJsonSchema"),
    OptionalField::inside("generationConfig", "thinkingConfig").asks_thinking(),
    // Gateways for older models do not know it, and a model without it decides by itself.
    OptionalField::new("toolConfig"),
];

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
        if let Some(schema) = job.chat.answer_schema.clone() {
            config.insert("responseMimeType".to_owned(), "application/json".into());
            config.insert("responseJsonSchema".to_owned(), schema);
        }
        if let Some(level) = job.thinking {
            let value = write_thinking(level, job.model.unwrap_or_default(), job.max_tokens);
            config.insert("thinkingConfig".to_owned(), value);
        }
        let mut body = Map::new();
        if let Some(system) = &job.chat.system {
            body.insert(
                "systemInstruction".to_owned(),
                json!({"parts": [{"text": system}]}),
            );
        }
        body.insert("contents".to_owned(), write_contents(job.messages).into());
        if !job.chat.tools.is_empty() {
            let functions = job.chat.tools.iter().map(|tool| {
                json!({
                    "name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema,
                })
            });
            let functions: Vec<Value> = functions.collect();
            body.insert("tools".to_owned(), json!([{"functionDeclarations": functions}]));
            if let Some(choice) = write_choice(&job.chat.tool_choice) {
                body.insert("toolConfig".to_owned(), json!({"functionCallingConfig": choice}));
            }
        }
        if !config.is_empty() {
            body.insert("generationConfig".to_owned(), config.into());
        }
        body.into()
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
        let mut content = ChatPiece::default();
        for part in parts {
            add_part(&mut content, part);
        }
        let mut piece = AnswerPiece {
            content,
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
            max_id_bytes: 64,
        }
    }
}

/// Tokens of brief and of long thinking for models with a budget: 24,576 is the most that all of them take.
const BUDGETS: (u64, u64) = (1_024, 24_576);

/// Returns the setting of thinking.
///
/// Models before Gemini 3 take a number of tokens, where 0 means no thinking; newer models take a level, of which `minimal` is the
/// least and unknown to the Pro models (ai.google.dev/gemini-api/docs/thinking).
fn write_thinking(level: ThinkingLevel, model: &str, limit: Option<u64>) -> Value {
    let has_budget = ["gemini-1", "gemini-2"]
        .iter()
        .any(|family| model.contains(family));
    let least = match model.contains("pro") {
        true => "low",
        false => "minimal",
    };
    // Thoughts count as output, so half of the limit is left for the answer.
    let budget = |most: u64| most.min(limit.map_or(most, |limit| limit / 2));
    match (level, has_budget) {
        (ThinkingLevel::Off, true) => json!({"thinkingBudget": 0}),
        (ThinkingLevel::Low, true) => json!({"thinkingBudget": budget(BUDGETS.0), "includeThoughts": true}),
        (ThinkingLevel::High, true) => json!({"thinkingBudget": budget(BUDGETS.1), "includeThoughts": true}),
        (ThinkingLevel::Off, false) => json!({"thinkingLevel": least}),
        (ThinkingLevel::Low, false) => json!({"thinkingLevel": "low", "includeThoughts": true}),
        (ThinkingLevel::High, false) => json!({"thinkingLevel": "high", "includeThoughts": true}),
        // -1: as many as the model decides. The Lite models do not think without it.
        (ThinkingLevel::On, true) => json!({"thinkingBudget": -1, "includeThoughts": true}),
        (ThinkingLevel::On, false) => json!({"includeThoughts": true}),
    }
}

fn write_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
    }
}

/// Adds one part of a candidate. Thoughts arrive as parts with `text`, like the answer, and only a mark separates them.
fn add_part(content: &mut ChatPiece, part: &Value) {
    let text_of = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let signature = text_of(part, "thoughtSignature");
    let text = text_of(part, "text").unwrap_or_default();
    if let Some(call) = part.get("functionCall") {
        content.calls.push(CallPiece {
            id: text_of(call, "id"),
            name: text_of(call, "name"),
            arguments: call.get("args").map(Value::to_string).unwrap_or_default(),
            signature,
            position: None,
        });
    } else if part.get("thought").and_then(Value::as_bool) == Some(true) {
        content.thoughts.push(ThoughtPiece {
            text,
            signature,
            ..ThoughtPiece::default()
        });
    } else {
        content.text.push_str(&text);
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
        cache_write_tokens: None,
        // `candidatesTokenCount` excludes the thoughts, and `output_tokens` includes reasoning for every provider.
        output_tokens: count("candidatesTokenCount").map(|answer| answer + thoughts.unwrap_or(0)),
        reasoning_tokens: thoughts,
        stated_cost: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_thinking_leaves_half_of_the_limit_for_the_answer() {
        use ThinkingLevel::{High, Low, Off, On};
        let rows = [
            write_thinking(Off, "gemini-2.5-flash", Some(8_192)),
            write_thinking(On, "gemini-2.5-flash-lite", Some(8_192)),
            write_thinking(Low, "gemini-2.5-pro", Some(8_192)),
            write_thinking(High, "gemini-2.5-pro", Some(8_192)),
            write_thinking(High, "gemini-2.5-pro", None),
            write_thinking(On, "gemini-3-pro", Some(8_192)),
        ];
        insta::assert_snapshot!(rows.map(|row| row.to_string()).join("\n"), @r#"
        {"thinkingBudget":0}
        {"includeThoughts":true,"thinkingBudget":-1}
        {"includeThoughts":true,"thinkingBudget":1024}
        {"includeThoughts":true,"thinkingBudget":4096}
        {"includeThoughts":true,"thinkingBudget":24576}
        {"includeThoughts":true}
        "#);
    }
}
