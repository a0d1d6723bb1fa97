//! What a server may be asked to hold an answer to.
//!
//! Owns: the choice, and the schema of edits as JSON. Never: trusts that a server kept to it; landing looks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::EditFormat;

/// How an answer is held to its form while it is sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Constrain {
    /// It is only asked for.
    #[default]
    Off,
    /// By a JSON Schema, for the edit format `json-edits`.
    JsonSchema,
    /// By a grammar in which the searched text can only be text of the task's files, for `search-replace`.
    Grammar,
}

impl Constrain {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::JsonSchema => "json-schema",
            Self::Grammar => "grammar",
        }
    }

    /// The only edit format it can hold an answer to; none where any will do.
    #[must_use]
    pub fn edit_format(self) -> Option<EditFormat> {
        match self {
            Self::Off => None,
            Self::JsonSchema => Some(EditFormat::JsonEdits),
            Self::Grammar => Some(EditFormat::SearchReplace),
        }
    }
}

/// The schema of an answer in the edit format `json-edits`, in the subset that all vendors take: every field
/// required, none beside them.
#[must_use]
pub fn edits_schema() -> Value {
    let text = json!({"type": "string"});
    let edit = json!({
        "type": "object",
        "properties": {"path": text, "search": text, "replace": text},
        "required": ["path", "search", "replace"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {"edits": {"type": "array", "items": edit}},
        "required": ["edits"],
        "additionalProperties": false,
    })
}
