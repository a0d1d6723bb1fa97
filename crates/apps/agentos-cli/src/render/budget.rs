//! Budgets as text for people.
//!
//! Owns: the table. Never: adds costs.

use agentos_host::{BudgetReport, BudgetRow};
use agentos_tool::ExactCost;

use super::format_columns;
use crate::escape;

/// Returns a table with a line for each budget.
pub fn format_budgets(report: &BudgetReport) -> String {
    let head = ["BUDGET (USD)", "CALLS", "SPENT", "RESERVED", "SINCE", "ZONE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.budgets.iter().map(list_cells));
    format!("{}\n", format_columns(&rows))
}

fn list_cells(row: &BudgetRow) -> Vec<String> {
    let scope = &row.limit.scope;
    let parts = [
        ("session", &scope.session),
        ("provider", &scope.provider),
        ("model", &scope.model),
    ];
    let named: Vec<String> = parts
        .into_iter()
        .filter_map(|(kind, value)| Some(format!("{kind} {}", escape::line(value.as_deref()?))))
        .collect();
    let calls = match named.is_empty() {
        true => "all".to_owned(),
        false => named.join(", "),
    };
    // Unknown costs must not read as free.
    let spent = match row.unknown {
        0 => name_cost(row.spent_usd),
        _ => format!("{}+", name_cost(row.spent_usd)),
    };
    vec![
        format!("{}/{}", row.limit.amount_usd, row.limit.period.name()),
        calls,
        spent,
        name_cost(row.reserved_usd),
        row.since.clone(),
        row.limit.zone.to_string(),
    ]
}

fn name_cost(cost: Option<ExactCost>) -> String {
    cost.map_or_else(|| "(too large to count)".to_owned(), |cost| cost.to_string())
}
