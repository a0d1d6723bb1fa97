//! Definitions of a schema, put where they are used.
//!
//! Generators of schemas (Pydantic, zod, schemars) give a nested type a definition of its own and refer to it with `$ref`. Vendors treat
//! references differently, and 41 definitions of which each uses the next one twice take 2^40 steps to check one value. Without references
//! neither can happen, and the size of a schema limits the time of a check.
//!
//! Owns: references within a schema. Never: reads another document.

use serde_json::{Map, Value, json};

/// Keyword of a reference.
const REFERENCE: &str = "$ref";
/// Members of a schema that only hold definitions. After the last reference nothing uses them.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Keywords whose value is data and no schema.
const DATA: [&str; 5] = ["const", "default", "enum", "example", "examples"];
/// Keywords that say something about a value and allow or refuse none. The nearest one counts.
const REMARKS: [&str; 7] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "title",
];
/// Parts of a schema, with those that are put in. More are never checked in a useful time.
const MOST_PARTS: usize = 4096;
/// Levels of a schema, with those that are put in.
const DEEPEST: usize = 64;
/// Longest part of a reference in an error, in characters.
const LONGEST_QUOTE: usize = 100;

/// Reason why a reference cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReferenceFault {
    /// It leads to another document, or nowhere.
    #[error("`{0}` leads to no part of it")]
    Missing(String),
    /// The result is too large.
    #[error("with its definitions in place it has more than {MOST_PARTS} parts or {DEEPEST} levels")]
    TooLarge,
}

/// Replaces each reference by the part that it leads to. Where a definition uses itself, any value is allowed below its first use: the
/// server checks the arguments too.
///
/// # Errors
/// If a reference leads to no part of the schema, or the result is too large.
pub(super) fn replace_references(schema: &Value) -> Result<Value, ReferenceFault> {
    if !has_reference(schema) {
        return Ok(schema.clone());
    }
    let mut replacer = Replacer {
        root: schema,
        open: Vec::new(),
        parts: 0,
    };
    let mut replaced = replacer.copy_part(schema, DEEPEST)?;
    if let Some(fields) = replaced.as_object_mut() {
        DEFINITIONS.iter().for_each(|name| drop(fields.remove(*name)));
    }
    Ok(replaced)
}

