//! The request of `POST /v1/messages`.
//!
//! Owns: its fields, messages and blocks. Never: fetches an image by its address.

use agentos_model::{
    CacheHints, ChatMessage, ChatRequest, ChatRole, ChatSampling, ImageData, MessagePart, ToolCall,
    ToolChoice, ToolResult, ToolSpec,
};
use serde_json::{Value, json};

use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};
use crate::request::{ClientRequest, RequestEcho};
use crate::seal::{open_call, open_thinking};

/// Fields about the caller and the vendor's accounting: no answer depends on them.
const WITHOUT_EFFECT: [&str; 3] = ["container", "metadata", "service_tier"];

/// Rule for the limit of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLimit {
    /// Required, by `POST /v1/messages` alone of all wires.
    Required,
    /// Optional, by `POST /v1/messages/count_tokens`, which gives no answer.
    Optional,
}

/// Reads a request.
///
/// # Errors
/// If it is not one, or asks for something that is not supported.
pub fn read_request(body: Value, limit: AnswerLimit) -> Result<ClientRequest, RequestFault> {
    let mut fields = ObjectFields::take(body, "")?;
    let model = fields.required_text("model")?;
    let max_output_tokens = fields.limit("max_tokens")?;
    if limit == AnswerLimit::Required && max_output_tokens.is_none() {
        return Err(missing("max_tokens"));
    }
    let mut cache = CacheHints::default();
    let mut system: Vec<String> = read_system(fields.value("system"), "system", &mut cache)?;
    let list = fields.value("messages").ok_or_else(|| missing("messages"))?;
    let Value::Array(list) = list else {
        return Err(wrong_type("messages", "a list"));
    };
    let mut messages = Vec::with_capacity(list.len());
    for (at, message) in list.into_iter().enumerate() {
        let mut message = ObjectFields::take(message, &format!("messages[{at}]"))?;
        match message.required_text("role")?.as_str() {
            "user" => messages.push(read_message(
                &mut message,
                ChatRole::User,
                messages.len(),
                &mut cache,
            )?),
            "assistant" => {
                messages.push(read_message(
                    &mut message,
                    ChatRole::Assistant,
                    messages.len(),
                    &mut cache,
                )?);
            }
            // Claude Code sends some between the others. They become part of the one prompt: most wires have no other place for them.
            "system" => {
                let path = message.path_of("content");
                let content = message.value("content").ok_or_else(|| missing(&path))?;
                system.extend(read_system(Some(content), &path, &mut CacheHints::default())?);
            }
            role => {
                let text =
                    format!("the role `{role}` is not supported; `user`, `assistant` and `system` are");
                return Err(RequestFault::of_field(message.path_of("role"), text));
            }
        }
    }
    let mut ignored = Vec::new();
    let chat = ChatRequest {
        system: Some(system.join("\n\n")).filter(|text| !text.is_empty()),
        messages,
        tools: read_tools(fields.list("tools")?, &mut cache)?,
        tool_choice: read_choice(fields.value("tool_choice"))?,
        answer_schema: read_format(fields.value("output_config"), &mut ignored)?,
        max_output_tokens,
        sampling: ChatSampling {
            temperature: fields.number("temperature")?,
            top_p: fields.number("top_p")?,
            seed: None,
            stop: fields.texts("stop_sequences")?,
        },
        cache,
    };
    let is_stream = fields.flag("stream")?.unwrap_or_default();
    fields.forget(&WITHOUT_EFFECT);
    ignored.extend(fields.list_unread());
    ignored.sort();
    Ok(ClientRequest {
        model,
        chat,
        is_stream,
        reports_usage: true,
        ignored,
        echo: RequestEcho::default(),
    })
}

/// Reads texts of the system prompt.
fn read_system(
    system: Option<Value>,
    path: &str,
    cache: &mut CacheHints,
) -> Result<Vec<String>, RequestFault> {
    match system {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(blocks)) => {
            let texts = blocks.into_iter().enumerate().map(|(at, block)| {
                let mut block = ObjectFields::take(block, &format!("{path}[{at}]"))?;
                cache.instructions |= block.value("cache_control").is_some();
                block.required_text("text")
            });
            texts.collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(wrong_type(path, "a text or a list of blocks"))
        }
    }
}

/// Reads the content of a message. `at` is the number of messages before it.
fn read_message(
    message: &mut ObjectFields,
    role: ChatRole,
    at: usize,
    cache: &mut CacheHints,
) -> Result<ChatMessage, RequestFault> {
    let path = message.path_of("content");
    let parts = match message.value("content") {
        Some(Value::String(text)) => vec![MessagePart::Text(text)],
        Some(Value::Array(blocks)) => {
            let mut parts = Vec::with_capacity(blocks.len());
            for (block_at, block) in blocks.into_iter().enumerate() {
                let mut block = ObjectFields::take(block, &format!("{path}[{block_at}]"))?;
                if block.value("cache_control").is_some() {
                    cache.messages = at + 1;
                }
                parts.push(read_block(&mut block)?);
            }
            parts
        }
        None => return Err(missing(&path)),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            return Err(wrong_type(&path, "a text or a list of blocks"));
        }
    };
    Ok(ChatMessage { role, parts })
}

