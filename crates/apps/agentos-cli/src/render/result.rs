//! Result of one call of a tool, as text for people.
//!
//! Owns: the layout. Never: shows the answer unescaped.

use agentos_tool::{ResultStatus, ToolResult, Usage, format_dollars};

use crate::escape;
use crate::printer::{paint, style};

/// Returns the result of a call that lands nothing.
pub fn format_result(result: &ToolResult) -> String {
    let mut out = String::new();
    let (paint_with, word) = match result.status {
        ResultStatus::Success => (style::GOOD, "success"),
        ResultStatus::PartialSuccess => (style::WARN, "partial success"),
        ResultStatus::Failed => (style::BAD, "failed"),
        ResultStatus::Timeout => (style::BAD, "timeout"),
    };
    out.push_str(&format!("{}{}\n", paint(paint_with, word), describe_call(result)));
    if let Some(message) = &result.error_message {
        out.push_str(&format!("  {}\n", escape::line(message)));
    }
    for error in &result.diff_validation.errors {
        out.push_str(&format!("  {}\n", escape::line(error)));
    }
    for warning in &result.diff_validation.warnings {
        out.push_str(&paint(style::DIM, &format!("  {}\n", escape::line(warning))));
    }
    for violation in &result.boundary.violations {
        out.push_str(&format!(
            "  {} {}\n",
            paint(style::BAD, "changed during the call:"),
            escape::line(violation)
        ));
    }
    out
}

/// Returns tool, model, address, tokens and time, as far as they are known.
pub fn describe_call(result: &ToolResult) -> String {
    let mut out = format!("  {}", escape::line(&result.tool));
    if let Some(model) = &result.model_id {
        out.push_str(&format!(" {}", escape::line(model)));
    }
    if let Some(endpoint) = &result.endpoint {
        out.push_str(&format!(" at {endpoint}"));
    }
    if let Some(usage) = &result.usage {
        out.push_str(&format_tokens(usage));
    }
    if result.latency_ms > 0 {
        out.push_str(&format!(", {} ms", result.latency_ms));
    }
    if let Some(cost) = result.cost_micro_usd.filter(|cost| *cost > 0) {
        out.push_str(&format!(", {}", format_dollars(cost)));
    }
    out
}

fn format_tokens(usage: &Usage) -> String {
    let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    if usage.is_unknown() {
        return String::new();
    }
    format!(
        ", {} tokens in, {} out",
        number(usage.input_tokens),
        number(usage.output_tokens)
    )
}
