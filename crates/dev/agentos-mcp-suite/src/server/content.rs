//! Contents of the suite's tools, resources and prompts, as the protocol's documents.
//!
//! Owns: these constants. Never: depends on a call.

use rmcp::model::ErrorData;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An image of one red pixel, PNG in base64.
const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// A sound without samples, WAV in base64.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// Lists of tools, resources, templates and prompts.
const LISTS: &str = include_str!("lists.json");
/// Forms for the user, by the name of their tool.
const FORMS: &str = include_str!("forms.json");

/// Reads a document of the protocol.
///
/// # Errors
/// If this crate wrote it wrongly.
pub fn read_document<T: DeserializeOwned>(document: Value) -> Result<T, ErrorData> {
    serde_json::from_value(document).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Reads a complete result. Since 2026-07-28 a result says that it is one; `rmcp` leaves the word out for earlier clients.
///
/// # Errors
/// If this crate wrote it wrongly.
pub fn read_result<T: DeserializeOwned>(mut document: Value) -> Result<T, ErrorData> {
    if let Some(members) = document.as_object_mut() {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    read_document(document)
}

/// Returns a list by its name.
///
/// # Errors
/// If this crate wrote it wrongly.
pub fn read_list<T: DeserializeOwned>(name: &str) -> Result<Vec<T>, ErrorData> {
    let lists: Value =
        serde_json::from_str(LISTS).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut list = lists.get(name).cloned().unwrap_or_default();
    // Most of the tools take no arguments.
    for item in list
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter(|_| name == "tools")
    {
        if let Some(tool) = item.as_object_mut() {
            tool.entry("inputSchema")
                .or_insert_with(|| json!({ "type": "object", "properties": {} }));
        }
    }
    read_document(list)
}

/// Returns the form of a tool.
///
/// # Errors
/// If there is none.
pub fn read_form<T: DeserializeOwned>(tool: &str) -> Result<T, ErrorData> {
    let forms: Value =
        serde_json::from_str(FORMS).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    read_document(forms.get(tool).cloned().unwrap_or_default())
}

/// Returns the content of a tool that only returns something. `None` if the tool does more.
pub fn find_content(tool: &str) -> Option<Value> {
    let image = json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" });
    let resource = |name: &str, kind: &str, text: &str| json!({ "type": "resource", "resource": { "uri": format!("test://{name}"), "mimeType": kind, "text": text } });
    Some(match tool {
        "test_simple_text" => json!([text("This is a simple text response for testing.")]),
        "test_image_content" => json!([image]),
        "test_audio_content" => json!([{ "type": "audio", "data": SOUND, "mimeType": "audio/wav" }]),
        "test_embedded_resource" => json!([resource(
            "embedded-resource",
            "text/plain",
            "This is an embedded resource content."
        )]),
        "test_multiple_content_types" => json!([
            text("Multiple content types test:"),
            image,
            resource(
                "mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#
            ),
        ]),
        _ => return None,
    })
}

/// Returns a resource. `None` if there is none at this address.
pub fn find_resource(uri: &str) -> Option<Value> {
    let inside = |uri: &str| {
        let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
        let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
        Some(json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() }))
    };
    match uri {
        "test://static-text" => Some(
            json!({ "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource." }),
        ),
        "test://static-binary" => Some(json!({ "uri": uri, "mimeType": "image/png", "blob": IMAGE })),
        _ => inside(uri),
    }
}

/// Returns the messages of a prompt. `None` if there is none of this name.
pub fn find_messages(prompt: &str, argument: impl Fn(&str) -> String) -> Option<Value> {
    let user = |content: Value| json!({ "role": "user", "content": content });
    Some(match prompt {
        "test_simple_prompt" => json!([user(text("This is a simple test prompt."))]),
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            json!([user(text(&format!(
                "Prompt with arguments: arg1='{one}', arg2='{two}'"
            )))])
        }
        "test_prompt_with_embedded_resource" => {
            // The older suite names the resource, and the newer one does not.
            let uri = argument("resourceUri");
            let uri = if uri.is_empty() {
                "test://static-text"
            } else {
                &uri
            };
            let resource =
                json!({ "uri": uri, "mimeType": "text/plain", "text": "Resource content for prompt" });
            json!([
                user(json!({ "type": "resource", "resource": resource })),
                user(text("Here is a resource:")),
            ])
        }
        "test_prompt_with_image" => json!([
            user(json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" })),
            user(text("Here is an image:")),
        ]),
        _ => return None,
    })
}

/// Makes a part of text.
pub fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
