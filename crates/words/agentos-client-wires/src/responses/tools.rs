//! Tools of a request in the form of responses, and their names at the model.
//!
//! Owns: which tools the model is offered, and how its calls find back to the form of the client. Never: runs a tool.
//!
//! | tool of the client | offered to the model | its call at the client |
//! |---|---|---|
//! | `function` | the same function | `function_call` |
//! | `namespace` with functions | each function, as `NAMESPACE__NAME` | `function_call` with `namespace` |
//! | `custom` (free text) | a function with the argument `input`; a grammar is part of its description | `custom_tool_call` |
//! | any other: it runs at OpenAI, as `web_search` | not offered, and named as ignored | – |

use std::collections::{BTreeMap, BTreeSet};

use agentos_model::{ToolChoice, ToolSpec};
use serde_json::{Value, json};

use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};

/// Argument of a function that stands for a tool with free text.
const INPUT: &str = "input";
/// Most bytes of a name, by the rule of [`ToolSpec`].
const LONGEST_NAME: usize = 64;

/// Tool as the client names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolForm {
    /// Namespace. `None` if the tool is in no namespace.
    pub namespace: Option<String>,
    /// Name inside the namespace.
    pub name: String,
    /// True if the tool takes free text instead of JSON.
    pub is_custom: bool,
}

/// Tools whose form at the client is not a plain function, by their names at the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolForms(BTreeMap<String, ToolForm>);

impl ToolForms {
    /// Returns the form of the tool that the model calls by this name.
    pub fn find(&self, name: &str) -> ToolForm {
        let found = self.0.get(name).cloned();
        found.unwrap_or_else(|| ToolForm {
            namespace: None,
            name: name.to_owned(),
            is_custom: false,
        })
    }
}

/// Tools of a request.
#[derive(Debug, Default)]
pub struct ReadTools {
    /// Tools that the model is offered.
    pub offered: Vec<ToolSpec>,
    /// Forms of these tools at the client.
    pub forms: ToolForms,
    /// Tools in the client's own form, without the ignored ones.
    pub accepted: Vec<Value>,
    /// Paths of the tools that are not offered, with their types.
    pub ignored: Vec<String>,
    names: BTreeSet<String>,
    ignored_types: BTreeSet<String>,
}

impl ReadTools {
    /// Reads the tools of a request.
    ///
    /// # Errors
    /// Fails if a tool has no name, or two have the same name.
    pub fn read(list: Vec<Value>) -> Result<Self, RequestFault> {
        let mut tools = Self::default();
        for (at, tool) in list.into_iter().enumerate() {
            let path = format!("tools[{at}]");
            let accepted = tool.clone();
            let mut tool = ObjectFields::take(tool, &path)?;
            match tool.required_text("type")?.as_str() {
                "function" => tools.add_function(None, &mut tool)?,
                "custom" => tools.add_custom(None, &mut tool)?,
                "namespace" => tools.add_namespace(&mut tool)?,
                // The vendor would run it. An answer without it is still an answer, and Codex offers its web search always.
                kind => {
                    tools.ignored.push(format!("{path} ({kind})"));
                    tools.ignored_types.insert(kind.to_owned());
                    continue;
                }
            }
            tools.accepted.push(accepted);
        }
        Ok(tools)
    }

    fn add_namespace(&mut self, namespace: &mut ObjectFields) -> Result<(), RequestFault> {
        let name = namespace.required_text("name")?;
        let path = namespace.path_of("tools");
        for (at, tool) in namespace.list("tools")?.into_iter().enumerate() {
            let mut tool = ObjectFields::take(tool, &format!("{path}[{at}]"))?;
            match tool.required_text("type")?.as_str() {
                "function" => self.add_function(Some(&name), &mut tool)?,
                "custom" => self.add_custom(Some(&name), &mut tool)?,
                kind => {
                    let message = format!("a tool of type `{kind}` is not supported in a namespace");
                    return Err(RequestFault::of_field(tool.path_of("type"), message));
                }
            }
        }
        Ok(())
    }

    fn add_function(&mut self, namespace: Option<&str>, tool: &mut ObjectFields) -> Result<(), RequestFault> {
        let name = tool.required_text("name")?;
        let spec = ToolSpec {
            name: join_name(namespace, &name),
            description: tool.text("description")?.unwrap_or_default(),
            // A function without parameters takes an empty object.
            input_schema: tool
                .value("parameters")
                .unwrap_or_else(|| json!({"type": "object", "properties": {}})),
        };
        if namespace.is_some() {
            self.add_form(&spec.name, namespace, name, false);
        }
        self.offer(spec, tool)
    }

