//! The fields that ask a model of Anthropic to think.
//!
//! Owns: which form a model takes. Never: asks where the server would refuse the request.
//!
//! | models | form |
//! |---|---|
//! | Claude 4.6 and later | `thinking.type: adaptive`, with `output_config.effort`; 4.7 and later refuse a budget |
//! | Claude 3.7 to 4.5 | `thinking.type: enabled` with `budget_tokens`; they refuse `adaptive` |
//!
//! Source: platform.claude.com/docs/en/build-with-claude/adaptive-thinking.

use agentos_generic_http::ModelRequest;
use agentos_model::{ChatMessage, MessagePart, ToolChoice};
use agentos_tool::ThinkingLevel;
use serde_json::{Value, json};

/// Least budget that the server takes.
const LEAST_BUDGET: u64 = 1_024;
/// Parts of names of models that take a budget. The list is closed: newer models take `adaptive`.
const BUDGET_MODELS: [&str; 5] = ["claude-3", "-4-5", "-4-1", "-4-0", "-4-20"];

/// Thinking that a request asks for.
pub struct ThinkingAsk {
    /// Value of the field `thinking`.
    pub field: Value,
    /// Value of `output_config.effort`. `None` to leave it to the server.
    pub effort: Option<&'static str>,
    /// True if the model is asked to think.
    pub thinks: bool,
}

/// Returns the fields for the level of the settings. `None` if none is set, or if the server would refuse the request with one.
pub fn ask_thinking(job: &ModelRequest<'_>, limit: u64) -> Option<ThinkingAsk> {
    let level = job.thinking?;
    if level == ThinkingLevel::Off {
        return Some(ThinkingAsk {
            field: json!({"type": "disabled"}),
            effort: None,
            thinks: false,
        });
    }
    // A model that has to call a tool cannot think before it.
    if matches!(job.chat.tool_choice, ToolChoice::Required | ToolChoice::Named(_))
        && !job.chat.tools.is_empty()
    {
        return None;
    }
    let takes_budget = job
        .model
        .is_some_and(|model| BUDGET_MODELS.iter().any(|part| model.contains(part)));
    if !takes_budget {
        return Some(ThinkingAsk {
            field: json!({"type": "adaptive"}),
            effort: match level {
                ThinkingLevel::Low => Some("low"),
                ThinkingLevel::High => Some("high"),
                ThinkingLevel::On | ThinkingLevel::Off => None,
            },
            thinks: true,
        });
    }
    let share = match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Low => limit / 4,
        ThinkingLevel::On => limit / 3,
        ThinkingLevel::High => limit / 2,
    };
    let budget = share.max(LEAST_BUDGET);
    // The budget is a part of `max_tokens`, of which half is left for the answer, and a turn with calls must have begun with thinking.
    (budget <= limit / 2 && !continues_without_thinking(job.messages)).then(|| ThinkingAsk {
        field: json!({"type": "enabled", "budget_tokens": budget}),
        effort: None,
        thinks: true,
    })
}

/// Returns true if the last message has results of calls that the model made without thinking, or with thinking of another vendor.
fn continues_without_thinking(messages: &[ChatMessage]) -> bool {
    let mut backwards = messages.iter().rev();
    let has_results = |message: &ChatMessage| {
        let mut parts = message.parts.iter();
        parts.any(|part| matches!(part, MessagePart::ToolResult(_)))
    };
    let thinks = |message: &ChatMessage| {
        let mut parts = message.parts.iter();
        parts.any(|part| matches!(part, MessagePart::Thinking(_)))
    };
    backwards.next().is_some_and(has_results) && !backwards.next().is_some_and(thinks)
}

#[cfg(test)]
mod tests {
    use agentos_model::ChatRequest;

    use super::*;

    #[test]
    fn each_model_is_asked_in_the_form_that_it_takes() {
        let ask = |model: &str, level, limit, choice: ToolChoice| {
            let chat = ChatRequest {
                tool_choice: choice,
                tools: vec![agentos_model::ToolSpec {
                    name: "read".to_owned(),
                    description: String::new(),
                    input_schema: json!({}),
                }],
                ..ChatRequest::from_text("hi")
            };
            let job = ModelRequest {
                chat: &chat,
                messages: &chat.messages,
                stable_messages: 0,
                model: Some(model),
                stream: true,
                max_tokens: Some(limit),
                temperature: None,
                top_p: None,
                seed: None,
                stop: &[],
                thinking: Some(level),
            };
            match ask_thinking(&job, limit) {
                Some(ask) => format!("{} {}", ask.field, ask.effort.unwrap_or("-")),
                None => "nothing".to_owned(),
            }
        };
        use ThinkingLevel::{High, Low, Off, On};
        let rows = [
            ask("claude-opus-4-7", On, 8192, ToolChoice::Auto),
            ask("claude-opus-4-7", Low, 8192, ToolChoice::Auto),
            ask("claude-sonnet-4-6", High, 8192, ToolChoice::Auto),
            ask("claude-sonnet-4-5-20250929", High, 8192, ToolChoice::Auto),
            ask("claude-sonnet-4-20250514", Low, 8192, ToolChoice::Auto),
            ask("claude-3-7-sonnet-20250219", On, 1_000, ToolChoice::Auto),
            ask("claude-opus-4-7", Off, 8192, ToolChoice::Required),
            ask("claude-opus-4-7", On, 8192, ToolChoice::Required),
        ];
        insta::assert_snapshot!(rows.join("\n"), @r#"
        {"type":"adaptive"} -
        {"type":"adaptive"} low
        {"type":"adaptive"} high
        {"budget_tokens":4096,"type":"enabled"} -
        {"budget_tokens":2048,"type":"enabled"} -
        nothing
        {"type":"disabled"} -
        nothing
        "#);
    }
}
