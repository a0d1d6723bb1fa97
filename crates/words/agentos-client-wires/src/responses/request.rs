//! The request of `POST /v1/responses`.
//!
//! Owns: its fields besides the input and the tools. Never: asks for a response by its id; no response is kept.

use agentos_model::{ChatRequest, ChatSampling};
use serde_json::{Map, Value, json};

use super::items::ReadInput;
use super::tools::ReadTools;
use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing};
use crate::request::{ClientRequest, RequestEcho};

/// Fields about the caller, the vendor's storage and its accounting: no answer depends on them. `store` may be true, and the response
/// says that it is false.
const WITHOUT_EFFECT: [&str; 11] = [
    "client_metadata",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "stream_options",
    "user",
];

/// Reads a request.
///
/// # Errors
/// Fails if it is not a request of this wire, or asks for something that is not supported.
pub fn read_request(body: Value) -> Result<ClientRequest, RequestFault> {
    let mut fields = ObjectFields::take(body, "")?;
    let mut echoed = echo_fields(&fields);
    let model = fields.required_text("model")?;
    refuse_unsupported(&mut fields)?;
    let input = ReadInput::read(fields.value("input").ok_or_else(|| missing("input"))?)?;
    let mut tools = ReadTools::read(fields.list("tools")?)?;
    let tool_choice = tools.read_choice(fields.value("tool_choice"))?;
    echoed.insert("tools".to_owned(), tools.accepted.into());
    let instructions = fields.text("instructions")?;
    let system: Vec<String> = instructions.into_iter().chain(input.system).collect();
    let chat = ChatRequest {
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        messages: input.messages,
        tools: tools.offered,
        tool_choice,
        answer_schema: read_format(fields.value("text"))?,
        max_output_tokens: fields.limit("max_output_tokens")?,
        sampling: ChatSampling {
            temperature: fields.number("temperature")?,
            top_p: fields.number("top_p")?,
            ..ChatSampling::default()
        },
        ..ChatRequest::default()
    };
    let is_stream = fields.flag("stream")?.unwrap_or_default();
    read_included(&mut fields)?;
    // `auto` lets the vendor leave out the beginning of a conversation that is too long. Nothing is left out here.
    if fields.peek("truncation").and_then(Value::as_str) == Some("disabled") {
        fields.forget(&["truncation"]);
    }
    fields.forget(&WITHOUT_EFFECT);
    let mut ignored = fields.list_unread();
    ignored.extend(input.ignored);
    ignored.extend(tools.ignored);
    Ok(ClientRequest {
        model,
        chat,
        is_stream,
        reports_usage: true,
        ignored,
        echo: RequestEcho {
            tools: tools.forms,
            fields: echoed,
        },
    })
}

/// Refuses fields that ask for something that no answer here contains.
fn refuse_unsupported(fields: &mut ObjectFields) -> Result<(), RequestFault> {
    for name in ["previous_response_id", "conversation", "prompt"] {
        if fields.value(name).is_some() {
            let message = format!(
                "`{name}` is not supported: this service keeps no responses, so send the complete conversation in `input`"
            );
            return Err(RequestFault::of_field(name, message));
        }
    }
    fields.refuse_unless("background", |value| *value == json!(false))?;
    fields.refuse_unless("top_logprobs", |value| value.as_f64() == Some(0.0))
}

/// Reads what the client wants besides the answer. Encrypted reasoning is always there.
fn read_included(fields: &mut ObjectFields) -> Result<(), RequestFault> {
    let wanted = fields.texts("include")?;
    match wanted.iter().any(|name| name == "message.output_text.logprobs") {
        true => Err(RequestFault::of_field(
            "include",
            "`message.output_text.logprobs` is not supported",
        )),
        // The others are about tools that run at OpenAI.
        false => Ok(()),
    }
}

/// Reads the schema of the answer. `None` for free text.
fn read_format(text: Option<Value>) -> Result<Option<Value>, RequestFault> {
    let Some(text) = text else {
        return Ok(None);
    };
    let Some(format) = ObjectFields::take(text, "text")?.value("format") else {
        return Ok(None);
    };
    let mut format = ObjectFields::take(format, "text.format")?;
    match format.required_text("type")?.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(ChatRequest::any_object())),
        // `strict` and `name` are left out: every adapter asks its vendor for the strictest form that there is.
        "json_schema" => {
            let schema = format.value("schema");
            Ok(Some(schema.ok_or_else(|| missing("text.format.schema"))?))
        }
        other => Err(RequestFault::of_field(
            "text.format.type",
            format!("the format `{other}` is not supported; `text`, `json_object` and `json_schema` are"),
        )),
    }
}

/// Returns the fields of the request that its response repeats.
fn echo_fields(fields: &ObjectFields) -> Map<String, Value> {
    let defaults = [
        ("instructions", Value::Null),
        ("max_output_tokens", Value::Null),
        ("metadata", json!({})),
        ("parallel_tool_calls", json!(true)),
        ("temperature", Value::Null),
        ("text", json!({"format": {"type": "text"}})),
        ("tool_choice", json!("auto")),
        ("top_p", Value::Null),
    ];
    let echoed = defaults.into_iter().map(|(name, default)| {
        let value = fields.peek(name).cloned().unwrap_or(default);
        (name.to_owned(), value)
    });
    echoed.collect()
}
