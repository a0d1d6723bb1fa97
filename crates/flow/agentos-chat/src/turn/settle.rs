//! The calls of an answer, in a form that can be stored, sent back and matched with their results.
//!
//! Owns: their ids and arguments. Never: runs a call.

use std::collections::BTreeSet;

use agentos_model::{ChatMessage, MessagePart, ToolCall};
use serde_json::Value;

use crate::transcript::survives_storage;

/// Lists the calls of tools in an answer.
pub(super) fn list_calls(message: &ChatMessage) -> Vec<ToolCall> {
    let calls = message.parts.iter().filter_map(|part| match part {
        MessagePart::ToolCall(call) => Some(call.clone()),
        MessagePart::Text(_)
        | MessagePart::Image(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Thinking(_) => None,
    });
    calls.collect()
}

/// Makes the ids of an answer's calls unique.
pub(super) fn settle_ids(message: &mut ChatMessage) {
    let mut taken = BTreeSet::new();
    for (at, part) in message.parts.iter_mut().enumerate() {
        if let MessagePart::ToolCall(call) = part {
            // Some servers give all calls of an answer one id. Results are matched by it, so the second call would have none.
            if call.id.is_empty() || taken.contains(&call.id) {
                call.id = format!("call_{at}_{}", call.id);
            }
            taken.insert(call.id.clone());
        }
    }
}

/// Makes the arguments of an answer's calls read back as they were written.
pub(super) fn settle_arguments(message: &mut ChatMessage) {
    if survives_storage(message) {
        return;
    }
    for part in &mut message.parts {
        if let MessagePart::ToolCall(call) = part {
            // Canonical JSON has doubles only, so an integer of 64 bits could change its value. As text it cannot.
            call.arguments = Value::String(call.arguments.to_string());
        }
    }
}
