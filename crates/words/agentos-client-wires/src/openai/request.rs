//! The request of `POST /v1/chat/completions`.
//!
//! Owns: its fields besides the messages. Never: sends what was refused, or forgets silently what changes an answer.

use agentos_model::{ChatRequest, ChatSampling, ToolChoice, ToolSpec};
use serde_json::{Value, json};

use super::messages::read_messages;
use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};
use crate::request::{ClientRequest, RequestEcho};

/// Fields about the caller, the vendor's storage and its accounting: no answer depends on them.
pub(super) const WITHOUT_EFFECT: [&str; 8] = [
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
];

/// Reads a request.
///
/// # Errors
/// If it is not one, or asks for something that is not supported.
pub fn read_request(body: Value) -> Result<ClientRequest, RequestFault> {
    let mut fields = ObjectFields::take(body, "")?;
    let model = fields.required_text("model")?;
    let messages = fields.value("messages").ok_or_else(|| missing("messages"))?;
    let Value::Array(messages) = messages else {
        return Err(wrong_type("messages", "a list"));
    };
    let (system, messages) = read_messages(messages)?;
    let (is_stream, reports_usage) = read_stream(&mut fields)?;
    refuse_unsupported(&mut fields)?;
    // The newer name wins, as at OpenAI; some clients send both.
    let (newer, older) = (
        fields.limit("max_completion_tokens")?,
        fields.limit("max_tokens")?,
    );
    let chat = ChatRequest {
        system,
        messages,
        tools: read_tools(fields.list("tools")?)?,
        tool_choice: read_choice(fields.value("tool_choice"))?,
        answer_schema: read_format(fields.value("response_format"))?,
        max_output_tokens: newer.or(older),
        sampling: ChatSampling {
            temperature: fields.number("temperature")?,
            top_p: fields.number("top_p")?,
            seed: fields.count("seed")?,
            stop: fields.texts("stop")?,
        },
        ..ChatRequest::default()
    };
    fields.forget(&WITHOUT_EFFECT);
    Ok(ClientRequest {
        model,
        chat,
        is_stream,
        reports_usage,
        ignored: fields.list_unread(),
        echo: RequestEcho::default(),
    })
}

/// Takes the fields about the stream: whether the answer is a stream, and whether the stream ends with the counts of tokens.
pub(super) fn read_stream(fields: &mut ObjectFields) -> Result<(bool, bool), RequestFault> {
    // Without either field, OpenAI answers with one document that has the counts.
    let is_stream = fields.flag("stream")?.unwrap_or_default();
    let reports_usage = match fields.value("stream_options") {
        Some(options) => ObjectFields::take(options, "stream_options")?
            .flag("include_usage")?
            .unwrap_or_default(),
        None => false,
    };
    Ok((is_stream, reports_usage))
}

/// Refuses fields that ask for something that no answer here contains.
fn refuse_unsupported(fields: &mut ObjectFields) -> Result<(), RequestFault> {
    let is_zero = |value: &Value| value.as_f64() == Some(0.0);
    let is_empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    fields.refuse_unless("n", |value| *value == json!(1))?;
    fields.refuse_unless("logprobs", |value| *value == json!(false))?;
    fields.refuse_unless("top_logprobs", is_zero)?;
    fields.refuse_unless("frequency_penalty", is_zero)?;
    fields.refuse_unless("presence_penalty", is_zero)?;
    fields.refuse_unless("logit_bias", is_empty)?;
    fields.refuse_unless("modalities", |value| *value == json!(["text"]))?;
    fields.refuse_unless("audio", |_| false)?;
    fields.refuse_unless("functions", is_empty)?;
    fields.refuse_unless("web_search_options", |_| false)
}

fn read_tools(tools: Vec<Value>) -> Result<Vec<ToolSpec>, RequestFault> {
    let tools = tools.into_iter().enumerate().map(|(at, tool)| {
        let path = format!("tools[{at}]");
        let mut tool = ObjectFields::take(tool, &path)?;
        match tool.required_text("type")?.as_str() {
            "function" => {}
            other => {
                let message = format!("a tool of type `{other}` is not supported; functions are");
                return Err(RequestFault::of_field(tool.path_of("type"), message));
            }
        }
        let path = tool.path_of("function");
        let function = tool.value("function").ok_or_else(|| missing(&path))?;
        let mut function = ObjectFields::take(function, &path)?;
        Ok(ToolSpec {
            name: function.required_text("name")?,
            description: function.text("description")?.unwrap_or_default(),
            // A function without parameters takes an empty object.
            input_schema: function
                .value("parameters")
                .unwrap_or_else(|| json!({"type": "object", "properties": {}})),
        })
    });
    tools.collect()
}

fn read_choice(choice: Option<Value>) -> Result<ToolChoice, RequestFault> {
    let unknown = || RequestFault::of_field("tool_choice", "`tool_choice` has an unknown form");
    match choice {
        None => Ok(ToolChoice::Auto),
        Some(Value::String(word)) => match word.as_str() {
            // Also what OpenAI assumes if tools are on offer.
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::Never),
            "required" => Ok(ToolChoice::Required),
            _ => Err(unknown()),
        },
        Some(object) => {
            let name = object.pointer("/function/name").and_then(Value::as_str);
            Ok(ToolChoice::Named(name.ok_or_else(unknown)?.to_owned()))
        }
    }
}

/// Reads the schema of the answer. `None` for free text.
fn read_format(format: Option<Value>) -> Result<Option<Value>, RequestFault> {
    let Some(format) = format else {
        return Ok(None);
    };
    let mut format = ObjectFields::take(format, "response_format")?;
    match format.required_text("type")?.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(ChatRequest::any_object())),
        // `strict` and `name` are left out: every adapter asks its vendor for the strictest form that there is.
        "json_schema" => {
            let path = "response_format.json_schema";
            let described = format.value("json_schema").ok_or_else(|| missing(path))?;
            let schema = ObjectFields::take(described, path)?.value("schema");
            Ok(Some(
                schema.ok_or_else(|| missing("response_format.json_schema.schema"))?,
            ))
        }
        other => Err(RequestFault::of_field(
            "response_format.type",
            format!("the format `{other}` is not supported; `text`, `json_object` and `json_schema` are"),
        )),
    }
}
