//! Messages of a request in OpenAI's form.
//!
//! Owns: each role and part. Never: fetches an image by its address.

use agentos_model::{ChatMessage, ChatRole, ImageData, MessagePart, ToolCall, ToolResult};
use serde_json::Value;

use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};
use crate::seal::open_call;

/// Reads messages. Returns the system prompt and the others.
///
/// System messages become one prompt, wherever they are: most wires have no other place for them. OpenAI's compatible endpoint of
/// Anthropic does the same.
///
/// # Errors
/// If a message has no known form.
pub fn read_messages(list: Vec<Value>) -> Result<(Option<String>, Vec<ChatMessage>), RequestFault> {
    let mut system: Vec<String> = Vec::new();
    let mut messages: Vec<ChatMessage> = Vec::new();
    for (at, message) in list.into_iter().enumerate() {
        let mut message = ObjectFields::take(message, &format!("messages[{at}]"))?;
        match message.required_text("role")?.as_str() {
            // OpenAI renamed the role for its reasoning models; both mean the same.
            "system" | "developer" => system.push(read_text(&mut message)?),
            "user" => messages.push(ChatMessage {
                role: ChatRole::User,
                parts: read_parts(&mut message)?,
            }),
            "assistant" => messages.push(read_assistant(&mut message)?),
            "tool" => add_result(&mut messages, read_result(&mut message)?),
            role => {
                let text = format!("the role `{role}` is not supported");
                return Err(RequestFault::of_field(message.path_of("role"), text));
            }
        }
    }
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    Ok((system, messages))
}

/// Adds a result of a tool. Results of the calls of one answer are one message in every other form.
fn add_result(messages: &mut Vec<ChatMessage>, result: ToolResult) {
    let part = MessagePart::ToolResult(result);
    let open = messages.last_mut().filter(|message| {
        let is_result = |part: &MessagePart| matches!(part, MessagePart::ToolResult(_));
        message.role == ChatRole::User && message.parts.iter().all(is_result)
    });
    match open {
        Some(message) => message.parts.push(part),
        None => messages.push(ChatMessage {
            role: ChatRole::User,
            parts: vec![part],
        }),
    }
}

fn read_result(message: &mut ObjectFields) -> Result<ToolResult, RequestFault> {
    let (id, _) = open_call(&message.required_text("tool_call_id")?);
    Ok(ToolResult {
        tool_use_id: id,
        text: read_text(message)?,
        images: Vec::new(),
        is_error: false,
    })
}

fn read_assistant(message: &mut ObjectFields) -> Result<ChatMessage, RequestFault> {
    let mut parts = read_parts(message)?;
    let calls_path = message.path_of("tool_calls");
    for (at, call) in message.list("tool_calls")?.into_iter().enumerate() {
        let path = format!("{calls_path}[{at}]");
        let mut call = ObjectFields::take(call, &path)?;
        let (id, signature) = open_call(&call.required_text("id")?);
        let path = call.path_of("function");
        let function = call.value("function").ok_or_else(|| missing(&path))?;
        let mut function = ObjectFields::take(function, &path)?;
        let arguments = function.text("arguments")?.unwrap_or_default();
        parts.push(MessagePart::ToolCall(ToolCall {
            id,
            name: function.required_text("name")?,
            // What the model wrote may be no JSON; it goes back as it was.
            arguments: serde_json::from_str(&arguments).unwrap_or(Value::String(arguments)),
            signature,
        }));
    }
    Ok(ChatMessage::from_model(parts))
}

/// Reads a content that can only be text.
fn read_text(message: &mut ObjectFields) -> Result<String, RequestFault> {
    let path = message.path_of("content");
    let parts = read_parts(message)?;
    let texts = parts.into_iter().map(|part| match part {
        MessagePart::Text(text) => Ok(text),
        MessagePart::Image(_)
        | MessagePart::ToolCall(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Thinking(_) => Err(wrong_type(&path, "text in this role")),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

/// Reads the content of a message: a text, or a list of parts.
fn read_parts(message: &mut ObjectFields) -> Result<Vec<MessagePart>, RequestFault> {
    let path = message.path_of("content");
    match message.value("content") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
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
        "text" => Ok(MessagePart::Text(part.required_text("text")?)),
        // What the model refused to say is what it said.
        "refusal" => Ok(MessagePart::Text(part.required_text("refusal")?)),
        "image_url" => {
            let path = part.path_of("image_url");
            let image = part.value("image_url").ok_or_else(|| missing(&path))?;
            let url = ObjectFields::take(image, &path)?.required_text("url")?;
            read_data_url(&url).map(MessagePart::Image).ok_or_else(|| {
                let message = "an image must be a `data:` URL in base64; addresses are not fetched";
                RequestFault::of_field(format!("{path}.url"), message)
            })
        }
        kind => Err(RequestFault::of_field(
            part.path_of("type"),
            format!("a part of type `{kind}` is not supported"),
        )),
    }
}

/// Reads an image in a `data:` URL (RFC 2397). `None` if it is anything else.
pub fn read_data_url(url: &str) -> Option<ImageData> {
    let (media_type, base64) = url.strip_prefix("data:")?.split_once(";base64,")?;
    // Another type behind `image_url` would reach the vendor as an image.
    media_type.starts_with("image/").then(|| ImageData {
        media_type: media_type.to_owned(),
        base64: base64.to_owned(),
    })
}
