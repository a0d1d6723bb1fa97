//! Tools that need an answer of the client: the first call returns what they need, and the client calls again with it (SEP-2322).
//!
//! Owns: what each needs, and the sealed state that a client carries. Never: believes a state that it did not seal.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ErrorData, InputRequests,
    InputRequiredResult, InputResponses, RequestStateCodec,
};
use serde_json::{Value, json};

use super::content::{read_document, text};

/// Key of the seal. Everybody may know it: the suite's answers protect nothing.
const KEY: &[u8] = b"the key of a fixture, 32 bytes or more";

/// Returns a state that was sealed here.
///
/// # Errors
/// If somebody else made or changed it.
fn open_state(sealed: &str) -> Result<Value, ErrorData> {
    let codec = RequestStateCodec::new_unchecked(KEY);
    let opened = codec.open_json(sealed);
    opened.map_err(|_| ErrorData::invalid_params("the requestState was not made by this server", None))
}

fn seal_state(state: &Value) -> Result<String, ErrorData> {
    let codec = RequestStateCodec::new_unchecked(KEY);
    let sealed = codec.seal_json(state);
    sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Makes the request for an answer: a form, a completion, or folders.
pub fn ask_form(message: &str, name: &str, kind: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": schema } })
}

fn ask_model(prompt: &str) -> Value {
    let message = json!({ "role": "user", "content": text(prompt) });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
}

fn ask_folders() -> Value {
    json!({ "method": "roots/list" })
}

/// Makes the result that asks for answers.
///
/// # Errors
/// If a request is written wrongly.
pub fn require_inputs(requests: Value, state: Option<&Value>) -> Result<InputRequiredResult, ErrorData> {
    let requests: InputRequests = read_document(requests)?;
    let requests = Some(requests).filter(|requests| !requests.is_empty());
    Ok(InputRequiredResult::new(
        requests,
        state.map(seal_state).transpose()?,
    ))
}

/// Finds a member of an answer. `None` if the answer is missing, or is no object: then it is requested again.
pub fn find_answer(responses: Option<&InputResponses>, name: &str, member: &str) -> Option<Value> {
    let answer = responses?.get(name)?;
    let answer = serde_json::to_value(answer).ok()?;
    answer
        .is_object()
        .then(|| answer.pointer(member).cloned().unwrap_or_default())
}

/// Answers a call of such a tool.
///
/// # Errors
/// If the client's state is not one that was sealed here.
pub fn call_asking_tool(
    request: &CallToolRequestParams,
    capabilities: &ClientCapabilities,
) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let state = request.request_state.as_deref().map(open_state).transpose()?;
    let answer = |name: &str, member: &str| find_answer(responses, name, member);
    let done = |words: String| -> Result<CallToolResponse, ErrorData> {
        Ok(super::succeed(json!([text(&words)]))?.into())
    };
    let need = |requests: Value, state: Option<Value>| -> Result<CallToolResponse, ErrorData> {
        Ok(require_inputs(requests, state.as_ref())?.into())
    };
    let name_form = || ask_form("What is your name?", "name", "string");
    match request.name.as_ref() {
        "test_input_required_result_elicitation" => match answer("user_name", "/content/name") {
            Some(name) => done(format!("Hello, {}!", name.as_str().unwrap_or("friend"))),
            None => need(json!({ "user_name": name_form() }), None),
        },
        "test_input_required_result_sampling" => match answer("capital_question", "/content/text") {
            Some(said) => done(format!("Sampling response: {said}")),
            None => need(
                json!({ "capital_question": ask_model("What is the capital of France?") }),
                None,
            ),
        },
        "test_input_required_result_list_roots" => match answer("client_roots", "/roots") {
            Some(roots) => done(format!("Client roots: {roots}")),
            None => need(json!({ "client_roots": ask_folders() }), None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match state {
                // It was opened above, so nobody changed it on the way.
                Some(_) => done("Confirmed: state-ok".to_owned()),
                None => need(
                    json!({ "confirm": ask_form("Please confirm", "ok", "boolean") }),
                    Some(json!({ "stage": "confirm" })),
                ),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            // A client may answer a part of the questions, and is questioned about all of them again.
            let is_complete = ["user_name", "greeting", "client_roots"]
                .iter()
                .all(|name| answer(name, "").is_some());
            match is_complete && state.is_some() {
                true => done("All inputs received".to_owned()),
                false => need(
                    json!({ "user_name": name_form(), "greeting": ask_model("Generate a greeting"), "client_roots": ask_folders() }),
                    Some(json!({ "stage": "gather" })),
                ),
            }
        }
        "test_input_required_result_multi_round" => {
            let round = state.as_ref().and_then(|state| state.get("round")?.as_u64());
            match round {
                None => need(
                    json!({ "step1": ask_form("Step 1: What is your name?", "name", "string") }),
                    Some(json!({ "round": 1 })),
                ),
                Some(1) => need(
                    json!({ "step2": ask_form("Step 2: What is your favorite color?", "color", "string") }),
                    Some(json!({ "round": 2 })),
                ),
                Some(_) => done("Multi-round flow complete".to_owned()),
            }
        }
        "test_input_required_result_capabilities" if responses.is_some() => {
            done("Capability-aware flow complete".to_owned())
        }
        "test_input_required_result_capabilities" => {
            let mut requests = serde_json::Map::new();
            if capabilities.elicitation.is_some() {
                requests.insert("user_name".to_owned(), name_form());
            }
            if capabilities.sampling.is_some() {
                requests.insert("greeting".to_owned(), ask_model("Generate a greeting"));
            }
            if capabilities.roots.is_some() {
                requests.insert("client_roots".to_owned(), ask_folders());
            }
            match requests.is_empty() {
                true => done("The client can give nothing".to_owned()),
                false => need(Value::Object(requests), None),
            }
        }
        other => Err(ErrorData::invalid_params(
            format!("there is no tool `{other}`"),
            None,
        )),
    }
}
