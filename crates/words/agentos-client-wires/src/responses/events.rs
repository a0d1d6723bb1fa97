//! Responses as events.
//!
//! Owns: the items that are open in a stream, and the number of each event. Never: writes `response.completed` behind an answer that
//! has no end.

use agentos_model::{CallPiece, ChatEvent, ThoughtPiece};
use agentos_tool::{FinishReason, Usage};
use serde_json::{Map, Value, json};

use super::reply::{
    ItemStatus, WrittenCall, item_id, note_end, write_message, write_reasoning, write_response, write_text,
};
use super::tools::unwrap_input;
use crate::fault::ClientFault;
use crate::seal::{seal_call, seal_item};
use crate::wire::{ReplyFacts, write_sse};

/// Item that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OpenItem {
    Message {
        text: String,
    },
    Reasoning {
        position: Option<u64>,
        text: String,
        /// Signature, which vendors may send in pieces.
        signature: Option<String>,
    },
    Call {
        position: Option<u64>,
        /// Id in the pieces of the call.
        piece_id: Option<String>,
        written: WrittenCall,
        arguments: String,
    },
}

/// Writer of events.
///
/// | state | next events |
/// |---|---|
/// | nothing written | `response.created`, `response.in_progress` |
/// | piece of an item that is not open | the end of the open items, `response.output_item.added`, and as below |
/// | piece of a call while other calls are open | as above, and the other calls stay open: their pieces may alternate |
/// | piece of an open item | its `delta` |
/// | end | the end of the open items, `response.completed` or `response.incomplete` |
/// | failure | `response.failed` |
#[derive(Debug)]
pub struct EventWriter {
    facts: ReplyFacts,
    has_begun: bool,
    /// Number of the next event.
    sequence: u64,
    /// Open items: a message, reasoning, or calls.
    open: Vec<OpenItem>,
    /// Items that have ended.
    output: Vec<Value>,
    usage: Option<Usage>,
}

impl EventWriter {
    /// Makes a writer of one answer.
    pub fn new(facts: ReplyFacts) -> Self {
        Self {
            facts,
            has_begun: false,
            sequence: 0,
            open: Vec::new(),
            output: Vec::new(),
            usage: None,
        }
    }

    /// Appends the events of an event.
    pub fn write_event(&mut self, event: &ChatEvent, out: &mut String) {
        match event {
            // A word for a person, which no field of this form has room for.
            // A client cannot take back what it was sent.
            ChatEvent::Note { .. } | ChatEvent::TextWasThinking => {}
            ChatEvent::Text { text } => self.write_text(text, out),
            ChatEvent::Thinking(thought) => self.write_thought(thought, out),
            ChatEvent::ToolCall(piece) => self.write_call(piece, out),
            ChatEvent::Usage(usage) => self.usage = Some(*usage),
            ChatEvent::Finish(end) => self.write_end(end.finish, out),
        }
    }

    /// Appends the event of a failure, after which nothing follows.
    pub fn write_fault(&mut self, fault: &ClientFault, out: &mut String) {
        self.begin(out);
        let mut response = write_response(&self.facts, ItemStatus::Failed, &self.output, None);
        let error = json!({"code": fault.response_code(), "message": fault.message});
        response.insert("error".to_owned(), error);
        self.write("response.failed", json!({"response": response}), out);
    }

    fn write_end(&mut self, finish: FinishReason, out: &mut String) {
        self.begin(out);
        let status = ItemStatus::at_end(finish);
        self.close_items(status, out);
        let mut response = write_response(&self.facts, status, &self.output, self.usage.as_ref());
        note_end(&mut response, finish);
        let name = match status {
            ItemStatus::Incomplete => "response.incomplete",
            ItemStatus::Completed | ItemStatus::InProgress | ItemStatus::Failed => "response.completed",
        };
        self.write(name, json!({"response": response}), out);
    }

    fn write_text(&mut self, piece: &str, out: &mut String) {
        if !matches!(self.open.as_slice(), [OpenItem::Message { .. }]) {
            let id = item_id(&self.facts, "msg", self.next_index());
            let text = String::new();
            let item = write_message(&id, None, ItemStatus::InProgress);
            self.open_item(OpenItem::Message { text }, &item, out);
            let part = json!({"part": write_text("")});
            self.write_about("response.content_part.added", 0, "content_index", part, out);
        }
        if let Some(OpenItem::Message { text }) = self.open.last_mut() {
            text.push_str(piece);
        }
        let delta = json!({"delta": piece, "logprobs": []});
        self.write_about("response.output_text.delta", 0, "content_index", delta, out);
    }

