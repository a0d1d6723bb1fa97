//! A JSON Schema as text.
//!
//! Owns: the draft and the form. Never: knows which shapes are published.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// Writes a schema in the form that is committed and printed.
pub fn format_schema(schema: &Schema) -> String {
    serde_json::to_string_pretty(schema).unwrap_or_default() + "\n"
}

/// Generates the schema of a type.
pub fn generate_schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}
