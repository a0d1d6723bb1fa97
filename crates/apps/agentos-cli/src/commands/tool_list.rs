//! `agentos tool list`: lists the known providers.
//!
//! Owns: the table. Never: contacts a provider.

use agentos_host::Listed;
use agentos_tool::ExecutionMode;

use crate::app::{App, Done, output_failed};
use crate::escape;
use crate::exit::Exit;
use crate::render::format_columns;

/// Runs the verb.
pub fn list_providers(app: &App) -> Done {
    let list = app.host.list_providers()?;
    if app.printer.json {
        app.printer
            .write_json(&list)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    let mut rows = vec![
        ["PROVIDER", "WHERE", "ADDRESS OR PROGRAM", "MODEL", "KEY"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for tool in &list.tools {
        rows.push(vec![
            escape::line(&tool.provider),
            tool.execution_mode.map_or("-", ExecutionMode::as_str).to_owned(),
            format_address(tool),
            tool.model.as_deref().map_or_else(|| "-".to_owned(), escape::line),
            escape::line(&tool.key),
        ]);
    }
    app.printer
        .write_report(&format_columns(&rows))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Returns the address or program, or, for a broken profile, the command that shows its faults.
fn format_address(tool: &Listed) -> String {
    if tool.problem.is_some() {
        return describe_broken(&tool.provider);
    }
    let place = tool.base_url.as_deref().or(tool.program.as_deref());
    place.map_or_else(|| "-".to_owned(), escape::line)
}

/// Returns the text for a profile that cannot be used, with the command that shows why.
pub fn describe_broken(provider: &str) -> String {
    format!("broken: agentos profile validate {}", escape::line(provider))
}
