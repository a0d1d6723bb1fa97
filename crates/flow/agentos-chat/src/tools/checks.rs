//! What must hold before a tool runs: it exists, it is permitted, its arguments fit, and its limit is not reached.
//!
//! Owns: the checks and the reasons for the model. Never: runs a tool.

use agentos_model::ToolCall;
use agentos_schema::check_value;
use serde_json::Value;

use super::ToolSession;
use crate::ports::{ToolAccess, TurnTool};

/// Largest number of violations of a schema in a reason. A model corrects one call at a time.
const MOST_VIOLATIONS: usize = 5;
/// Largest number of characters of a name that a model made up, in a reason.
const LONGEST_NAME: usize = 64;

/// Permissions of the tools of a session. They are settings of the user: nothing that a model or a tool says changes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPermissions {
    /// Tools that read what policy lets the provider see.
    pub read: bool,
    /// Tools that make proposals.
    pub propose: bool,
    /// All other tools.
    pub other: bool,
}

impl Default for ToolPermissions {
    fn default() -> Self {
        Self {
            read: true,
            propose: true,
            other: false,
        }
    }
}

impl ToolPermissions {
    /// Returns true if tools with this access may be called.
    #[must_use]
    pub fn permits(&self, access: ToolAccess) -> bool {
        match access {
            ToolAccess::Read => self.read,
            ToolAccess::Propose => self.propose,
            ToolAccess::Other => self.other,
        }
    }
}

/// Refusal of a call before the tool sees it.
///
/// | code | why |
/// |---|---|
/// | `unknown-tool` | no tool of this name is on offer |
/// | `tool-not-permitted` | the user has not permitted it |
/// | `bad-arguments` | the arguments do not fit its schema |
/// | `call-limit` | it was called too often |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRefusal {
    /// Code, for programs.
    pub code: &'static str,
    /// Reason, for the model.
    pub reason: String,
}

impl CallRefusal {
    fn new(code: &'static str, reason: String) -> Self {
        Self { code, reason }
    }
}

/// Finds the tool of a call and checks everything that must hold before it runs.
///
/// # Errors
/// If something does not hold.
pub fn admit_call<'t>(
    call: &ToolCall,
    tools: &'t [TurnTool],
    permissions: ToolPermissions,
    session: &mut ToolSession,
) -> Result<&'t TurnTool, CallRefusal> {
    let Some(tool) = tools.iter().find(|tool| tool.spec.name == call.name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
        let wanted: String = call.name.chars().take(LONGEST_NAME).collect();
        let reason = match names.as_slice() {
            [] => format!("There is no tool `{wanted}`: no tool is on offer."),
            _ => format!("There is no tool `{wanted}`. Use one of: {}.", names.join(", ")),
        };
        return Err(CallRefusal::new("unknown-tool", reason));
    };
    if !permissions.permits(tool.access) {
        let reason = format!("The user has not permitted the tool `{}`.", tool.spec.name);
        return Err(CallRefusal::new("tool-not-permitted", reason));
    }
    check_arguments(tool, &call.arguments).map_err(|reason| CallRefusal::new("bad-arguments", reason))?;
    // Last, so that a call that cannot run does not use up the limit.
    if let Some(limit) = tool.rate {
        let now = session.measure_age();
        session
            .limiter
            .take_call(&tool.spec.name, limit, now)
            .map_err(|wait| {
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                let reason = format!(
                    "The limit on calls of `{}` is reached. Call it again in {seconds} s.",
                    tool.spec.name
                );
                CallRefusal::new("call-limit", reason)
            })?;
    }
    Ok(tool)
}

fn check_arguments(tool: &TurnTool, arguments: &Value) -> Result<(), String> {
    let name = &tool.spec.name;
    if !arguments.is_object() {
        return Err(format!("The arguments of `{name}` are not a JSON object."));
    }
    let Err(violations) = check_value(&tool.spec.input_schema, arguments) else {
        return Ok(());
    };
    let shown: Vec<String> = violations
        .iter()
        .take(MOST_VIOLATIONS)
        .map(ToString::to_string)
        .collect();
    Err(format!(
        "The arguments of `{name}` do not match its schema: {}.",
        shown.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agentos_model::ToolSpec;
    use serde_json::json;

    use super::*;
    use crate::ports::ToolClass;
    use crate::tools::RateLimit;

    fn make_tool(name: &str, access: ToolAccess) -> TurnTool {
        TurnTool {
            spec: ToolSpec {
                name: name.to_owned(),
                description: String::new(),
                input_schema: json!({
                    "type": "object",
                    "properties": { "path": { "type": "string" } },
                    "required": ["path"],
                    "additionalProperties": false,
                }),
            },
            class: ToolClass::Plain,
            access,
            rate: Some(RateLimit {
                burst: 1,
                interval: Duration::from_millis(2_500),
            }),
            timeout: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_admitted_or_refused_with_a_reason() {
        let tools = [
            make_tool("read_file", ToolAccess::Read),
            make_tool("run", ToolAccess::Other),
        ];
        let mut session = ToolSession::new();
        let mut admit = |name: &str, arguments: Value| {
            let call = ToolCall {
                id: "a".to_owned(),
                name: name.to_owned(),
                arguments,
                signature: None,
            };
            match admit_call(&call, &tools, ToolPermissions::default(), &mut session) {
                Ok(tool) => tool.spec.name.clone(),
                Err(CallRefusal { code, reason }) => format!("{code}: {reason}"),
            }
        };
        let shown = [
            admit("write_file", json!({})),
            admit("run", json!({ "path": "a" })),
            admit("read_file", json!("{\"path\": ")),
            admit("read_file", json!({ "path": 1, "secret": "x" })),
            admit("read_file", json!({ "path": "a" })),
            admit("read_file", json!({ "path": "a" })),
        ];
        insta::assert_snapshot!(shown.join("\n"), @r#"
        unknown-tool: There is no tool `write_file`. Use one of: read_file, run.
        tool-not-permitted: The user has not permitted the tool `run`.
        bad-arguments: The arguments of `read_file` are not a JSON object.
        bad-arguments: The arguments of `read_file` do not match its schema: /path: the value is not of type "string"; /: Additional properties are not allowed ('secret' was unexpected).
        read_file
        call-limit: The limit on calls of `read_file` is reached. Call it again in 3 s.
        "#);
    }
}