fn read_block(block: &mut ObjectFields) -> Result<MessagePart, RequestFault> {
    let kind = block.required_text("type")?;
    Ok(match kind.as_str() {
        "text" => MessagePart::Text(block.required_text("text")?),
        "image" => MessagePart::Image(read_image(block)?),
        "tool_use" => {
            let (id, signature) = open_call(&block.required_text("id")?);
            MessagePart::ToolCall(ToolCall {
                id,
                name: block.required_text("name")?,
                arguments: block.value("input").unwrap_or_else(|| json!({})),
                signature,
            })
        }
        "tool_result" => MessagePart::ToolResult(read_result(block)?),
        "thinking" => {
            let text = block.text("thinking")?.unwrap_or_default();
            let sealed = block.text("signature")?.unwrap_or_default();
            MessagePart::Thinking(open_thinking(text, &sealed, false))
        }
        "redacted_thinking" => {
            MessagePart::Thinking(open_thinking(String::new(), &block.required_text("data")?, true))
        }
        kind => {
            let message = format!("a block of type `{kind}` is not supported");
            return Err(RequestFault::of_field(block.path_of("type"), message));
        }
    })
}

fn read_image(block: &mut ObjectFields) -> Result<ImageData, RequestFault> {
    let path = block.path_of("source");
    let source = block.value("source").ok_or_else(|| missing(&path))?;
    let mut source = ObjectFields::take(source, &path)?;
    match source.required_text("type")?.as_str() {
        "base64" => Ok(ImageData {
            media_type: source.required_text("media_type")?,
            base64: source.required_text("data")?,
        }),
        kind => Err(RequestFault::of_field(
            source.path_of("type"),
            format!(
                "an image of type `{kind}` is not supported: it must be `base64`; addresses are not fetched"
            ),
        )),
    }
}

fn read_result(block: &mut ObjectFields) -> Result<ToolResult, RequestFault> {
    let (tool_use_id, _) = open_call(&block.required_text("tool_use_id")?);
    let is_error = block.flag("is_error")?.unwrap_or_default();
    let path = block.path_of("content");
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    match block.value("content") {
        None => {}
        Some(Value::String(text)) => texts.push(text),
        Some(Value::Array(blocks)) => {
            for (at, part) in blocks.into_iter().enumerate() {
                let mut part = ObjectFields::take(part, &format!("{path}[{at}]"))?;
                match part.required_text("type")?.as_str() {
                    "text" => texts.push(part.required_text("text")?),
                    "image" => images.push(read_image(&mut part)?),
                    kind => {
                        let message = format!("a result with a block of type `{kind}` is not supported");
                        return Err(RequestFault::of_field(part.path_of("type"), message));
                    }
                }
            }
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            return Err(wrong_type(&path, "a text or a list of blocks"));
        }
    }
    Ok(ToolResult {
        tool_use_id,
        text: texts.join("\n"),
        images,
        is_error,
    })
}

fn read_tools(tools: Vec<Value>, cache: &mut CacheHints) -> Result<Vec<ToolSpec>, RequestFault> {
    let tools = tools.into_iter().enumerate().map(|(at, tool)| {
        let mut tool = ObjectFields::take(tool, &format!("tools[{at}]"))?;
        cache.instructions |= tool.value("cache_control").is_some();
        match tool.text("type")?.as_deref() {
            // Anthropic's own clients leave the type out.
            None | Some("custom") => {}
            Some(kind) => {
                let message = format!("the tool `{kind}` runs at the vendor and is not supported");
                return Err(RequestFault::of_field(tool.path_of("type"), message));
            }
        }
        let path = tool.path_of("input_schema");
        Ok(ToolSpec {
            name: tool.required_text("name")?,
            description: tool.text("description")?.unwrap_or_default(),
            input_schema: tool.value("input_schema").ok_or_else(|| missing(&path))?,
        })
    });
    tools.collect()
}

fn read_choice(choice: Option<Value>) -> Result<ToolChoice, RequestFault> {
    let Some(choice) = choice else {
        return Ok(ToolChoice::Auto);
    };
    let mut choice = ObjectFields::take(choice, "tool_choice")?;
    match choice.required_text("type")?.as_str() {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::Never),
        "any" => Ok(ToolChoice::Required),
        "tool" => Ok(ToolChoice::Named(choice.required_text("name")?)),
        kind => Err(RequestFault::of_field(
            "tool_choice.type",
            format!("the choice `{kind}` is not supported"),
        )),
    }
}

/// Reads the schema of the answer. `None` for free text.
fn read_format(config: Option<Value>, ignored: &mut Vec<String>) -> Result<Option<Value>, RequestFault> {
    let Some(config) = config else {
        return Ok(None);
    };
    let mut config = ObjectFields::take(config, "output_config")?;
    let format = config.value("format");
    let unread = config.list_unread().into_iter();
    ignored.extend(unread.map(|name| format!("output_config.{name}")));
    let Some(format) = format else {
        return Ok(None);
    };
    let mut format = ObjectFields::take(format, "output_config.format")?;
    match format.required_text("type")?.as_str() {
        "json_schema" => Ok(format.value("schema")),
        kind => Err(RequestFault::of_field(
            "output_config.format.type",
            format!("the format `{kind}` is not supported; `json_schema` is"),
        )),
    }
}
