//! Patches in the arguments of calls: each is an answer by itself.
//!
//! Owns: which text is a patch, and the path next to it. Never: reads the patch.

use serde_json::Value;

use super::table::PATCH;
use super::{Arguments, find_argument};
use crate::parse::blocks::opening_marks;
use crate::text::begins_as;

pub(super) const BEGIN_PATCH: &str = "*** Begin Patch";
pub(super) const END_PATCH: &str = "*** End Patch";

/// Returns true if a line of the text begins an edit.
pub(super) fn begins_edit(text: &str) -> bool {
    const STARTS: &str = "diff --git ;--- ;*** Begin Patch;Index: ;@@ ;<<<<<<< SEARCH;------- SEARCH";
    let begins = |line: &str| begins_as(STARTS, line.as_bytes());
    text.contains('\n') && text.lines().any(begins)
}

/// Returns true if the object has a text with hunks or blocks.
pub(super) fn holds_patch(object: &Arguments) -> bool {
    find_argument(object, PATCH, Value::as_str).is_some_and(begins_edit)
}

/// Returns the patch of a call whose text has no key that says so, as a patch in `content`. Returns `None` for any other
/// call.
pub(super) fn patch_in(arguments: &Arguments) -> Option<String> {
    let operation = arguments.get("operation").and_then(Value::as_object);
    patch_operation(operation.unwrap_or(arguments))
}

/// Returns a patch with the path that the call names next to it, in the form of its dialect. Returns `None` for a text
/// without edits.
pub(super) fn with_names(path: Option<&str>, patch: &str) -> Option<String> {
    if !begins_edit(patch) {
        return None;
    }
    let first = patch.lines().find(|line| !line.trim().is_empty())?;
    let Some(path) = path.map(str::trim).filter(|path| !path.contains('\n')) else {
        return Some(patch.to_owned());
    };
    Some(if first.starts_with("@@") {
        format!("--- {path}\n+++ {path}\n{patch}")
    } else if first.contains(" SEARCH") {
        // Each block gets the path: text may stand between two of them.
        let named = patch.lines().map(|line| match opening_marks(line.as_bytes()) {
            Some(_) => format!("{path}\n{line}\n"),
            None => format!("{line}\n"),
        });
        named.collect()
    } else {
        patch.to_owned()
    })
}

/// Returns the patch of a shell command that does nothing but apply it. Returns `None` for any other command.
pub(super) fn shell_patch(arguments: &Arguments) -> Option<String> {
    let script = ["command", "cmd", "script"]
        .iter()
        .find_map(|key| match arguments.get(*key)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                match words.as_slice() {
                    [_, "-lc" | "-c", script] => Some((*script).to_owned()),
                    ["apply_patch", patch] => Some(format!("apply_patch\n{patch}")),
                    _ => None,
                }
            }
            _ => None,
        })?;
    let (before, rest) = script.split_once(BEGIN_PATCH)?;
    let (_, behind) = rest.rsplit_once(END_PATCH)?;
    let only = before.trim().starts_with("apply_patch") && before.trim().lines().count() == 1;
    (only && !before.contains([';', '&', '|']) && behind.split_whitespace().count() <= 1).then_some(script)
}

/// Returns the patch of an operation such as `{"type": "update_file", "path": …, "diff": …}`. Returns `None` for
/// another object.
pub(super) fn patch_operation(object: &Arguments) -> Option<String> {
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
