//! Tools and tool calls in the form that most wires share: OpenAI's functions.
//!
//! Owns: that form, of whole calls and of pieces. Never: decides which wire has it.

use agentos_model::{CallPiece, ToolSpec};
use serde_json::{Value, json};

/// Writes the definition of a tool as a function.
#[must_use]
pub fn write_function(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
    }})
}

/// Reads a list of calls: `[{"index", "id", "function": {"name", "arguments"}}]`. Arguments are JSON, or a string that
/// contains JSON or, in a stream, a piece of it.
#[must_use]
pub fn read_functions(list: Option<&Value>) -> Vec<CallPiece> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|call| {
        let function = call.get("function")?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        Some(CallPiece {
            id: text(call.get("id")).filter(|id| !id.is_empty()),
            name: text(function.get("name")).filter(|name| !name.is_empty()),
            arguments: match function.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                None | Some(Value::Null) => String::new(),
                Some(other) => other.to_string(),
            },
            signature: None,
            position: call.get("index").and_then(Value::as_u64),
        })
    })
    .collect()
}
