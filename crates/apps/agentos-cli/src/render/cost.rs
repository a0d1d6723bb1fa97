//! Costs as text for people.
//!
//! Owns: the table and its last line. Never: adds costs.

use agentos_host::{CostReport, RebuildReport};
use agentos_tool::ExactCost;

use super::{count_noun, format_columns};
use crate::escape;

/// Returns a table with a line for each group, and the sum.
pub fn format_costs(report: &CostReport) -> String {
    let head = match report.by {
        "day" => "DAY (UTC)",
        "model" => "MODEL",
        "provider" => "PROVIDER",
        _ => "SESSION",
    };
    let mut rows = vec![
        [
            head,
            "CALLS",
            "FAILED",
            "PROMPT",
            "CACHED",
            "ANSWER",
            "COST (USD)",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    rows.extend(report.rows.iter().map(|row| {
        vec![
            row.name
                .as_deref()
                .map_or_else(|| "(no session)".to_owned(), escape::line),
            row.calls.to_string(),
            row.failed.to_string(),
            row.input_tokens.to_string(),
            row.cached_tokens.to_string(),
            row.output_tokens.to_string(),
            // A sum of nothing known would read as free.
            match (row.unknown == row.calls, row.unknown) {
                (true, _) => "unknown".to_owned(),
                (false, 0) => name_cost(row.cost_usd),
                (false, unknown) => format!("{} and {}", name_cost(row.cost_usd), count_unknown(unknown)),
            },
        ]
    }));
    let known = report.calls.saturating_sub(report.unknown);
    let sum = match (known, report.unknown) {
        (0, unknown) => format!("The cost of all {unknown} calls is unknown."),
        (known, 0) => format!(
            "${} for {}.",
            name_cost(report.cost_usd),
            count_noun(known, "call")
        ),
        (known, unknown) => format!(
            "${} for {}, and {}.",
            name_cost(report.cost_usd),
            count_noun(known, "call"),
            count_unknown(unknown)
        ),
    };
    format!("{}\n{sum}\n", format_columns(&rows))
}

fn name_cost(cost: Option<ExactCost>) -> String {
    cost.map_or_else(|| "(too large to count)".to_owned(), |cost| cost.to_string())
}

fn count_unknown(unknown: u64) -> String {
    format!("{} of unknown cost", count_noun(unknown, "call"))
}

/// Describes a rebuilt database in one line.
pub fn describe_rebuild(report: &RebuildReport) -> String {
    let mut text = format!(
        "rebuilt from {}: {}, {}",
        count_noun(report.records, "record"),
        count_noun(report.sessions, "session"),
        count_noun(report.calls, "model call"),
    );
    if report.removed > 0 {
        text.push_str(&format!(
            "; removed {} of deleted sessions",
            count_noun(report.removed as u64, "text")
        ));
    }
    text
}
