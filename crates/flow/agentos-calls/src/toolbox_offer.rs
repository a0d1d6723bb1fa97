//! The tools of a toolbox as a model is offered them.
//!
//! Owns: their access and limits. Never: starts a program.

use std::time::Duration;

use agentos_chat::{RateLimit, ToolAccess, ToolClass, TurnTool, name_tool};
use agentos_model::ToolSpec;
use agentos_tool::ToolDescription;

use agentos_providers::toolboxes::ToolboxProfile;

/// Makes the tools that a model is offered.
pub(crate) fn offer_tools(profile: &ToolboxProfile, tools: &[ToolDescription]) -> Vec<TurnTool> {
    let calls = profile.calls_per_minute.max(1);
    let make = |tool: &ToolDescription| TurnTool {
        spec: ToolSpec {
            name: name_tool(&profile.name, &tool.name),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
        },
        class: ToolClass::Plain,
        access: ToolAccess::Other,
        rate: Some(RateLimit {
            burst: calls,
            interval: Duration::from_secs(60) / calls,
        }),
        timeout: Some(profile.limit),
    };
    tools.iter().map(make).collect()
}
