//! `agentos tool list`: the providers known here.
//!
//! Owns: the table. Never: asks a provider anything.

use agentos_tool::ExecutionMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::args::tool::OverrideFlags;
use crate::commands::health::tools;
use crate::escape;
use crate::exit::Exit;
use crate::render::columns;
use crate::wire::agents::{COMMAND, TOOL};
use crate::wire::keys;
use crate::wire::tools::{REPLAY, Tools};

/// One provider.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub provider: String,
    /// Where its work is done.
    pub execution_mode: Option<ExecutionMode>,
    /// Its address.
    pub base_url: Option<String>,
    /// The program that it is, where it is one.
    pub program: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Where its key comes from, in words.
    pub key: String,
    /// Why its profile cannot be used.
    pub problem: Option<String>,
}

/// `agentos tool list --json` and `agentos profile list --json`.
#[derive(Serialize, JsonSchema)]
pub struct ToolList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The providers.
    pub tools: Vec<Listed>,
}

/// Runs the verb.
pub fn list(app: &App) -> Done {
    let tools = tools(app)?;
    let mut list = ToolList {
        version: 1,
        tools: Vec::new(),
    };
    for provider in tools.providers() {
        list.tools.push(listed(app, &tools, provider));
    }
    if app.printer.json {
        app.printer.json(&list).map_err(|error| output_failed(&error))?;
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
            place(tool),
            tool.model.as_deref().map_or_else(|| "-".to_owned(), escape::line),
            escape::line(&tool.key),
        ]);
    }
    app.printer
        .data(&columns(&rows))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// The address or program; of a broken profile, what says all about it.
fn place(tool: &Listed) -> String {
    if tool.problem.is_some() {
        return broken(&tool.provider);
    }
    let place = tool.base_url.as_deref().or(tool.program.as_deref());
    place.map_or_else(|| "-".to_owned(), escape::line)
}

/// A profile that cannot be used, and the command that says why.
pub fn broken(provider: &str) -> String {
    format!("broken: agentos profile validate {}", escape::line(provider))
}

fn listed(app: &App, tools: &Tools, provider: &str) -> Listed {
    let mut listed = Listed {
        provider: provider.to_owned(),
        execution_mode: None,
        base_url: None,
        program: None,
        model: None,
        key: "none".to_owned(),
        problem: None,
    };
    if matches!(provider, COMMAND | REPLAY | TOOL) {
        listed.execution_mode = Some(ExecutionMode::Local);
        return listed;
    }
    match tools.resolved(app, provider, &OverrideFlags::default()) {
        Ok(resolved) => {
            listed.execution_mode = Some(resolved.profile.execution_mode());
            listed.base_url = resolved.profile.base_url.as_ref().map(ToString::to_string);
            listed.program = resolved
                .profile
                .program
                .as_ref()
                .map(|program| program.command.clone());
            listed.model.clone_from(&resolved.profile.model);
            listed.key = keys::status(app, &resolved).words();
        }
        Err(error) => listed.problem = Some(error.message),
    }
    listed
}
