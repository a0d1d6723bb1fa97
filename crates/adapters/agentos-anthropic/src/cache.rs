//! Marks for Anthropic's prompt cache (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>).
//!
//! Owns: where marks are set. Never: sets one that the request does not ask for: what is written to the cache costs a quarter more.
//!
//! The vendor keeps the prompt up to each mark, in the order tools, system, messages, for five minutes after its last use. It takes
//! at most four marks; three are set:
//!
//! | mark | stays useful while |
//! |---|---|
//! | last tool | the system prompt changes |
//! | system prompt | the conversation changes |
//! | last message that later requests repeat | the conversation goes on |
//!
//! A later request finds a mark of an earlier one by itself, up to 20 blocks before its own. Prompts that are shorter than the
//! model's minimum (1,024 tokens and more) are not kept, without an error.

use agentos_model::CacheHints;
use serde_json::{Map, Value, json};

/// Marks the parts of a request that later requests repeat. `stable` is the number of such messages.
pub(crate) fn mark_repeated(body: &mut Map<String, Value>, hints: CacheHints, stable: usize) {
    if hints.instructions {
        let tools = body.get_mut("tools").and_then(Value::as_array_mut);
        if let Some(last) = tools.and_then(|tools| tools.last_mut()) {
            set_mark(last);
        }
        if let Some(system) = body.get_mut("system") {
            mark_content(system);
        }
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    let kept = messages.into_iter().flatten().take(stable);
    // A message of thinking alone takes no mark; the one before it does.
    for message in kept.collect::<Vec<_>>().into_iter().rev() {
        if message.get_mut("content").is_some_and(mark_content) {
            return;
        }
    }
}

/// Marks the last block of a content that takes a mark. Returns false if none does.
fn mark_content(content: &mut Value) -> bool {
    if let Value::String(text) = content {
        // Only blocks take marks, and a text is short for one block.
        *content = json!([{"type": "text", "text": text}]);
    }
    let takes_mark = |block: &Value| {
        let kind = block.get("type").and_then(Value::as_str);
        !matches!(kind, Some("thinking" | "redacted_thinking"))
    };
    let blocks = content.as_array_mut().into_iter().flatten().rev();
    match blocks.into_iter().find(|block| takes_mark(block)) {
        Some(block) => {
            set_mark(block);
            true
        }
        None => false,
    }
}

fn set_mark(part: &mut Value) {
    if let Some(part) = part.as_object_mut() {
        part.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(mut body: Value, instructions: bool, stable: usize) -> Value {
        let hints = CacheHints {
            instructions,
            messages: stable,
        };
        mark_repeated(body.as_object_mut().unwrap(), hints, stable);
        body
    }

    // LB-12: the cache of Anthropic.
    #[test]
    fn the_repeated_parts_are_marked_and_no_others() {
        let mark = json!({"type": "ephemeral"});
        let body = json!({
            "system": "Be short.",
            "tools": [{"name": "a"}, {"name": "b"}],
            "messages": [
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": [{"type": "text", "text": "two"}, {"type": "thinking", "thinking": "t"}]},
                {"role": "user", "content": "three"},
            ],
        });
        assert_eq!(marked(body.clone(), false, 0), body);
        let mut expected = body.clone();
        expected["system"] = json!([{"type": "text", "text": "Be short.", "cache_control": mark}]);
        expected["tools"][1]["cache_control"] = mark.clone();
        assert_eq!(marked(body.clone(), true, 0), expected);
        expected["messages"][2]["content"] =
            json!([{"type": "text", "text": "three", "cache_control": mark}]);
        assert_eq!(marked(body.clone(), true, 9), expected);
        let mut expected = body.clone();
        expected["messages"][1]["content"][0]["cache_control"] = mark.clone();
        assert_eq!(marked(body, false, 2), expected);
    }

    #[test]
    fn thinking_takes_no_mark() {
        let mark = json!({"type": "ephemeral"});
        let thoughts = json!({"messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
        ]});
        let mut expected = thoughts.clone();
        expected["messages"][0]["content"] = json!([{"type": "text", "text": "one", "cache_control": mark}]);
        assert_eq!(marked(thoughts, true, 2), expected);
        let nothing = json!({"messages": []});
        assert_eq!(marked(nothing.clone(), true, 2), nothing);
    }
}
