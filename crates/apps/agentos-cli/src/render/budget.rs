//! Budgets as text for people.
//!
//! Owns: the table. Never: adds costs.

use agentos_host::{BudgetReport, BudgetRow, describe_calls};

use super::format_columns;
use crate::escape;

/// Returns a table with a line for each budget.
pub fn format_budgets(report: &BudgetReport) -> String {
    let head = ["BUDGET", "CALLS", "SPENT", "RESERVED", "SINCE", "ZONE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.budgets.iter().map(list_cells));
    format!("{}\n", format_columns(&rows))
}

fn list_cells(row: &BudgetRow) -> Vec<String> {
    let uncounted = || "(too large to count)".to_owned();
    let mut spent = row.write_spent().unwrap_or_else(uncounted);
    if row.unknown > 0 {
        // What is unknown must not read as free.
        spent.push('+');
    }
    vec![
        format!("{}/{}", row.limit.amount, row.limit.period.name()),
        escape::line(&describe_calls(&row.limit, row.group.as_deref())),
        spent,
        row.write_reserved().unwrap_or_else(uncounted),
        row.since.clone(),
        row.limit.zone.to_string(),
    ]
}
