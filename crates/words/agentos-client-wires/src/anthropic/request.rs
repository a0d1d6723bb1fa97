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
use crate::request::ClientRequest;
use crate::seal::{open_call, open_thinking};

/// Fields about the caller and the vendor's accounting: no answer depends on them.
const WITHOUT_EFFECT: [&str; 3] = ["container", "metadata", "service_tier"];

/// Reads a request.
///
/// # Errors
/// If it is not one, or asks for something that is not supported.
pub fn read_request(body: Value) -> Result<ClientRequest, RequestFault> {
    let mut fields = ObjectFields::take(body, "")?;
    let model = fields.required_text("model")?;
    // Required on this wire, unlike on all others.
    let limit = fields.count("max_tokens")?.ok_or_else(|| missing("max_tokens"))?;
    let mut cache = CacheHints::default();
    let system = read_system(fields.value("system"), &mut cache)?;
    let list = fields.value("messages").ok_or_else(|| missing("messages"))?;
    let Value::Array(list) = list else {
        return Err(wrong_type("messages", "a list"));
    };
    let messages = list.into_iter().enumerate();
    let messages = messages
        .map(|(at, message)| read_message(message, at, &mut cache))
        .collect::<Result<_, _>>()?;
    let chat = ChatRequest {
        system,
        messages,
        tools: read_tools(fields.list("tools")?, &mut cache)?,
        tool_choice: read_choice(fields.value("tool_choice"))?,
        answer_schema: read_format(fields.value("output_config"))?,
        max_output_tokens: Some(limit),
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
    Ok(ClientRequest {
        model,
        chat,
        is_stream,
        reports_usage: true,
        ignored: fields.list_unread(),
    })
}

fn read_system(system: Option<Value>, cache: &mut CacheHints) -> Result<Option<String>, RequestFault> {
    match system {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(blocks)) => {
            let texts = blocks.into_iter().enumerate().map(|(at, block)| {
                let mut block = ObjectFields::take(block, &format!("system[{at}]"))?;
                cache.instructions |= block.value("cache_control").is_some();
                block.required_text("text")
            });
            let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
            Ok(Some(texts.join("\n\n")).filter(|text| !text.is_empty()))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(wrong_type("system", "a text or a list of blocks"))
        }
    }
}

fn read_message(message: Value, at: usize, cache: &mut CacheHints) -> Result<ChatMessage, RequestFault> {
    let path = format!("messages[{at}]");
    let mut message = ObjectFields::take(message, &path)?;
    let role = match message.required_text("role")?.as_str() {
        "user" => ChatRole::User,
        "assistant" => ChatRole::Assistant,
        role => {
            let text = format!("the role `{role}` is not supported; `user` and `assistant` are");
            return Err(RequestFault::of_field(message.path_of("role"), text));
        }
    };
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
fn read_format(config: Option<Value>) -> Result<Option<Value>, RequestFault> {
    let Some(config) = config else {
        return Ok(None);
    };
    let Some(format) = ObjectFields::take(config, "output_config")?.value("format") else {
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
