//! Health as text for people: the problem and its remedy at one glance.
//!
//! Owns: the table. Never: truncates a remedy.

use agentos_tool::{HealthStatus, ToolHealth, Usage, format_dollars};

use crate::escape;
use crate::printer::{paint, style};
use agentos_host::{HealthReport, Probe, ToolCallProbe, Verdict};

/// Returns the providers that can be used now, then those that need a step, then the names of the others in one line.
pub fn format_overview(seen: &HealthReport) -> String {
    let (others, mut shown): (Vec<ToolHealth>, Vec<ToolHealth>) = seen
        .tools
        .iter()
        .cloned()
        .partition(|tool| seen.not_set_up.contains(&tool.provider));
    // Stable, so that the order stays alphabetical within each group.
    shown.sort_by_key(|tool| !tool.is_connected());
    let mut out = format_health(&shown);
    if !others.is_empty() {
        let names: Vec<String> = others.iter().map(|tool| escape::line(&tool.provider)).collect();
        let label = paint(style::DIM, "not set up:");
        out.push_str(&format!(
            "{label} {}; `agentos tool health -p NAME` says what one needs\n",
            names.join(", ")
        ));
    }
    out
}

/// Returns a block of lines for each tool.
pub fn format_health(tools: &[ToolHealth]) -> String {
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
        // Padding comes before styling, because color codes would count as characters.
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

/// Returns each model's results with a tiny edit, best format first.
pub fn format_probes(probes: &[Probe]) -> String {
    let mut out = String::new();
    for probe in probes {
        let what = match (&probe.best, &probe.saved) {
            (Some(best), Some(file)) => format!("follows `{}`, saved in {file}", best.as_str()),
            (Some(best), None) => format!("follows `{}`", best.as_str()),
            (None, _) => "follows none of the edit formats".to_owned(),
        };
        out.push_str(&format!(
            "\n{}  {}\n",
            paint(style::BOLD, &escape::line(&probe.provider)),
            escape::line(&what)
        ));
        for found in &probe.formats {
            let style = match (found.obeyed, found.lands) {
                (true, _) => style::GOOD,
                (false, true) => style::WARN,
                (false, false) => style::BAD,
            };
            out.push_str(&format!(
                "  {}  {} {}\n",
                paint(style, &format!("{:14}", found.edit_format.as_str())),
                escape::line(&found.details),
                paint(
                    style::DIM,
                    &format_usage(found.latency_ms, found.usage, found.cost_micro_usd)
                )
            ));
        }
    }
    out
}

/// Returns the result of each model's tool call.
pub fn format_tool_calls(probes: &[ToolCallProbe]) -> String {
    let width = probes.iter().map(|probe| probe.provider.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut out = if probes.is_empty() { "" } else { "\n" }.to_owned();
    for probe in probes {
        let style = match probe.verdict {
            Verdict::Pass => style::GOOD,
            Verdict::Fail => style::BAD,
            Verdict::Skip => style::DIM,
        };
        let name = format!("{:width$}", escape::line(&probe.provider));
        let took = match probe.verdict {
            Verdict::Skip => String::new(),
            Verdict::Pass | Verdict::Fail => {
                let took = format_usage(probe.latency_ms, probe.usage, probe.cost_micro_usd);
                format!(" {}", paint(style::DIM, &took))
            }
        };
        out.push_str(&format!(
            "{}  tool calls: {}  {}{took}\n",
            paint(style::BOLD, &name),
            paint(style, probe.verdict.as_str()),
            escape::line(&probe.details),
        ));
    }
    out
}

/// Returns time, tokens and cost of a generation, in parentheses.
fn format_usage(latency_ms: u64, usage: Option<Usage>, cost_micro_usd: Option<u64>) -> String {
    let tokens = usage.and_then(|usage| usage.output_tokens);
    let tokens = tokens
        .map(|tokens| format!(", {tokens} tokens"))
        .unwrap_or_default();
    let cost = cost_micro_usd
        .filter(|cost| *cost > 0)
        .map(|cost| format!(", {}", format_dollars(cost)))
        .unwrap_or_default();
    format!("({latency_ms} ms{tokens}{cost})")
}
