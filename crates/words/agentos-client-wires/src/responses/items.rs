//! Items of a request's input.
//!
//! Owns: each type of item. Never: fetches an image by its address, or asks for an item by its id.

use agentos_model::{ChatMessage, ChatRole, ImageData, MessagePart, ToolCall, ToolResult};
use serde_json::Value;

use super::tools::{read_called, wrap_input};
use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};
use crate::openai::read_data_url;
use crate::seal::{open_call, open_item};

/// Conversation that the items of an input make.
#[derive(Debug, Default)]
pub struct ReadInput {
    /// Texts of the system prompt, in their order.
    pub system: Vec<String>,
    /// Messages.
    pub messages: Vec<ChatMessage>,
    /// Paths of the items that are left out, with their types.
    pub ignored: Vec<String>,
}

impl ReadInput {
    /// Reads the input: a text, or a list of items.
    ///
    /// # Errors
    /// Fails if an item has no known form, or refers to something that is not kept.
    pub fn read(input: Value) -> Result<Self, RequestFault> {
        let mut read = Self::default();
        match input {
            Value::String(text) => read.messages.push(ChatMessage::from_user(text)),
            Value::Array(items) => {
                for (at, item) in items.into_iter().enumerate() {
                    let path = format!("input[{at}]");
                    read.add_item(&mut ObjectFields::take(item, &path)?, &path)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                return Err(wrong_type("input", "a text or a list of items"));
            }
        }
        Ok(read)
    }

    fn add_item(&mut self, item: &mut ObjectFields, path: &str) -> Result<(), RequestFault> {
        match item.text("type")?.as_deref() {
            // A message may leave its type out.
            None | Some("message") => self.add_message(item),
            Some("function_call") => {
                let arguments = item.text("arguments")?.unwrap_or_default();
                // What the model wrote may be no JSON; it goes back as it was.
                let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
                self.add_call(item, arguments)
            }
            Some("custom_tool_call") => {
                let arguments = wrap_input(item.text("input")?.unwrap_or_default());
                self.add_call(item, arguments)
            }
            Some("function_call_output" | "custom_tool_call_output") => self.add_result(item),
            Some("reasoning") => self.add_thinking(item),
            Some("item_reference") => {
                let message = "this service keeps no items: send the item itself, and `store: false`";
                Err(RequestFault::of_field(item.path_of("type"), message))
            }
            // What a tool of OpenAI did in an earlier answer of another provider. Its result is in that answer's text.
            Some(kind @ ("web_search_call" | "file_search_call" | "code_interpreter_call")) => {
                self.ignored.push(format!("{path} ({kind})"));
                Ok(())
            }
            Some(kind) => {
                let message = format!("an item of type `{kind}` is not supported");
                Err(RequestFault::of_field(item.path_of("type"), message))
            }
        }
    }

    fn add_message(&mut self, item: &mut ObjectFields) -> Result<(), RequestFault> {
        let role = item.required_text("role")?;
        let path = item.path_of("content");
        let parts = read_content(item)?;
        match role.as_str() {
            // One prompt, wherever they are: most wires have no other place for them.
            "system" | "developer" => {
                let texts = parts.into_iter().map(|part| match part {
                    MessagePart::Text(text) => Ok(text),
                    MessagePart::Image(_)
                    | MessagePart::ToolCall(_)
                    | MessagePart::ToolResult(_)
                    | MessagePart::Thinking(_) => Err(wrong_type(&path, "text in this role")),
                });
                let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
                self.system.extend(texts);
            }
            "user" => self.messages.push(ChatMessage {
                role: ChatRole::User,
                parts,
            }),
            "assistant" => parts.into_iter().for_each(|part| self.add_part(part)),
            role => {
                let text = format!("the role `{role}` is not supported");
                return Err(RequestFault::of_field(item.path_of("role"), text));
            }
        }
        Ok(())
    }

    /// Adds a part of the model's. Items of one answer are one message in every other form.
    fn add_part(&mut self, part: MessagePart) {
        match self.messages.last_mut() {
            Some(message) if message.role == ChatRole::Assistant => message.parts.push(part),
            Some(_) | None => self.messages.push(ChatMessage::from_model(vec![part])),
        }
    }

    fn add_call(&mut self, item: &mut ObjectFields, arguments: Value) -> Result<(), RequestFault> {
        let (id, signature) = open_call(&item.required_text("call_id")?);
        self.add_part(MessagePart::ToolCall(ToolCall {
            id,
            name: read_called(item)?,
            arguments,
            signature,
        }));
        Ok(())
    }

    /// Adds a result of a tool. Results of the calls of one answer are one message in every other form.
    fn add_result(&mut self, item: &mut ObjectFields) -> Result<(), RequestFault> {
        let (tool_use_id, _) = open_call(&item.required_text("call_id")?);
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for part in read_parts(item, "output")? {
            match part {
                MessagePart::Text(text) => texts.push(text),
                MessagePart::Image(image) => images.push(image),
                MessagePart::ToolCall(_) | MessagePart::ToolResult(_) | MessagePart::Thinking(_) => {}
            }
        }
        let part = MessagePart::ToolResult(ToolResult {
            tool_use_id,
            text: texts.join("\n"),
            images,
            is_error: false,
        });
        let is_result = |part: &MessagePart| matches!(part, MessagePart::ToolResult(_));
        match self.messages.last_mut() {
            Some(message) if message.role == ChatRole::User && message.parts.iter().all(is_result) => {
                message.parts.push(part);
            }
            Some(_) | None => self.messages.push(ChatMessage {
                role: ChatRole::User,
                parts: vec![part],
            }),
        }
        Ok(())
    }

    fn add_thinking(&mut self, item: &mut ObjectFields) -> Result<(), RequestFault> {
        let mut texts = read_texts(item, "summary")?;
        let content = read_texts(item, "content")?;
        if texts.is_empty() {
            texts = content;
        }
        let sealed = item.text("encrypted_content")?.unwrap_or_default();
        let thinking = open_item(texts.join("\n\n"), &sealed);
        if !thinking.text.is_empty() || thinking.signature.is_some() {
            self.add_part(MessagePart::Thinking(thinking));
        }
        Ok(())
    }
}

/// Reads the texts of a list of parts.
fn read_texts(item: &mut ObjectFields, name: &str) -> Result<Vec<String>, RequestFault> {
    let path = item.path_of(name);
    let parts = item.list(name)?.into_iter().enumerate();
    let texts = parts.map(|(at, part)| {
        let mut part = ObjectFields::take(part, &format!("{path}[{at}]"))?;
        part.required_text("text")
    });
    texts.collect()
}

/// Reads the content of a message.
fn read_content(item: &mut ObjectFields) -> Result<Vec<MessagePart>, RequestFault> {
    let mut parts = read_parts(item, "content")?;
    // Vendors refuse an empty text.
    parts.retain(|part| !matches!(part, MessagePart::Text(text) if text.is_empty()));
    Ok(parts)
}

/// Reads a field that is a text or a list of parts.
fn read_parts(item: &mut ObjectFields, name: &str) -> Result<Vec<MessagePart>, RequestFault> {
    let path = item.path_of(name);
    match item.value(name) {
        None => Err(missing(&path)),
        Some(Value::String(text)) => Ok(vec![MessagePart::Text(text)]),
        Some(Value::Array(list)) => {
            let parts = list.into_iter().enumerate();
            parts
                .map(|(at, part)| read_part(part, &format!("{path}[{at}]")))
                .collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(wrong_type(&path, "a text or a list of parts"))
        }
    }
}

fn read_part(part: Value, path: &str) -> Result<MessagePart, RequestFault> {
    let mut part = ObjectFields::take(part, path)?;
    match part.required_text("type")?.as_str() {
        "input_text" | "output_text" | "text" => Ok(MessagePart::Text(part.required_text("text")?)),
        // What the model refused to say is what it said.
        "refusal" => Ok(MessagePart::Text(part.required_text("refusal")?)),
        "input_image" => read_image(&mut part).map(MessagePart::Image),
        kind => Err(RequestFault::of_field(
            part.path_of("type"),
            format!("a part of type `{kind}` is not supported"),
        )),
    }
}

fn read_image(part: &mut ObjectFields) -> Result<ImageData, RequestFault> {
    let url = part.text("image_url")?;
    url.and_then(|url| read_data_url(&url)).ok_or_else(|| {
        let message = "an image must be a `data:` URL in base64; addresses and files are not fetched";
        RequestFault::of_field(part.path_of("image_url"), message)
    })
}
