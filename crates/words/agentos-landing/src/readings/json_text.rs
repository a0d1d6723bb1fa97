//! Edits that are texts inside JSON values, as the arguments of a tool that applies patches.
//!
//! Owns: finding these texts. Never: reads an edit, or picks one of several.

/// Unwraps a JSON string, or the one text in an object or list that begins as an edit, as in a tool call; with or
/// without a fence. Returns `None` if there is none, or more than one.
pub(super) fn out_of_json(answer: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(answer).ok()?.trim();
    let text = match text
        .strip_prefix("```json")
        .and_then(|rest| rest.strip_suffix("```"))
    {
        Some(inner) => inner.trim(),
        None => text,
    };
    if !text.starts_with(['"', '{', '[']) {
        return None;
    }
    // Parsed strictly: a text that only looks like JSON must be read as it is.
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    if let serde_json::Value::String(text) = value {
        return Some(text.into_bytes());
    }
    let mut held = Vec::new();
    edits_in(&value, 0, &mut held);
    // Patches state their ends, so several can be read one after the other.
    let patches = held
        .iter()
        .all(|text| text.trim_start().starts_with(BEGIN_PATCH) && text.trim_end().ends_with(END_PATCH));
    match held.as_slice() {
        [only] => Some(only.as_bytes().to_vec()),
        [_, ..] if patches => Some(held.join("\n").into_bytes()),
        _ => None,
    }
}

const BEGIN_PATCH: &str = "*** Begin Patch";
const END_PATCH: &str = "*** End Patch";

/// Returns the patch of an operation such as `{"type": "update_file", "path": …, "diff": …}`. Returns `None` for
/// another object.
fn patch_operation(object: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    let text = |key: &str| object.get(key)?.as_str();
    let verb = match text("type")? {
        "update_file" => "Update",
        "create_file" => "Add",
        "delete_file" => "Delete",
        _ => return None,
    };
    let path = text("path").filter(|path| !path.contains('\n'))?;
    let diff = match verb {
        "Delete" => "",
        _ => text("diff")?,
    };
    // The end of a patch inside the diff would hide the rest of it.
    let free = diff.lines().all(|line| !line.starts_with("***"));
    let diff = diff.strip_suffix('\n').unwrap_or(diff);
    free.then(|| format!("{BEGIN_PATCH}\n*** {verb} File: {path}\n{diff}\n{END_PATCH}\n"))
}

/// Collects the texts in a JSON value that begin as edits, also in JSON that is itself a string, as the arguments of
/// tool calls are.
fn edits_in(value: &serde_json::Value, depth: usize, held: &mut Vec<String>) {
    const STARTS: [&str; 5] = ["diff --git ", "--- ", "*** Begin Patch", "Index: ", "@@ "];
    /// Maximum depth. Tool calls are nested less deeply.
    const DEPTH: usize = 8;
    if depth > DEPTH {
        return;
    }
    match value {
        serde_json::Value::String(text) => {
            let begins = |line: &str| STARTS.iter().any(|start| line.starts_with(start));
            if text.contains('\n') && text.lines().any(begins) {
                held.push(text.clone());
            } else if text.trim_start().starts_with('{')
                && let Ok(inner) = serde_json::from_str(text)
            {
                edits_in(&inner, depth + 1, held);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| edits_in(value, depth + 1, held)),
        serde_json::Value::Object(object) => match patch_operation(object) {
            Some(patch) => held.push(patch),
            None => object.values().for_each(|value| edits_in(value, depth + 1, held)),
        },
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}