fn has_reference(part: &Value) -> bool {
    match part {
        Value::Object(fields) => find_reference(fields).is_some() || fields.values().any(has_reference),
        Value::Array(parts) => parts.iter().any(has_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns where a schema's reference leads. `None` if it has none: a property of that name has a schema, which is no text.
fn find_reference(fields: &Map<String, Value>) -> Option<&str> {
    fields.get(REFERENCE)?.as_str()
}

struct Replacer<'a> {
    root: &'a Value,
    /// References inside which the current part lies.
    open: Vec<&'a str>,
    parts: usize,
}

impl<'a> Replacer<'a> {
    fn copy_part(&mut self, part: &'a Value, levels: usize) -> Result<Value, ReferenceFault> {
        self.parts += 1;
        let deeper = levels.checked_sub(1).filter(|_| self.parts <= MOST_PARTS);
        let levels = deeper.ok_or(ReferenceFault::TooLarge)?;
        match part {
            Value::Object(fields) => match find_reference(fields) {
                Some(target) => self.copy_target(fields, target, levels),
                None => Ok(Value::Object(self.copy_fields(fields, levels)?)),
            },
            Value::Array(parts) => parts.iter().map(|part| self.copy_part(part, levels)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(part.clone()),
        }
    }

    /// Copies the members of a schema but its reference.
    fn copy_fields(
        &mut self,
        fields: &'a Map<String, Value>,
        levels: usize,
    ) -> Result<Map<String, Value>, ReferenceFault> {
        let is_kept = |name: &str| name != REFERENCE || !fields.get(name).is_some_and(Value::is_string);
        let kept = fields.iter().filter(|(name, _)| is_kept(name));
        let copied = kept.map(|(name, part)| {
            let is_copied_whole = DATA.contains(&name.as_str()) || DEFINITIONS.contains(&name.as_str());
            let part = match is_copied_whole {
                true => part.clone(),
                false => self.copy_part(part, levels)?,
            };
            Ok((name.clone(), part))
        });
        copied.collect()
    }

    /// Copies a schema with a reference: the part that it leads to, and what stands beside the reference.
    fn copy_target(
        &mut self,
        fields: &'a Map<String, Value>,
        target: &'a str,
        levels: usize,
    ) -> Result<Value, ReferenceFault> {
        let mut beside = self.copy_fields(fields, levels)?;
        if self.open.contains(&target) {
            return Ok(Value::Object(beside));
        }
        let missing = || ReferenceFault::Missing(target.chars().take(LONGEST_QUOTE).collect());
        let pointer = target.strip_prefix('#').ok_or_else(missing)?;
        let found = self.root.pointer(pointer).ok_or_else(missing)?;
        self.open.push(target);
        let copied = self.copy_part(found, levels);
        self.open.pop();
        match copied? {
            Value::Object(mut merged) if beside.keys().all(|name| REMARKS.contains(&name.as_str())) => {
                merged.append(&mut beside);
                Ok(Value::Object(merged))
            }
            // Both hold: a keyword beside another one can change its meaning, so they stay apart.
            copied => {
                let all = beside.entry("allOf").or_insert_with(|| json!([]));
                if let Some(all) = all.as_array_mut() {
                    all.push(copied);
                }
                Ok(Value::Object(beside))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_stands_where_it_was_referred_to() {
        let cases = [
            (
                "as Pydantic writes it",
                json!({"type": "object", "$defs": {"Point": {"type": "object", "title": "Point", "properties": {"x": {"type": "number"}}}},
                    "properties": {"at": {"$ref": "#/$defs/Point", "description": "Where"}, "all": {"type": "array", "items": {"$ref": "#/$defs/Point"}}}}),
                json!({"type": "object",
                    "properties": {"at": {"type": "object", "title": "Point", "description": "Where", "properties": {"x": {"type": "number"}}},
                        "all": {"type": "array", "items": {"type": "object", "title": "Point", "properties": {"x": {"type": "number"}}}}}}),
            ),
            (
                "a definition that uses another one, in the older place",
                json!({"type": "object", "definitions": {"a": {"items": {"$ref": "#/definitions/b"}}, "b": {"type": "string"}}, "properties": {"p": {"$ref": "#/definitions/a"}}}),
                json!({"type": "object", "properties": {"p": {"items": {"type": "string"}}}}),
            ),
            (
                "another condition beside it holds as well",
                json!({"type": "object", "$defs": {"a": {"maximum": 9}}, "properties": {"p": {"$ref": "#/$defs/a", "minimum": 3}}}),
                json!({"type": "object", "properties": {"p": {"minimum": 3, "allOf": [{"maximum": 9}]}}}),
            ),
            (
                "a part of the schema that is no definition, with an escaped name",
                json!({"type": "object", "properties": {"a/b": {"type": "string"}, "c": {"$ref": "#/properties/a~1b"}}}),
                json!({"type": "object", "properties": {"a/b": {"type": "string"}, "c": {"type": "string"}}}),
            ),
            (
                "a tree ends with any value",
                json!({"type": "object", "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "properties": {"tree": {"$ref": "#/$defs/node"}}}),
                json!({"type": "object", "properties": {"tree": {"type": "object", "properties": {"next": {}}}}}),
            ),
            (
                "a property of this name, and data that looks like a reference",
                json!({"type": "object", "properties": {"$ref": {"type": "string", "default": {"$ref": "#/x"}}}}),
                json!({"type": "object", "properties": {"$ref": {"type": "string", "default": {"$ref": "#/x"}}}}),
            ),
        ];
        for (case, schema, expected) in cases {
            assert_eq!(replace_references(&schema).unwrap(), expected, "{case}");
        }
    }

    #[test]
    fn a_reference_to_another_document_or_to_nothing_is_a_fault() {
        for target in [
            "https://example.com/schema",
            "other.json#/a",
            "#/$defs/none",
            "#anchor",
        ] {
            let schema = json!({"type": "object", "properties": {"p": {"$ref": target}}});
            let fault = ReferenceFault::Missing(target.to_owned());
            assert_eq!(replace_references(&schema), Err(fault), "{target}");
        }
    }

    #[test]
    fn definitions_that_multiply_are_given_up_early() {
        let mut definitions: Map<String, Value> = (0..40)
            .map(|at| {
                let next = json!({ "$ref": format!("#/$defs/a{}", at + 1) });
                (format!("a{at}"), json!({ "allOf": [next, next] }))
            })
            .collect();
        definitions.insert("a40".to_owned(), json!({ "required": ["n"] }));
        let schema = json!({ "type": "object", "$defs": definitions, "allOf": [{ "$ref": "#/$defs/a0" }] });
        assert_eq!(replace_references(&schema), Err(ReferenceFault::TooLarge));
    }
}
