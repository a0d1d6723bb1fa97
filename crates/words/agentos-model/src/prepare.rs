//! Makes the messages of a conversation fit a wire.
//!
//! Owns: the rules for what a wire or another provider does not accept. Never: changes the conversation itself; the result is
//! for one request.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{ChatMessage, ChatRole, MessagePart, ToolCall, ToolResult};

/// Abilities of a wire that decide how messages are prepared for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireAbilities<'a> {
    /// Provider that is called. Thinking and signatures of others are left out.
    pub provider: &'a str,
    /// True if the wire has tools, their calls and their results.
    pub tools: bool,
    /// True if the wire takes thinking back.
    pub thinking: bool,
    /// True if the wire has images in messages of the user.
    pub images: bool,
    /// True if the wire has images in results of tools.
    pub result_images: bool,
    /// Longest id of a call.
    pub max_id_bytes: usize,
}

/// Messages that fit a wire, and what was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedChat {
    /// Messages to send.
    pub messages: Vec<ChatMessage>,
    /// Changes, in sentences for the user. Empty if nothing was lost.
    pub notices: Vec<String>,
}

/// Makes messages fit a wire.
///
/// | found | becomes |
/// |---|---|
/// | call without a result in the next message | call, and a result that says that it was not run |
/// | result without a call | text of the user |
/// | results in another order than their calls | in the order of the calls |
/// | call or result, where the wire has no tools | text that says so |
/// | thinking, or a signature, of another provider | left out |
/// | thinking of this provider without a signature, where the wire takes thinking | left out: it would be refused |
/// | image where the wire has none | a text that says so |
/// | id that is too long, empty, used twice, or has other characters than `A-Za-z0-9_-` | another id, the same in call and result |
/// | arguments that are no object | `{"arguments": …}` |
/// | message without parts, text without characters | left out |
/// | two messages of one author in a row | one message |
#[must_use]
pub fn prepare_messages(messages: &[ChatMessage], wire: &WireAbilities<'_>) -> PreparedChat {
    let mut preparer = Preparer {
        wire,
        ids: IdBook::default(),
        images: 0,
        thoughts: 0,
        dangling: 0,
    };
    let mut out: Vec<ChatMessage> = Vec::new();
    // Calls of the last message that have no result yet.
    let mut open: Vec<ToolCall> = Vec::new();
    for message in &join_users(messages) {
        let prepared = match message.role {
            ChatRole::Assistant => {
                preparer.close_calls(&mut open, &mut out);
                preparer.prepare_answer(message, &mut open)
            }
            ChatRole::User => preparer.prepare_user(message, &mut open),
        };
        push_message(&mut out, message.role, prepared);
    }
    preparer.close_calls(&mut open, &mut out);
    PreparedChat {
        messages: out,
        notices: preparer.notices(),
    }
}

/// Returns how many of the prepared messages stay as they are if the first `stable` messages of the conversation do.
#[must_use]
pub fn count_stable(
    messages: &[ChatMessage],
    stable: usize,
    prepared: &[ChatMessage],
    wire: &WireAbilities<'_>,
) -> usize {
    let Some(first) = messages.get(..stable.min(messages.len())) else {
        return 0;
    };
    // Messages are joined and left out, so their numbers say nothing. What comes out the same without the later messages does
    // not depend on them.
    let alone = prepare_messages(first, wire).messages;
    let pairs = alone.iter().zip(prepared);
    pairs.take_while(|(alone, prepared)| alone == prepared).count()
}

/// Joins messages of the user in a row. A result may be in the second one, and belongs before everything in the first. Messages
/// of the model stay apart, because the results of its calls belong between them.
fn join_users(messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut joined: Vec<ChatMessage> = Vec::new();
    for message in messages {
        match message.role {
            ChatRole::User => push_message(&mut joined, ChatRole::User, message.parts.clone()),
            ChatRole::Assistant => joined.push(message.clone()),
        }
    }
    joined
}

