//! Health for people: one look tells what is wrong and what to do.
//!
//! Owns: the table. Never: cuts the sentence that says what to do.

use agentos_tool::{HealthStatus, ToolHealth};

use crate::escape;
use crate::printer::{paint, style};

/// One block for each tool.
pub fn health(tools: &[ToolHealth]) -> String {
    let name_width = tools
        .iter()
        .map(|tool| tool.provider.chars().count())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for tool in tools {
        let style = match tool.status {
            HealthStatus::Connected => style::GOOD,
            HealthStatus::NotConfigured => style::DIM,
            HealthStatus::InvalidToken
            | HealthStatus::Unreachable
            | HealthStatus::ModelMissing
            | HealthStatus::SchemaMismatch => style::BAD,
        };
        let name = format!("{:name_width$}", escape::line(&tool.provider));
        // Pad before painting: the paint has no width.
        let status = paint(style, &format!("{:15}", tool.status.as_str()));
        let place = tool
            .endpoint
            .as_ref()
            .map(|endpoint| format!("{endpoint}  "))
            .unwrap_or_default();
        out.push_str(&format!(
            "{}  {status}  {}{}\n",
            paint(style::BOLD, &name),
            place,
            escape::line(&tool.details)
        ));
        if let Some(fix) = &tool.fix {
            let indent = " ".repeat(name_width + 19);
            out.push_str(&format!(
                "{indent}{} {}\n",
                paint(style::DIM, "next:"),
                escape::line(fix)
            ));
        }
    }
    out
}
