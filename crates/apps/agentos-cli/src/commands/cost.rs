//! `agentos cost` and `agentos store rebuild`: what models cost, from the user's ledger.
//!
//! Owns: the meaning of the flags. Never: computes a cost.

use agentos_host::CostFilter;

use crate::app::{App, Done, output_failed};
use crate::args::cost::CostArgs;
use crate::commands::evidence::parse_since;
use crate::exit::Exit;
use crate::render;

/// Shows what models cost.
pub fn show_costs(app: &App, args: &CostArgs) -> Done {
    let filter = CostFilter {
        since: args.since.as_deref().map(parse_since).transpose()?,
        until: args.until.as_deref().map(parse_since).transpose()?,
        provider: args.provider.clone(),
        session: None,
    };
    let report = app.host.calls().cost_report(args.by.into(), &filter)?;
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
    } else if report.calls == 0 {
        let is_filtered = args.since.is_some() || args.until.is_some() || args.provider.is_some();
        app.printer.show_note(match is_filtered {
            true => "no calls match these filters; `agentos cost` counts all",
            false => "no calls of models are recorded; `agentos run` and `agentos chat send` record them",
        });
    } else {
        app.print_paged(&render::cost::format_costs(&report))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Makes the ledger's database again.
pub fn rebuild_store(app: &App) -> Done {
    let report = app.host.calls().rebuild_store()?;
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
    } else {
        app.printer.show_note(&render::cost::describe_rebuild(&report));
    }
    Ok(Exit::Done)
}
