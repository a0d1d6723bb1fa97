//! The local service of AgentOS: one address for programs and people, and a page where a person sees and approves.
//!
//! Owns: the order of the steps from the arguments to the end of the service. Never: decides anything about a change; `agentos-host`
//! does. Never listens on an address that another machine can reach, except for the user's other devices at the addresses `tls://…` of the user's settings.
//!
//! | step | module |
//! |---|---|
//! | a connection, with limits on time, size and number | `serve`, and `own_tls` for other devices |
//! | the facts of a request | `facts` |
//! | whether it may be answered, decided from the facts alone | `judge` |
//! | which repository it is about, and whether its token reaches it | `door` |
//! | who is signed in | `access` |
//! | the answer: a page, JSON, or a message for an agent | `page`, `rest`, `events`, `mcp_route` |
//! | counts, and the description of the API | `metrics`, `openapi` |
//! | the answer of a model, for clients of OpenAI and Anthropic | `v1` |

mod access;
mod args;
mod caller;
mod connections;
mod descriptors;
mod desk;
mod door;
mod event_hub;
mod events;
mod events_socket;
mod facts;
mod fault;
mod judge;
mod keyed_places;
mod marked_text;
mod mcp_route;
mod metrics;
mod openapi;
mod own_tls;
mod page;
mod rest;
mod rest_talk;
mod routes;
mod serve;
mod served;
mod talks;
mod timed_body;
mod turns;
mod v1;
mod v1_fault;
mod v1_side;

use std::io::{self, Write as _};
use std::process::ExitCode;

use agentos_host::{Environment, Host};
use clap::Parser as _;

use crate::args::ServerArgs;

fn main() -> ExitCode {
    // The sandbox helper must have exactly one thread and read no settings, so this check comes before everything else.
    if let Some(code) = agentos_host::reexec_hook() {
        return code;
    }
    let args = ServerArgs::parse();
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(error) => return report(&format!("cannot read the current folder: {error}"), 2),
    };
    start_log(&environment);
    descriptors::raise_limit();
    let host = Host::new(environment).with_repository(args.repo.clone());
    match serve::run_service(&host, &args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error.to_string(), error.exit_code()),
    }
}

/// Writes an error for a person and returns the exit status.
fn report(message: &str, status: u8) -> ExitCode {
    // A closed standard error leaves nobody to report to.
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::from(status)
}

/// Starts logging to standard error, if `AGENTOS_LOG` contains a filter in the syntax of `tracing`.
fn start_log(environment: &Environment) {
    let Some(filter) = environment.get("AGENTOS_LOG") else {
        return;
    };
    // A mistyped filter must not stop the service that it was meant to observe.
    let filter = tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_default();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .init();
}
