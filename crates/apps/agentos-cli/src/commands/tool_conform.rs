//! `agentos tool conform`: checks that a program speaks the tool protocol.
//!
//! Owns: the table and the exit status. Never: needs a repository.

use agentos_host::{ConformCheck, ProgramOptions, ToolConform};

use crate::app::{App, Done, output_failed};
use crate::args::tool::ConformArgs;
use crate::escape;
use crate::exit::Exit;

/// Runs the verb.
pub fn check_conformance(app: &App, args: &ConformArgs) -> Done {
    let program = ProgramOptions {
        command: args.command.clone(),
        readable: args.readable.clone(),
        ..ProgramOptions::default()
    };
    let report = app.host.runs().check_conformance(&program, args.timeout)?;
    let shown = if app.printer.json {
        app.printer.write_json(&report)
    } else {
        app.printer.write_report(&format_checks(&report))
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(if report.conforms {
        Exit::Done
    } else {
        Exit::ToolUnavailable
    })
}

fn format_checks(report: &ToolConform) -> String {
    let line = |check: &ConformCheck| {
        let word = if check.passed { "pass" } else { "FAIL" };
        format!("{word}  {}\n      {}\n", check.name, escape::line(&check.seen))
    };
    let mut text: String = report.checks.iter().map(line).collect();
    let end = if report.conforms {
        "conforms to"
    } else {
        "does not conform to"
    };
    text.push_str(&format!(
        "{end} version {} of the tool protocol\n",
        report.protocol
    ));
    text
}