struct Preparer<'a> {
    wire: &'a WireAbilities<'a>,
    ids: IdBook,
    images: usize,
    thoughts: usize,
    dangling: usize,
}

impl Preparer<'_> {
    /// Prepares an answer of a model, and remembers its calls.
    fn prepare_answer(&mut self, message: &ChatMessage, open: &mut Vec<ToolCall>) -> Vec<MessagePart> {
        let mut parts = Vec::new();
        for part in &message.parts {
            match part {
                MessagePart::Text(text) => parts.extend(keep_text(text)),
                MessagePart::Thinking(thinking) => {
                    let is_own = thinking.provider == self.wire.provider && thinking.signature.is_some();
                    if self.wire.thinking && is_own {
                        parts.push(part.clone());
                    } else if !thinking.text.is_empty() || thinking.is_encrypted {
                        self.thoughts += 1;
                    }
                }
                MessagePart::ToolCall(call) if !self.wire.tools => {
                    parts.push(MessagePart::Text(format!(
                        "[called {} with {}]",
                        call.name, call.arguments
                    )));
                }
                MessagePart::ToolCall(call) => {
                    let call = ToolCall {
                        id: self.ids.begin_call(&call.id, self.wire.max_id_bytes),
                        name: call.name.clone(),
                        arguments: as_object(&call.arguments),
                        signature: call
                            .signature
                            .clone()
                            .filter(|signature| signature.provider == self.wire.provider),
                    };
                    open.push(call.clone());
                    parts.push(MessagePart::ToolCall(call));
                }
                // A model sends neither. A conversation that was imported may claim it.
                MessagePart::Image(_) | MessagePart::ToolResult(_) => {}
            }
        }
        parts
    }

    /// Prepares a message of the user: results first, because two vendors require that, then the rest.
    fn prepare_user(&mut self, message: &ChatMessage, open: &mut Vec<ToolCall>) -> Vec<MessagePart> {
        let order: Vec<String> = open.iter().map(|call| call.id.clone()).collect();
        let (mut results, mut rest) = (Vec::new(), Vec::new());
        for part in &message.parts {
            match part {
                MessagePart::Text(text) => rest.extend(keep_text(text)),
                MessagePart::Image(_) if self.wire.images => rest.push(part.clone()),
                MessagePart::Image(_) => {
                    self.images += 1;
                    rest.push(MessagePart::Text(NO_IMAGE.to_owned()));
                }
                MessagePart::ToolResult(result) if !self.wire.tools => {
                    let word = if result.is_error {
                        "the call failed"
                    } else {
                        "the call returned"
                    };
                    rest.push(MessagePart::Text(format!("[{word}: {}]", result.text)));
                }
                MessagePart::ToolResult(result) => {
                    let id = self.ids.id_of(&result.tool_use_id);
                    match open.iter().position(|call| Some(&call.id) == id.as_ref()) {
                        Some(at) => {
                            let call = open.remove(at);
                            let (result, images) = self.prepare_result(result, call.id);
                            results.push(MessagePart::ToolResult(result));
                            rest.extend(images);
                        }
                        None => {
                            self.dangling += 1;
                            rest.extend(keep_text(&result.text));
                        }
                    }
                }
                // Only a model has these.
                MessagePart::ToolCall(_) | MessagePart::Thinking(_) => {}
            }
        }
        if !results.is_empty() {
            self.dangling += open.len();
            // Every call of the answer needs its result in this message.
            results.extend(open.drain(..).map(|call| MessagePart::ToolResult(not_run(call))));
        }
        // Ollama's wire has no ids: a result belongs to the first call of its tool that has none yet.
        results.sort_by_key(|part| match part {
            MessagePart::ToolResult(result) => order.iter().position(|id| *id == result.tool_use_id),
            MessagePart::Text(_)
            | MessagePart::Image(_)
            | MessagePart::ToolCall(_)
            | MessagePart::Thinking(_) => None,
        });
        results.extend(rest);
        results
    }

    /// Prepares a result. Images that cannot be in it follow as parts of the user.
    fn prepare_result(&mut self, result: &ToolResult, id: String) -> (ToolResult, Vec<MessagePart>) {
        let mut kept = ToolResult {
            tool_use_id: id,
            ..result.clone()
        };
        if self.wire.result_images || kept.images.is_empty() {
            return (kept, Vec::new());
        }
        let images = std::mem::take(&mut kept.images);
        if self.wire.images {
            return (kept, images.into_iter().map(MessagePart::Image).collect());
        }
        self.images += images.len();
        kept.text = format!("{}\n{NO_IMAGE}", kept.text).trim_start().to_owned();
        (kept, Vec::new())
    }

    /// Answers the calls that nobody answered.
    fn close_calls(&mut self, open: &mut Vec<ToolCall>, out: &mut Vec<ChatMessage>) {
        self.dangling += open.len();
        let results: Vec<MessagePart> = open
            .drain(..)
            .map(|call| MessagePart::ToolResult(not_run(call)))
            .collect();
        // Directly after the calls: a message of the user that follows them is joined to it.
        let at = out
            .iter()
            .rposition(|message| message.role == ChatRole::Assistant);
        let next = at.and_then(|at| out.get_mut(at + 1));
        match next {
            Some(next) => {
                let rest = std::mem::replace(&mut next.parts, results);
                next.parts.extend(rest);
            }
            None => push_message(out, ChatRole::User, results),
        }
    }

    fn notices(&self) -> Vec<String> {
        let counted = [
            (
                self.images,
                "image was left out, because the model's wire has none",
            ),
            (self.thoughts, "piece of another model's thinking was left out"),
            (self.dangling, "tool call or result had no counterpart"),
        ];
        let word = |(count, text): (usize, &str)| match count {
            0 => None,
            1 => Some(format!("1 {text}")),
            _ => Some(format!("{count} × {text}")),
        };
        counted.into_iter().filter_map(word).collect()
    }
}

