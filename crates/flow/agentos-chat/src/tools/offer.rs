//! The list of tools of a toolbox: which one models can be offered.
//!
//! Owns: the limits on names, sizes and schemas, and the names of tools for models. Never: starts a program.

use std::collections::BTreeSet;

use agentos_schema::check_schema;
use agentos_tool::ToolDescription;
use serde_json::Value;

use super::references::replace_references;

/// Largest number of tools of a toolbox. Models choose badly from long lists.
const MOST_TOOLS: usize = 32;
/// Longest name that all vendors accept.
const LONGEST_NAME: usize = 64;
/// Longest description, in bytes.
const LONGEST_DESCRIPTION: usize = 4 << 10;
/// Largest schema as JSON, in bytes.
const LARGEST_SCHEMA: usize = 16 << 10;
/// Deepest nesting of a schema. The arguments of a function have few levels.
const DEEPEST_SCHEMA: usize = 32;
/// Keywords by which a schema uses one that only the checked value decides.
const REFERENCES: [&str; 2] = ["$dynamicRef", "$recursiveRef"];
/// Text between the names of a toolbox and its tool. No provider's name contains `_`, so the first one ends the toolbox's name.
const SEPARATOR: &str = "__";

/// Reason why a list of tools cannot be offered to models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferFault {
    /// The list is empty.
    #[error("it has no tool")]
    NoTool,
    /// The list is too long.
    #[error("it has {0} tools, and at most {MOST_TOOLS} are allowed")]
    TooManyTools(usize),
    /// A name that vendors refuse.
    #[error(
        "the name of its tool {0} must be letters, digits, `_` and `-`, and with the toolbox's name at most {LONGEST_NAME} characters"
    )]
    BadName(usize),
    /// Two tools of one name.
    #[error("two of its tools have the name `{0}`")]
    SameName(String),
    /// A description that is too long or empty.
    #[error("the description of `{0}` must have 1 to {LONGEST_DESCRIPTION} bytes")]
    BadDescription(String),
    /// A schema that is no schema of an object.
    #[error("the schema of `{tool}` cannot be used: {why}")]
    BadSchema {
        /// Name of the tool.
        tool: String,
        /// Reason in words. May quote the schema.
        why: String,
    },
}

/// Returns the name by which models call a tool of a toolbox.
#[must_use]
pub fn name_tool(toolbox: &str, tool: &str) -> String {
    format!("{toolbox}{SEPARATOR}{tool}")
}

/// Splits the name of a call into the names of the toolbox and its tool. `None` if it is not a tool of a toolbox.
#[must_use]
pub fn split_name(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

/// Prepares the tools of a toolbox for models: every vendor takes the names, and each call can be checked. Their schemas have no
/// references afterwards.
///
/// # Errors
/// The first fault of the list.
pub fn prepare_tools(toolbox: &str, tools: Vec<ToolDescription>) -> Result<Vec<ToolDescription>, OfferFault> {
    if tools.is_empty() {
        return Err(OfferFault::NoTool);
    }
    if tools.len() > MOST_TOOLS {
        return Err(OfferFault::TooManyTools(tools.len()));
    }
    let mut names = BTreeSet::new();
    let prepared = tools.into_iter().enumerate().map(|(at, tool)| {
        if !is_good_name(toolbox, &tool.name) {
            // By its number: a bad name may be anything.
            return Err(OfferFault::BadName(at + 1));
        }
        if !names.insert(tool.name.clone()) {
            return Err(OfferFault::SameName(tool.name));
        }
        if !(1..=LONGEST_DESCRIPTION).contains(&tool.description.len()) {
            return Err(OfferFault::BadDescription(tool.name));
        }
        match prepare_input(&tool.input_schema) {
            Ok(input_schema) => Ok(ToolDescription { input_schema, ..tool }),
            Err(why) => Err(OfferFault::BadSchema { tool: tool.name, why }),
        }
    });
    prepared.collect()
}

fn is_good_name(toolbox: &str, name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let fits = name_tool(toolbox, name).len() <= LONGEST_NAME;
    !name.is_empty() && name.bytes().all(is_letter) && fits
}

/// Returns a schema without references, by which arguments can be checked in a time that its size limits.
fn prepare_input(schema: &Value) -> Result<Value, String> {
    check_size(schema)?;
    let schema = replace_references(schema, LARGEST_SCHEMA).map_err(|fault| fault.to_string())?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its type must be `object`".to_owned());
    }
    check_size(&schema)?;
    check_shape(&schema, DEEPEST_SCHEMA)?;
    check_schema(&schema).map_err(|violations| match violations.into_iter().next() {
        Some(violation) => violation.message,
        None => "it is not a JSON Schema".to_owned(),
    })?;
    Ok(schema)
}

fn check_size(schema: &Value) -> Result<(), String> {
    match schema.to_string().len() {
        0..=LARGEST_SCHEMA => Ok(()),
        _ => Err(format!("it must be at most {LARGEST_SCHEMA} bytes long")),
    }
}

