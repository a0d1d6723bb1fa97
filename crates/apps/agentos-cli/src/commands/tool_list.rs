//! `agentos tool list`: lists the known providers and toolboxes.
//!
//! Owns: the tables. Never: contacts a provider, or starts a toolbox.

use agentos_host::{Listed, ListedToolbox, ToolboxTrust};
use agentos_tool::ExecutionMode;

use crate::app::{App, Done, output_failed};
use crate::escape;
use crate::exit::Exit;
use crate::render::format_columns;

/// Runs the verb.
pub fn list_providers(app: &App) -> Done {
    let list = app.host.calls().list_providers()?;
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
    let is_toolbox = |name: &str| list.toolboxes.iter().any(|toolbox| toolbox.toolbox == name);
    for tool in list.tools.iter().filter(|tool| !is_toolbox(&tool.provider)) {
        rows.push(vec![
            escape::line(&tool.provider),
            tool.execution_mode.map_or("-", ExecutionMode::as_str).to_owned(),
            format_address(tool),
            tool.model.as_deref().map_or_else(|| "-".to_owned(), escape::line),
            escape::line(&tool.key),
        ]);
    }
    let mut text = format_columns(&rows);
    text.push_str(&format_toolboxes(&list.toolboxes));
    app.printer
        .write_report(&text)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Returns the table of toolboxes, below the one of providers. Empty if there is none.
fn format_toolboxes(toolboxes: &[ListedToolbox]) -> String {
    if toolboxes.is_empty() {
        return String::new();
    }
    let mut rows = vec![
        ["TOOLBOX", "PROGRAM", "TRUSTED", "TOOLS"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for toolbox in toolboxes {
        let name = escape::line(&toolbox.toolbox);
        let trusted = match toolbox.trust {
            Some(ToolboxTrust::Trusted) => "yes".to_owned(),
            Some(ToolboxTrust::New) => format!("no: agentos tool trust {name}"),
            Some(ToolboxTrust::Changed) => format!("changed: agentos tool trust {name}"),
            None => describe_broken(&toolbox.toolbox),
        };
        let tools = match toolbox.tools.as_slice() {
            [] => "-".to_owned(),
            tools => escape::line(&tools.join(", ")),
        };
        let program = toolbox
            .program
            .as_deref()
            .map_or_else(|| "-".to_owned(), escape::line);
        rows.push(vec![name, program, trusted, tools]);
    }
    format!("\n{}", format_columns(&rows))
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
