//! The documents about models: `/api/tags`, `/api/show`, `/api/ps`.
//!
//! Owns: reading these documents. Never: sends a request.

use agentos_generic_http::{Fault, Reason};
use serde_json::Value;

/// Reads the names of a list. Installed and loaded models are listed in the same form.
///
/// # Errors
/// [`Reason::Fields`] if the document has another structure.
pub(crate) fn read_names(list: &Value) -> Result<Vec<String>, Fault> {
    let entries = match list.get("models").ok_or(Reason::Fields)? {
        Value::Array(entries) => entries.as_slice(),
        Value::Null => &[],
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(Reason::Fields.into());
        }
    };
    let names: Option<Vec<String>> = entries
        .iter()
        .map(|entry| entry.get("name")?.as_str().map(str::to_owned))
        .collect();
    Ok(names.ok_or(Reason::Fields)?)
}

/// Finds the listed name for a wanted one, in which a missing tag means `latest`. `None` if it is not listed.
pub(crate) fn find_listed<'a>(names: &'a [String], wanted: &str) -> Option<&'a String> {
    // Ollama takes a name without a tag as `:latest` and always lists the tag.
    let tagged = format!("{wanted}:latest");
    names
        .iter()
        .find(|name| *name == wanted || (!wanted.contains(':') && **name == tagged))
}

/// Reads the maximum context length of a model. `None` if the document does not say.
///
/// # Errors
/// [`Reason::Fields`] if it is not the document of a model.
pub(crate) fn longest_context(show: &Value) -> Result<Option<u64>, Fault> {
    let info = show.get("model_info").and_then(Value::as_object);
    if info.is_none() && !show.get("details").is_some_and(Value::is_object) {
        return Err(Reason::Fields.into());
    }
    let mut fields = info.into_iter().flatten();
    Ok(fields
        // The field is named after the architecture, as in `llama.context_length`.
        .find(|(name, _)| name.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64()))
}

/// Reads the context length with which a model is loaded. `None` if it is not loaded.
pub(crate) fn loaded_context(loaded: &Value, model: &str) -> Option<u64> {
    let entries = loaded.get("models")?.as_array()?;
    let entry = entries
        .iter()
        .find(|entry| entry.get("name").and_then(Value::as_str) == Some(model))?;
    entry.get("context_length")?.as_u64()
}