/// Checks that a part of a schema has no reference and at most this many levels.
fn check_shape(part: &Value, levels: usize) -> Result<(), String> {
    let deeper = || {
        let deeper = levels.checked_sub(1);
        deeper.ok_or_else(|| format!("it must have at most {DEEPEST_SCHEMA} levels"))
    };
    match part {
        Value::Object(fields) => {
            // Only a text refers to something: a property of this name has a schema, which is none.
            let is_reference = |name: &&str| fields.get(*name).is_some_and(Value::is_string);
            if let Some(name) = REFERENCES.iter().find(|name| is_reference(name)) {
                return Err(format!("it must have no `{name}`"));
            }
            let levels = deeper()?;
            fields.values().try_for_each(|part| check_shape(part, levels))
        }
        Value::Array(parts) => {
            let levels = deeper()?;
            parts.iter().try_for_each(|part| check_shape(part, levels))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ToolDescription {
        ToolDescription {
            name: name.to_owned(),
            description: "Does it.".to_owned(),
            input_schema: json!({ "type": "object", "properties": {} }),
        }
    }

    fn bad_schema(tool: &str, why: &str) -> OfferFault {
        OfferFault::BadSchema {
            tool: tool.to_owned(),
            why: why.to_owned(),
        }
    }

    #[test]
    fn a_list_that_vendors_or_models_cannot_take_is_refused() {
        type Change = fn(&mut Vec<ToolDescription>);
        let cases: [(Change, Option<OfferFault>); 15] = [
            (|_| {}, None),
            (|tools| tools.clear(), Some(OfferFault::NoTool)),
            (
                |tools| *tools = (0..33).map(|at| tool(&format!("t{at}"))).collect(),
                Some(OfferFault::TooManyTools(33)),
            ),
            (
                |tools| tools[1].name = "a b".to_owned(),
                Some(OfferFault::BadName(2)),
            ),
            (
                |tools| tools[0].name = String::new(),
                Some(OfferFault::BadName(1)),
            ),
            (
                |tools| tools[0].name = "n".repeat(56),
                Some(OfferFault::BadName(1)),
            ),
            (|tools| tools[0].name = "n".repeat(55), None),
            (
                |tools| tools[1].name = "one".to_owned(),
                Some(OfferFault::SameName("one".to_owned())),
            ),
            (
                |tools| tools[0].description = "x".repeat(5000),
                Some(OfferFault::BadDescription("one".to_owned())),
            ),
            (
                |tools| tools[0].input_schema = json!({ "type": "string" }),
                Some(bad_schema("one", "its type must be `object`")),
            ),
            (
                |tools| {
                    tools[1].input_schema = json!({ "type": "object", "$ref": "https://example.com/schema" });
                },
                Some(bad_schema(
                    "two",
                    "`https://example.com/schema` leads to no part of it",
                )),
            ),
            // Each definition uses the next one twice: checking one value would take 2^40 steps.
            (
                |tools| {
                    let mut definitions: serde_json::Map<String, Value> = (0..40)
                        .map(|at| {
                            let next = json!({ "$ref": format!("#/$defs/a{}", at + 1) });
                            (format!("a{at}"), json!({ "allOf": [next, next] }))
                        })
                        .collect();
                    definitions.insert("a40".to_owned(), json!({ "required": ["n"] }));
                    tools[0].input_schema = json!({ "type": "object", "$defs": definitions, "allOf": [{ "$ref": "#/$defs/a0" }] });
                },
                Some(bad_schema(
                    "one",
                    "with its definitions in place it is longer than 16384 bytes or has more than 64 levels",
                )),
            ),
            (
                |tools| tools[0].input_schema = json!({ "type": "object", "$dynamicRef": "#a" }),
                Some(bad_schema("one", "it must have no `$dynamicRef`")),
            ),
            (
                |tools| {
                    tools[0].input_schema =
                        json!({ "type": "object", "properties": { "$ref": { "type": "string" } } });
                },
                None,
            ),
            (
                |tools| {
                    let deep = (0..40).fold(json!({}), |inner, _| json!({ "not": inner }));
                    tools[0].input_schema = json!({ "type": "object", "not": deep });
                },
                Some(bad_schema("one", "it must have at most 32 levels")),
            ),
        ];
        for (change, fault) in cases {
            let mut tools = vec![tool("one"), tool("two")];
            change(&mut tools);
            assert_eq!(prepare_tools("weather", tools).err(), fault);
        }
    }

    #[test]
    fn the_name_of_a_call_leads_back_to_its_tool() {
        for (toolbox, name) in [("weather", "forecast"), ("my-box", "a__b"), ("x", "_y")] {
            assert_eq!(split_name(&name_tool(toolbox, name)), Some((toolbox, name)));
        }
        assert_eq!(split_name("read_file"), None);
    }
}
