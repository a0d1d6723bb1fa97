//! Calls of tools that a model writes as text, because its server does not read the marks of its template.
//!
//! Owns: the known marks, and which text is a call. Never: reads a call of a tool that is not on offer, or one in a sentence, a
//! quotation, a fence or thinking: without a mark, the text has to be the entire answer.
//!
//! | form | models |
//! |---|---|
//! | `{"name": …, "parameters": {…}}`, a list of them | Llama 3 |
//! | `<tool_call>{…}</tool_call>` | Hermes, Qwen |
//! | `<tool_call><function=NAME><parameter=KEY>…</parameter></function></tool_call>` | Qwen 3 Coder |
//! | `<function=NAME>{…}</function>` | Llama 3.1 |
//! | `[TOOL_CALLS][{…}]` | Mistral |
//! | `<\|python_tag\|>{…}` | Llama 3.1 |
//! | `<\|channel\|>commentary to=functions.NAME <\|constrain\|>json<\|message\|>{…}<\|call\|>` | gpt-oss |

use agentos_model::CallPiece;
use serde_json::{Map, Value};

/// Marks that begin a call, at the beginning of an answer or of a line.
pub(crate) const CALL_MARKS: [&str; 6] = [
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function=",
    "<|start|>assistant<|channel|>commentary to=",
    "<|channel|>commentary to=",
];

/// Reads a text that may consist of calls. `None` if it is something else, or a tool in it is not on offer.
pub(crate) fn read_calls(text: &str, offered: &[&str]) -> Option<Vec<CallPiece>> {
    let text = text.trim();
    let calls = match text.starts_with(['{', '[']) && !text.starts_with("[TOOL_CALLS]") {
        true => read_json(text)?,
        false => read_marked(text)?,
    };
    let is_offered = |call: &CallPiece| call.name.as_deref().is_some_and(|name| offered.contains(&name));
    (!calls.is_empty() && calls.iter().all(is_offered)).then_some(calls)
}

/// Returns the name of a tool without what a template left behind it, such as `read_file<|channel|>commentary`.
pub(crate) fn clean_name(name: String) -> String {
    match name.split_once("<|") {
        Some((front, _)) => front.trim().to_owned(),
        None => name,
    }
}

fn read_json(text: &str) -> Option<Vec<CallPiece>> {
    match serde_json::from_str(text).ok()? {
        Value::Array(entries) => entries.iter().map(read_object).collect(),
        object => Some(vec![read_object(&object)?]),
    }
}

fn read_object(object: &Value) -> Option<CallPiece> {
    let function = object
        .get("function")
        .filter(|function| function.is_object())
        .unwrap_or(object);
    let name = function.get("name")?.as_str()?;
    let names = ["arguments", "parameters", "input", "args"];
    let arguments = match names.iter().find_map(|name| function.get(*name)) {
        Some(Value::String(text)) => serde_json::from_str::<Value>(text).ok()?,
        Some(arguments) => arguments.clone(),
        None => Value::Object(Map::new()),
    };
    arguments.is_object().then(|| make_call(name, &arguments))
}

fn make_call(name: &str, arguments: &Value) -> CallPiece {
    CallPiece {
        name: Some(clean_name(name.to_owned())),
        arguments: arguments.to_string(),
        ..CallPiece::default()
    }
}

/// Reads calls with marks, one after the other, with nothing but blanks between them.
fn read_marked(text: &str) -> Option<Vec<CallPiece>> {
    let mut calls = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (found, after) = read_one(rest)?;
        calls.extend(found);
        rest = after.trim_start();
    }
    Some(calls)
}

fn read_one(text: &str) -> Option<(Vec<CallPiece>, &str)> {
    if let Some(inside) = text.strip_prefix("<tool_call>") {
        // The end mark may be missing: some templates stop at it.
        let (inside, after) = inside.split_once("</tool_call>").unwrap_or((inside, ""));
        let inside = inside.trim();
        return match inside.starts_with("<function=") {
            true => Some((vec![read_function(inside)?.0], after)),
            false => Some((read_json(inside)?, after)),
        };
    }
    if let Some(inside) = text.strip_prefix("[TOOL_CALLS]") {
        return Some((read_json(inside.trim())?, ""));
    }
    if let Some(inside) = text.strip_prefix("<|python_tag|>") {
        let inside = inside
            .trim()
            .trim_end_matches("<|eom_id|>")
            .trim_end_matches("<|eot_id|>");
        return Some((read_json(inside.trim())?, ""));
    }
    if text.starts_with("<function=") {
        let (call, after) = read_function(text)?;
        return Some((vec![call], after));
    }
    read_harmony(text)
}

