//! `agentos budget`: limits on what models may cost, and on the number of calls.
//!
//! Owns: the meaning of the flags. Never: computes a cost.

use agentos_host::{BudgetReport, BudgetScope, BudgetSpec, EffectError};
use agentos_ledger::SessionKey;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::budget::{BudgetCalls, BudgetVerb};
use crate::exit::Exit;
use crate::render;

/// Does what a verb of `budget` says, and shows the budgets.
pub fn run_budget(app: &App, verb: &BudgetVerb) -> Done {
    let report = match verb {
        BudgetVerb::Set(args) => app.host.calls().set_budget(&BudgetSpec {
            amount: args.amount.clone(),
            zone: args.zone,
            scope: read_scope(&args.calls)?,
            each: args.calls.each.map(Into::into),
        })?,
        BudgetVerb::List => app.host.calls().budget_report()?,
        BudgetVerb::Remove(args) => app.host.calls().remove_budget(
            args.period.map(Into::into),
            &read_scope(&args.calls)?,
            args.calls.each.map(Into::into),
        )?,
    };
    show_report(app, &report)
}

fn show_report(app: &App, report: &BudgetReport) -> Done {
    if app.printer.json {
        app.printer
            .write_json(report)
            .map_err(|error| output_failed(&error))?;
    } else if report.budgets.is_empty() {
        app.printer
            .show_note("no budget is set; `agentos budget set 5usd/day` sets one");
    } else {
        app.print_paged(&render::budget::format_budgets(report))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

fn read_scope(calls: &BudgetCalls) -> Result<BudgetScope, EffectError> {
    let key = |name: &str| SessionKey::parse(name).map_err(|error| usage_error(error.to_string()));
    Ok(BudgetScope {
        session: calls
            .session
            .as_deref()
            .map(key)
            .transpose()?
            .map(|key| key.to_string()),
        provider: calls.provider.clone(),
        model: calls.model.clone(),
        guild: calls.guild.clone(),
    })
}