    fn add_custom(&mut self, namespace: Option<&str>, tool: &mut ObjectFields) -> Result<(), RequestFault> {
        let name = tool.required_text("name")?;
        let mut description = tool.text("description")?.unwrap_or_default();
        // The client's description may forbid JSON, as for `apply_patch` of Codex.
        description.push_str(&format!(
            "\n\nThis tool is called as a function: `{INPUT}` is its text, unchanged."
        ));
        if let Some(format) = tool.value("format") {
            let mut format = ObjectFields::take(format, &tool.path_of("format"))?;
            if format.required_text("type")? == "grammar" {
                // No other wire can enforce it. The program that runs the tool checks its input in any case.
                let (syntax, grammar) = (
                    format.required_text("syntax")?,
                    format.required_text("definition")?,
                );
                description.push_str(&format!(
                    "\n\nThe text of `{INPUT}` must match this grammar ({syntax}):\n{grammar}"
                ));
            }
        }
        let spec = ToolSpec {
            name: join_name(namespace, &name),
            description,
            input_schema: json!({
                "type": "object", "additionalProperties": false, "required": [INPUT],
                "properties": {INPUT: {"type": "string", "description": "the text that the tool takes, unchanged"}},
            }),
        };
        self.add_form(&spec.name, namespace, name, true);
        self.offer(spec, tool)
    }

    fn add_form(&mut self, at_model: &str, namespace: Option<&str>, name: String, is_custom: bool) {
        let form = ToolForm {
            namespace: namespace.map(str::to_owned),
            name,
            is_custom,
        };
        self.forms.0.insert(at_model.to_owned(), form);
    }

    fn offer(&mut self, spec: ToolSpec, tool: &ObjectFields) -> Result<(), RequestFault> {
        if !self.names.insert(spec.name.clone()) {
            let message = format!("there are two tools `{}`", spec.name);
            return Err(RequestFault::of_field(tool.path_of("name"), message));
        }
        self.offered.push(spec);
        Ok(())
    }

    /// Reads the rule for calling tools. A list of allowed tools is the offer without the other tools.
    ///
    /// # Errors
    /// Fails if the rule has an unknown form, or names a tool that is not offered.
    pub fn read_choice(&mut self, choice: Option<Value>) -> Result<ToolChoice, RequestFault> {
        match choice {
            None => Ok(ToolChoice::Auto),
            Some(Value::String(word)) => read_mode(&word, "tool_choice"),
            Some(choice) => {
                let mut choice = ObjectFields::take(choice, "tool_choice")?;
                match choice.required_text("type")?.as_str() {
                    "function" | "custom" => self.read_name(&mut choice).map(ToolChoice::Named),
                    "allowed_tools" => {
                        let mode = choice.required_text("mode")?;
                        let mode = read_mode(&mode, "tool_choice.mode")?;
                        self.keep_allowed(choice.list("tools")?)?;
                        Ok(mode)
                    }
                    kind => {
                        let message = format!("a choice of type `{kind}` is not supported");
                        Err(RequestFault::of_field("tool_choice.type", message))
                    }
                }
            }
        }
    }

    fn keep_allowed(&mut self, allowed: Vec<Value>) -> Result<(), RequestFault> {
        let mut names = BTreeSet::new();
        for (at, tool) in allowed.into_iter().enumerate() {
            let mut tool = ObjectFields::take(tool, &format!("tool_choice.tools[{at}]"))?;
            let kind = tool.required_text("type")?;
            if !self.ignored_types.contains(&kind) {
                names.insert(self.read_name(&mut tool)?);
            }
        }
        self.offered.retain(|tool| names.contains(&tool.name));
        Ok(())
    }

    fn read_name(&self, tool: &mut ObjectFields) -> Result<String, RequestFault> {
        let namespace = tool.text("namespace")?;
        let name = join_name(namespace.as_deref(), &tool.required_text("name")?);
        match self.names.contains(&name) {
            true => Ok(name),
            false => {
                let message = format!("no tool `{name}` is in `tools`");
                Err(RequestFault::of_field(tool.path_of("name"), message))
            }
        }
    }
}

fn read_mode(word: &str, path: &str) -> Result<ToolChoice, RequestFault> {
    match word {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::Never),
        "required" => Ok(ToolChoice::Required),
        _ => Err(wrong_type(path, "`auto`, `none` or `required`")),
    }
}

/// Returns the name of a tool at the model. The same tool has the same name in each request of a conversation.
pub fn join_name(namespace: Option<&str>, name: &str) -> String {
    let Some(namespace) = namespace else {
        return name.to_owned();
    };
    let joined = format!("{namespace}__{name}");
    if joined.len() <= LONGEST_NAME {
        return joined;
    }
    // Cut names of one namespace would be equal; with a hash of the complete name they differ.
    let mark = format!("_{:08x}", hash_name(&joined));
    let mut end = LONGEST_NAME - mark.len();
    while !joined.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{mark}", joined.get(..end).unwrap_or_default())
}

/// Returns the hash FNV-1a of a name: small, and the same in each build.
fn hash_name(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Returns the arguments of a function for the free text of a call.
pub fn wrap_input(input: String) -> Value {
    json!({INPUT: input})
}

/// Returns the free text of a call. What the model wrote in another form is the text as it is.
pub fn unwrap_input(arguments: &str) -> String {
    let parsed = serde_json::from_str::<Value>(arguments).ok();
    let input = parsed.as_ref().and_then(|value| value.get(INPUT)?.as_str());
    input.unwrap_or(arguments).to_owned()
}

/// Reads the namespace and name of a call that the client sends back, as the name at the model.
pub fn read_called(call: &mut ObjectFields) -> Result<String, RequestFault> {
    let namespace = call.text("namespace")?;
    let path = call.path_of("name");
    let name = call.text("name")?.ok_or_else(|| missing(&path))?;
    Ok(join_name(namespace.as_deref(), &name))
}
