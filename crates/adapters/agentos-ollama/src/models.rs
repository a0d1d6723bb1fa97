//! The documents about models: `/api/tags`, `/api/show`, `/api/ps`.
//!
//! Owns: reading them. Never: sends.

use agentos_generic_http::{Fault, Reason};
use serde_json::Value;

/// The names of a list; the same shape tells what is there and what is loaded.
///
/// # Errors
/// `fields` for another shape.
pub(crate) fn names(list: &Value) -> Result<Vec<String>, Fault> {
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

/// The listed name that a wanted one stands for: a name without a tag means `latest`.
pub(crate) fn listed<'a>(names: &'a [String], wanted: &str) -> Option<&'a String> {
    let tagged = format!("{wanted}:latest");
    names
        .iter()
        .find(|name| *name == wanted || (!wanted.contains(':') && **name == tagged))
}

/// Tokens that a model can take at all.
///
/// # Errors
/// `fields` when it is not a model's document.
pub(crate) fn longest_context(show: &Value) -> Result<Option<u64>, Fault> {
    let info = show.get("model_info").and_then(Value::as_object);
    if info.is_none() && !show.get("details").is_some_and(Value::is_object) {
        return Err(Reason::Fields.into());
    }
    let mut fields = info.into_iter().flatten();
    Ok(fields
        .find(|(name, _)| name.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64()))
}

/// Tokens of the context a model is loaded with; none where it is not loaded.
pub(crate) fn loaded_context(loaded: &Value, model: &str) -> Option<u64> {
    let entries = loaded.get("models")?.as_array()?;
    let entry = entries
        .iter()
        .find(|entry| entry.get("name").and_then(Value::as_str) == Some(model))?;
    entry.get("context_length")?.as_u64()
}