    fn write_thought(&mut self, thought: &ThoughtPiece, out: &mut String) {
        if thought.is_encrypted {
            let id = item_id(&self.facts, "rs", self.next_index());
            let sealed = seal_item(&self.facts.provider, thought.signature.as_deref(), true);
            let item = write_reasoning(&id, "", Some(sealed));
            let open = OpenItem::Reasoning {
                position: thought.position,
                text: String::new(),
                signature: None,
            };
            self.open_item(open, &item, out);
            // It has no pieces, and what follows is another item.
            self.open.clear();
            self.end_item(item, out);
            return;
        }
        let is_same = match self.open.as_slice() {
            [OpenItem::Reasoning { position, .. }] => *position == thought.position,
            _ => false,
        };
        if !is_same {
            let id = item_id(&self.facts, "rs", self.next_index());
            let open = OpenItem::Reasoning {
                position: thought.position,
                text: String::new(),
                signature: None,
            };
            self.open_item(open, &write_reasoning(&id, "", None), out);
        }
        let Some(OpenItem::Reasoning { text, signature, .. }) = self.open.last_mut() else {
            return;
        };
        if let Some(piece) = &thought.signature {
            signature.get_or_insert_default().push_str(piece);
        }
        if thought.text.is_empty() {
            return;
        }
        let is_first = text.is_empty();
        text.push_str(&thought.text);
        if is_first {
            let part = json!({"part": {"type": "summary_text", "text": ""}});
            let name = "response.reasoning_summary_part.added";
            self.write_about(name, 0, "summary_index", part, out);
        }
        let delta = json!({"delta": thought.text});
        let name = "response.reasoning_summary_text.delta";
        self.write_about(name, 0, "summary_index", delta, out);
    }

    fn write_call(&mut self, piece: &CallPiece, out: &mut String) {
        let is_same = |item: &OpenItem| match item {
            OpenItem::Call {
                position, piece_id, ..
            } => {
                position.is_some()
                    && *position == piece.position
                    && (piece.id.is_none() || *piece_id == piece.id)
            }
            OpenItem::Message { .. } | OpenItem::Reasoning { .. } => false,
        };
        let at = match self.open.iter().position(is_same) {
            Some(at) => at,
            None => self.open_call(piece, out),
        };
        let index = self.output.len() + at;
        let Some(OpenItem::Call {
            arguments, written, ..
        }) = self.open.get_mut(at)
        else {
            return;
        };
        arguments.push_str(&piece.arguments);
        // Free text is inside of JSON, whose pieces are no text yet.
        if piece.arguments.is_empty() || written.form.is_custom {
            return;
        }
        let delta = json!({"item_id": written.id, "output_index": index, "delta": piece.arguments});
        self.write("response.function_call_arguments.delta", delta, out);
    }

    /// Opens a call, and returns its position among the open items.
    fn open_call(&mut self, piece: &CallPiece, out: &mut String) -> usize {
        let index = self.next_index();
        let id = piece.id.clone().filter(|id| !id.is_empty());
        // Gemini and Ollama give calls no ids, and results are matched by them.
        let id = id.unwrap_or_else(|| format!("call_{index}"));
        let written = WrittenCall {
            id: item_id(&self.facts, "fc", index),
            call_id: seal_call(&id, &self.facts.provider, piece.signature.as_deref()),
            form: self
                .facts
                .echo
                .tools
                .find(piece.name.as_deref().unwrap_or_default()),
        };
        let item = written.to_item("", ItemStatus::InProgress);
        let open = OpenItem::Call {
            position: piece.position,
            piece_id: piece.id.clone(),
            written,
            arguments: String::new(),
        };
        self.open_item(open, &item, out);
        self.open.len().saturating_sub(1)
    }

    fn next_index(&self) -> usize {
        self.output.len() + self.open.len()
    }

    fn begin(&mut self, out: &mut String) {
        // With the first piece and not before it: until then, the answer can still be a failure with a status of its own.
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let response = write_response(&self.facts, ItemStatus::InProgress, &[], None);
        for name in ["response.created", "response.in_progress"] {
            self.write(name, json!({"response": response}), out);
        }
    }

    /// Opens an item. Open items end before, unless all of them and the new one are calls.
    fn open_item(&mut self, open: OpenItem, item: &Value, out: &mut String) {
        self.begin(out);
        let is_call = |item: &OpenItem| matches!(item, OpenItem::Call { .. });
        if !(is_call(&open) && self.open.iter().all(is_call)) {
            self.close_items(ItemStatus::Completed, out);
        }
        let data = json!({"output_index": self.next_index(), "item": item});
        self.open.push(open);
        self.write("response.output_item.added", data, out);
    }

