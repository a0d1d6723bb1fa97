//! The list of tools of a toolbox: which one models can be offered.
//!
//! Owns: the limits on names, sizes and schemas, and the names of tools for models. Never: starts a program.

use std::collections::BTreeSet;

use agentos_schema::check_schema;
use agentos_tool::ToolDescription;
use serde_json::Value;

/// Largest number of tools of a toolbox. Models choose badly from long lists.
const MOST_TOOLS: usize = 32;
/// Longest name that all vendors accept.
const LONGEST_NAME: usize = 64;
/// Longest description, in bytes.
const LONGEST_DESCRIPTION: usize = 4 << 10;
/// Largest schema as JSON, in bytes.
const LARGEST_SCHEMA: usize = 16 << 10;
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
    #[error(
        "the schema of `{0}` must be a JSON Schema of type `object`, at most {LARGEST_SCHEMA} bytes long"
    )]
    BadSchema(String),
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

/// Checks that models can be offered the tools of a toolbox: every vendor takes the names, and each call can be checked.
///
/// # Errors
/// The first fault of the list.
pub fn check_tools(toolbox: &str, tools: &[ToolDescription]) -> Result<(), OfferFault> {
    if tools.is_empty() {
        return Err(OfferFault::NoTool);
    }
    if tools.len() > MOST_TOOLS {
        return Err(OfferFault::TooManyTools(tools.len()));
    }
    let mut names = BTreeSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let name = &tool.name;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let fits = name_tool(toolbox, name).len() <= LONGEST_NAME;
        if name.is_empty() || !name.bytes().all(is_letter) || !fits {
            // By its number: a bad name may be anything.
            return Err(OfferFault::BadName(at + 1));
        }
        if !names.insert(name) {
            return Err(OfferFault::SameName(name.clone()));
        }
        if !(1..=LONGEST_DESCRIPTION).contains(&tool.description.len()) {
            return Err(OfferFault::BadDescription(name.clone()));
        }
        let schema = &tool.input_schema;
        let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
        if !is_object || schema.to_string().len() > LARGEST_SCHEMA || check_schema(schema).is_err() {
            return Err(OfferFault::BadSchema(name.clone()));
        }
    }
    Ok(())
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

    #[test]
    fn a_list_that_vendors_or_models_cannot_take_is_refused() {
        type Change = fn(&mut Vec<ToolDescription>);
        let cases: [(Change, Option<OfferFault>); 11] = [
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
                Some(OfferFault::BadSchema("one".to_owned())),
            ),
            // A reference to another document is never fetched, so such a schema could not be checked.
            (
                |tools| {
                    tools[1].input_schema = json!({ "type": "object", "$ref": "https://example.com/schema" });
                },
                Some(OfferFault::BadSchema("two".to_owned())),
            ),
        ];
        for (change, fault) in cases {
            let mut tools = vec![tool("one"), tool("two")];
            change(&mut tools);
            assert_eq!(check_tools("weather", &tools).err(), fault);
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