/// Text in the place of an image.
const NO_IMAGE: &str = "[an image was here, which this model cannot see]";

fn not_run(call: ToolCall) -> ToolResult {
    ToolResult {
        tool_use_id: call.id,
        text: "The call was not run.".to_owned(),
        images: Vec::new(),
        is_error: true,
    }
}

fn keep_text(text: &str) -> Option<MessagePart> {
    // Anthropic refuses texts without a visible character.
    (!text.trim().is_empty()).then(|| MessagePart::Text(text.to_owned()))
}

fn as_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => serde_json::json!({ "arguments": other }),
    }
}

fn push_message(out: &mut Vec<ChatMessage>, role: ChatRole, parts: Vec<MessagePart>) {
    if parts.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.role == role => last.parts.extend(parts),
        Some(_) | None => out.push(ChatMessage { role, parts }),
    }
}

/// Ids of calls as they are sent.
#[derive(Default)]
struct IdBook {
    /// The id that is sent for the last call with an id of the conversation.
    sent: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl IdBook {
    /// Chooses the id of a call: its own if the wire accepts it and no other call has it.
    fn begin_call(&mut self, own: &str, max_bytes: usize) -> String {
        let fits = !own.is_empty()
            && own.len() <= max_bytes
            && own
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let id = if fits && !self.taken.contains(own) {
            own.to_owned()
        } else {
            self.make_id()
        };
        self.taken.insert(id.clone());
        self.sent.insert(own.to_owned(), id.clone());
        id
    }

    fn make_id(&self) -> String {
        let mut number = self.taken.len();
        loop {
            let id = format!("call_{number}");
            if !self.taken.contains(&id) {
                return id;
            }
            number += 1;
        }
    }

    /// Returns the id that is sent for an id of the conversation. `None` if no call has it.
    fn id_of(&self, own: &str) -> Option<String> {
        self.sent.get(own).cloned()
    }
}

#[cfg(test)]
mod tests;
