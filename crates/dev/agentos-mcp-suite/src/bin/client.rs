//! The client of the suite: does what the scenario in its environment expects, at the address in its argument.
//!
//! Owns: the environment variables of the suite. Never: waits longer than the suite does.

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use agentos_mcp_suite::{SuiteOrder, run_scenario};

/// Longest scenario. The suite kills its client after 30 s, and some of its servers never answer.
const LONGEST: Duration = Duration::from_secs(25);

#[tokio::main]
async fn main() -> ExitCode {
    let read = |name: &str| env::var(name).unwrap_or_default();
    let order = SuiteOrder {
        scenario: read("MCP_CONFORMANCE_SCENARIO"),
        url: env::args().nth(1).unwrap_or_default(),
        version: read("MCP_CONFORMANCE_PROTOCOL_VERSION"),
        context: serde_json::from_str(&read("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default(),
    };
    let done = tokio::time::timeout(LONGEST, run_scenario(&order)).await;
    let why = match done {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => format!("{error:?}"),
        Err(_) => "the server did not answer in time".to_owned(),
    };
    // The suite shows it with a failed scenario.
    let _ = writeln!(io::stderr(), "error: {why}");
    ExitCode::FAILURE
}