    /// Ends all open items. `status` is the state of the last one.
    fn close_items(&mut self, status: ItemStatus, out: &mut String) {
        let open = std::mem::take(&mut self.open);
        let count = open.len();
        for (at, item) in open.into_iter().enumerate() {
            let status = match at + 1 == count {
                true => status,
                false => ItemStatus::Completed,
            };
            self.close_item(item, status, out);
        }
    }

    fn close_item(&mut self, item: OpenItem, status: ItemStatus, out: &mut String) {
        let index = self.output.len();
        let item = match item {
            OpenItem::Message { text } => {
                let id = item_id(&self.facts, "msg", index);
                let done = json!({"text": text, "logprobs": []});
                self.write_done("response.output_text.done", &id, "content_index", done, out);
                let done = json!({"part": write_text(&text)});
                self.write_done("response.content_part.done", &id, "content_index", done, out);
                write_message(&id, Some(&text), status)
            }
            OpenItem::Reasoning { text, signature, .. } => {
                let id = item_id(&self.facts, "rs", index);
                if !text.is_empty() {
                    let name = "response.reasoning_summary_text.done";
                    self.write_done(name, &id, "summary_index", json!({"text": text}), out);
                    let name = "response.reasoning_summary_part.done";
                    let done = json!({"part": {"type": "summary_text", "text": text}});
                    self.write_done(name, &id, "summary_index", done, out);
                }
                // Also without a signature: it says whose thinking this is.
                let sealed = seal_item(&self.facts.provider, signature.as_deref(), false);
                write_reasoning(&id, &text, Some(sealed))
            }
            OpenItem::Call {
                written, arguments, ..
            } => self.close_call(&written, arguments, status, out),
        };
        self.end_item(item, out);
    }

    fn close_call(
        &mut self,
        written: &WrittenCall,
        arguments: String,
        status: ItemStatus,
        out: &mut String,
    ) -> Value {
        let place = json!({"item_id": written.id, "output_index": self.output.len()});
        let with = |more: Value| merge(place.clone(), more);
        if written.form.is_custom {
            let input = unwrap_input(&arguments);
            let name = "response.custom_tool_call_input.delta";
            self.write(name, with(json!({"delta": input})), out);
            let name = "response.custom_tool_call_input.done";
            self.write(name, with(json!({"input": input})), out);
            return written.to_item(&arguments, status);
        }
        let name = "response.function_call_arguments.delta";
        let arguments = match arguments.is_empty() {
            // A call without arguments has an empty object, and the pieces must add up to it.
            true => {
                self.write(name, with(json!({"delta": "{}"})), out);
                "{}".to_owned()
            }
            false => arguments,
        };
        let done = json!({"name": written.form.name, "arguments": arguments});
        self.write("response.function_call_arguments.done", with(done), out);
        written.to_item(&arguments, status)
    }

    fn end_item(&mut self, item: Value, out: &mut String) {
        let data = json!({"output_index": self.output.len(), "item": item});
        self.write("response.output_item.done", data, out);
        self.output.push(item);
    }

    /// Writes an event about a part of the open message or reasoning.
    fn write_about(&mut self, name: &str, part: usize, part_name: &str, more: Value, out: &mut String) {
        let kind = match self.open.last() {
            Some(OpenItem::Message { .. }) => "msg",
            Some(OpenItem::Reasoning { .. } | OpenItem::Call { .. }) | None => "rs",
        };
        let id = item_id(&self.facts, kind, self.output.len());
        let place = json!({"item_id": id, "output_index": self.output.len(), part_name: part});
        self.write(name, merge(place, more), out);
    }

    /// Writes the end of the only part of an item.
    fn write_done(&mut self, name: &str, id: &str, part_name: &str, more: Value, out: &mut String) {
        let place = json!({"item_id": id, "output_index": self.output.len(), part_name: 0});
        self.write(name, merge(place, more), out);
    }

    fn write(&mut self, name: &str, data: Value, out: &mut String) {
        let own = json!({"type": name, "sequence_number": self.sequence});
        self.sequence += 1;
        write_sse(Some(name), &merge(own, data), out);
    }
}

/// Adds the fields of an object to another one.
fn merge(one: Value, other: Value) -> Value {
    let fields = [one, other].into_iter().filter_map(|value| match value {
        Value::Object(fields) => Some(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    });
    Value::Object(fields.flatten().collect::<Map<_, _>>())
}
