//! `agentos mcp`: the tools of a repository for agents of other programs.
//!
//! Owns: the meaning of the flags. Never: speaks the protocol; `agentos-mcp` does.

use agentos_host::SessionOptions;
use agentos_mcp::{describe_client, serve_stdio};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::mcp::{McpArgs, McpInstallArgs, McpVerb};
use crate::exit::Exit;

/// Serves the tools, or prints the settings of an agent.
pub fn run_mcp(app: &App, args: &McpArgs) -> Done {
    match &args.verb {
        Some(McpVerb::Install(install)) => print_settings(app, install),
        None => serve_tools(app, args),
    }
}

fn serve_tools(app: &App, args: &McpArgs) -> Done {
    let session = SessionOptions {
        branch: args.branch.clone(),
        ..SessionOptions::default()
    };
    // Now and not with the first call, so that an agent's user learns at the start that there is no repository here.
    app.host.open_requests()?;
    serve_stdio(app.host.clone(), session).map_err(|error| usage_error(error.to_string()))?;
    Ok(Exit::Done)
}

fn print_settings(app: &App, args: &McpInstallArgs) -> Done {
    let settings = describe_client(args.client.into(), "agentos");
    app.printer
        .write_data(&settings.text)
        .map_err(|error| output_failed(&error))?;
    app.printer.show_note(&format!("add this to `{}`", settings.file));
    app.printer.show_note(&format!(
        "the agent can still write with its own tools: {}",
        settings.advice
    ));
    Ok(Exit::Done)
}
