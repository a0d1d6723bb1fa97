//! Definitions of the tools for an agent.
//!
//! Owns: names, descriptions, schemas and effects. Never: runs a call.

use agentos_chat::{RateLimit, ToolAccess, ToolClass, TurnTool};
use agentos_model::ToolSpec;
use schemars::schema_for;
use serde_json::{Value, json};
use std::time::Duration;

use super::report::{EvidenceReport, PolicyReport, ProposalReport};
use agentos_calls::chat_tools::RepositoryTools;

/// Tool as an agent sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    /// Name of the tool.
    pub name: String,
    /// Description for the agent's model.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub input_schema: Value,
    /// JSON Schema of the data of an answer. `None` if an answer is text alone.
    pub output_schema: Option<Value>,
    /// Effect of a call.
    pub effect: AgentToolEffect,
}

/// Effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentToolEffect {
    /// Nothing changes.
    Reads,
    /// A proposal is recorded, and may wait for a person.
    Proposes,
    /// A proposal that waits is closed.
    Withdraws,
}

/// Tools that conversations do not have.
const OWN: [&str; 6] = [
    "proposal_status",
    "proposal_withdraw",
    "list_runs",
    "show_run",
    "explain_policy",
    "verify_evidence",
];

/// Returns whether a tool is one that conversations do not have.
pub(super) fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// Lists the tools, each with the form in which a call is checked.
pub(super) fn list_tools() -> Vec<(AgentTool, TurnTool)> {
    let shared = RepositoryTools::list_all().into_iter().map(|tool| {
        let effect = match tool.access {
            ToolAccess::Propose => AgentToolEffect::Proposes,
            ToolAccess::Read | ToolAccess::Other => AgentToolEffect::Reads,
        };
        let output = (effect == AgentToolEffect::Proposes).then(|| schema_for!(ProposalReport).to_value());
        (tool, output, effect)
    });
    let all = shared.chain(list_own());
    let pairs = all.map(|(tool, output_schema, effect)| {
        let spec = tool.spec.clone();
        let agent_tool = AgentTool {
            name: spec.name,
            description: spec.description,
            input_schema: spec.input_schema,
            output_schema,
            effect,
        };
        (agent_tool, tool)
    });
    pairs.collect()
}

fn list_own() -> Vec<(TurnTool, Option<Value>, AgentToolEffect)> {
    use AgentToolEffect::{Reads, Withdraws};
    let run = |description: &str| json!({ "type": "string", "minLength": 1, "maxLength": 64, "description": description });
    let proposal = || json!({ "proposal": run("Id of the proposal, as `propose_change` returned it.") });
    let state = || Some(schema_for!(ProposalReport).to_value());
    vec![
        (
            own_tool(
                "proposal_status",
                "Returns what became of a proposal: whether it still waits for the user, landed, was refused, or was declined, and the user's comment.",
                proposal(),
                &["proposal"],
            ),
            state(),
            Reads,
        ),
        (
            own_tool(
                "proposal_withdraw",
                "Takes back a proposal that waits for the user, such as one that a better one replaces.",
                proposal(),
                &["proposal"],
            ),
            state(),
            Withdraws,
        ),
        (
            own_tool(
                "list_runs",
                "Lists earlier runs on this repository, newest first: id, time, result, and files. Tasks are those of agents like this one.",
                json!({ "limit": { "type": "integer", "minimum": 1, "maximum": 50, "description": "Largest number of runs. Usually 20." } }),
                &[],
            ),
            None,
            Reads,
        ),
        (
            own_tool(
                "show_run",
                "Shows one earlier run: its result, the reason of a refusal, the decision of policy, and its files.",
                json!({ "run": run("Id of the run, or its last 8 letters.") }),
                &["run"],
            ),
            None,
            Reads,
        ),
        (
            own_tool(
                "explain_policy",
                "Explains what the user's policy decides about reading a path, or about a change, without proposing it. Give one of both.",
                json!({
                    "path": { "type": "string", "minLength": 1, "maxLength": 4096, "description": "Path that is to be read." },
                    "answer": { "type": "string", "minLength": 1, "description": "Change in a form that `propose_change` takes." },
                }),
                &[],
            ),
            Some(schema_for!(PolicyReport).to_value()),
            Reads,
        ),
        (
            own_tool(
                "verify_evidence",
                "Verifies the evidence of all runs of this repository: the chain of records, their texts, and the commits that name them.",
                json!({}),
                &[],
            ),
            Some(schema_for!(EvidenceReport).to_value()),
            Reads,
        ),
    ]
}

fn own_tool(name: &str, description: &str, properties: Value, required: &[&str]) -> TurnTool {
    TurnTool {
        spec: ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        },
        class: ToolClass::Plain,
        access: ToolAccess::Read,
        // Each of them reads the tape. An agent that asks in a loop must not keep a processor busy.
        rate: Some(RateLimit {
            burst: 60,
            interval: Duration::from_secs(1),
        }),
        timeout: None,
    }
}
