//! Constrained sampling: the form that a server can be asked to enforce for an answer.
//!
//! Owns: the choice, and the JSON Schema of edits. Never: trusts that a server enforced the form; landing checks the answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::EditFormat;

/// Constraint on an answer while the server samples it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Constrain {
    /// No constraint: the prompt only describes the form.
    #[default]
    Off,
    /// JSON Schema, for the edit format `json-edits`.
    JsonSchema,
    /// Grammar in which the searched text can only be text of the task's files, for `search-replace`.
    Grammar,
}

impl Constrain {
    /// Returns the name used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::JsonSchema => "json-schema",
            Self::Grammar => "grammar",
        }
    }

    /// Returns the edit format that the constraint enforces. `None` if there is no constraint.
    #[must_use]
    pub fn edit_format(self) -> Option<EditFormat> {
        match self {
            Self::Off => None,
            Self::JsonSchema => Some(EditFormat::JsonEdits),
            Self::Grammar => Some(EditFormat::SearchReplace),
        }
    }
}

/// Returns the JSON Schema of an answer in the edit format `json-edits`.
#[must_use]
pub fn edits_schema() -> Value {
    // The vendors' common subset of JSON Schema: every field is required, and additional ones are forbidden.
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
