//! `agentos mcp`: the tools of a repository for agents of other programs.
//!
//! Owns: the meaning of the flags. Never: speaks the protocol; `agentos-mcp` does.

use agentos_host::SessionOptions;
use agentos_mcp::{describe_client, merge_settings, serve_stdio};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::mcp::{McpArgs, McpInstallArgs, McpVerb};
use crate::exit::Exit;

/// Serves the tools, or prints the settings of an agent.
pub fn run_mcp(app: &App, args: &McpArgs) -> Done {
    match &args.verb {
        Some(McpVerb::Install(install)) if install.write => write_settings(app, install),
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
    app.host.runs().open_requests()?;
    serve_stdio(app.host.clone(), session).map_err(|error| usage_error(error.to_string()))?;
    Ok(Exit::Done)
}

fn print_settings(app: &App, args: &McpInstallArgs) -> Done {
    let settings = describe_client(args.client.into(), "agentos");
    app.printer
        .write_data(&settings.text)
        .map_err(|error| output_failed(&error))?;
    app.printer.show_note(&format!("add this to `{}`", settings.file));
    warn_of_tools(app, settings.advice);
    Ok(Exit::Done)
}

/// Adds the settings to the agent's file. Prints the new lines, as a difference.
fn write_settings(app: &App, args: &McpInstallArgs) -> Done {
    let client = args.client.into();
    let settings = describe_client(client, "agentos");
    let current = app.host.read_client_file(settings.file)?;
    let merged = merge_settings(client, "agentos", current.as_deref());
    let merged = merged.map_err(|fault| {
        usage_error(format!("`{}` is unchanged: {fault}", settings.file))
            .hint("leave out `--write`, and add the printed lines by hand")
    })?;
    let Some(merged) = merged else {
        app.printer.show_note(&format!(
            "`{}` has an entry `agentos` already, and is unchanged",
            settings.file
        ));
        return Ok(Exit::Done);
    };
    let copy = app
        .host
        .write_client_file(settings.file, current.as_deref(), &merged.text)?;
    let lines: String = merged.added.iter().map(|line| format!("+{line}\n")).collect();
    app.printer
        .write_data(&lines)
        .map_err(|error| output_failed(&error))?;
    app.printer.show_note(&format!("added to `{}`", settings.file));
    if let Some(copy) = copy {
        app.printer
            .show_note(&format!("the file as it was is in `{}`", copy.display()));
    }
    warn_of_tools(app, settings.advice);
    Ok(Exit::Done)
}

fn warn_of_tools(app: &App, advice: &str) {
    app.printer
        .show_note(&format!("the agent can still write with its own tools: {advice}"));
}
