//! A conversation as plain text, for wires that have only a prompt.
//!
//! Owns: the labels of the authors. Never: used where a wire has messages.

use crate::{ChatMessage, ChatRole};

/// Joins the texts of messages. A single message of the user stays as it is; otherwise each message gets its author's name.
#[must_use]
pub fn flatten_messages(messages: &[ChatMessage]) -> String {
    if let [message] = messages
        && message.role == ChatRole::User
    {
        return message.text();
    }
    let label = |message: &ChatMessage| {
        let name = match message.role {
            ChatRole::User => "User",
            ChatRole::Assistant => "Assistant",
        };
        format!("{name}: {}", message.text())
    };
    let labelled: Vec<String> = messages.iter().map(label).collect();
    labelled.join("\n\n")
}