fn read_function(text: &str) -> Option<(CallPiece, &str)> {
    let (name, rest) = text.strip_prefix("<function=")?.split_once('>')?;
    let (inside, after) = rest.split_once("</function>").unwrap_or((rest, ""));
    let inside = inside.trim();
    if !inside.starts_with("<parameter=") {
        let arguments: Value = serde_json::from_str(inside).ok()?;
        return arguments
            .is_object()
            .then(|| (make_call(name, &arguments), after));
    }
    let mut arguments = Map::new();
    let mut rest = inside;
    while !rest.is_empty() {
        let (key, value) = rest.strip_prefix("<parameter=")?.split_once('>')?;
        let (value, next) = value.split_once("</parameter>")?;
        // The template writes each value on lines of its own.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        arguments.insert(key.to_owned(), value.into());
        rest = next.trim_start();
    }
    Some((make_call(name, &arguments.into()), after))
}

fn read_harmony(text: &str) -> Option<(Vec<CallPiece>, &str)> {
    let text = text.strip_prefix("<|start|>assistant").unwrap_or(text);
    let rest = text.strip_prefix("<|channel|>commentary to=")?;
    let (head, rest) = rest.split_once("<|message|>")?;
    let name = head.split("<|").next()?.trim();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let (inside, after) = rest.split_once("<|call|>").unwrap_or((rest, ""));
    let arguments: Value = serde_json::from_str(inside.trim()).ok()?;
    arguments
        .is_object()
        .then(|| (vec![make_call(name, &arguments)], after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_with_a_known_mark_or_as_the_entire_answer() {
        let read = |text: &str| match read_calls(text, &["read_file", "list"]) {
            Some(calls) => {
                let calls = calls
                    .iter()
                    .map(|call| format!("{} {}", call.name.as_deref().unwrap_or_default(), call.arguments));
                calls.collect::<Vec<_>>().join(", ")
            }
            None => "text".to_owned(),
        };
        let texts = [
            r#"{"name": "read_file", "parameters": {"path": "src/a.py"}}"#,
            r#"[{"name": "read_file", "arguments": "{\"path\":\"a\"}"}, {"function": {"name": "list"}}]"#,
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n<tool_call>{\"name\":\"list\"}</tool_call>",
            "<tool_call>\n<function=read_file>\n<parameter=path>\na b\n</parameter>\n</function>\n</tool_call>",
            "<function=read_file>{\"path\":\"a\"}</function>",
            "[TOOL_CALLS][{\"name\": \"list\", \"arguments\": {}}]",
            "<|python_tag|>{\"name\": \"list\", \"parameters\": {}}<|eom_id|>",
            "<|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"path\":\"a\"}<|call|>",
            "{\"name\": \"delete\", \"parameters\": {}}",
            "{\"name\": \"list\", \"parameters\": {}} is the call",
            "Use {\"name\": \"list\", \"parameters\": {}}",
            "```json\n{\"name\": \"list\", \"parameters\": {}}\n```",
            "<tool_call>{\"name\": \"list\"",
            "{\"name\": \"list\", \"parameters\": 5}",
            "{\"a\": 1}",
        ];
        insta::assert_snapshot!(texts.map(read).join("\n"), @r#"
        read_file {"path":"src/a.py"}
        read_file {"path":"a"}, list {}
        read_file {"path":"a"}, list {}
        read_file {"path":"a b"}
        read_file {"path":"a"}
        list {}
        list {}
        read_file {"path":"a"}
        text
        text
        text
        text
        text
        text
        text
        "#);
        assert_eq!(
            clean_name("read_file<|channel|>commentary".to_owned()),
            "read_file"
        );
    }
}
