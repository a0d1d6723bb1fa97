//! Arguments of `serve` and `open`.
//!
//! Owns: their names, flags and help. Never: reads a secret from an argument.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::service_token::ServeVerb;

/// Examples of `serve`.
pub const SERVE_EXAMPLES: &[&str] = &[
    "agentos serve",
    "agentos serve --listen 127.0.0.1:0",
    "agentos serve token add aider",
];
/// Examples of `open`.
pub const OPEN_EXAMPLES: &[&str] = &["agentos open", "agentos open --print", "agentos open --all"];

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "The page shows what waits for consent, and everything that happened. Programs use the same over HTTP: `/v1` for any \
                  client of OpenAI or Anthropic, `/mcp` for agents, `/api` for reading, each with a token of its own. One service serves \
                  all of your repositories: a second start joins the running one. It listens on no address that another machine can \
                  reach, except for your other devices at an address such as `tls://192.0.2.7:7418` in the setting `device_addresses`: it \
                  then shows the SHA-256 of the authority of its certificates, to compare on each device. A tunnel of SSH or WireGuard \
                  needs none of this. Starts the program `agentos-server`."
)]
pub struct ServeArgs {
    /// Address to listen on; only addresses of this machine itself. Port 0 takes a free one [default: 127.0.0.1:7417]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Policy file that restricts what may land further
    #[arg(long = "policy", value_name = "FILE")]
    pub policies: Vec<PathBuf>,
    #[command(subcommand)]
    pub verb: Option<ServeVerb>,
}

/// Arguments of `open`.
#[derive(Debug, Args)]
#[command(
    after_help = "The running service serves the repository around the current folder from then on. The link signs one browser in, once, within ten minutes. Whoever has it before you use it is signed in as you."
)]
pub struct OpenArgs {
    /// Print the link instead of opening it
    #[arg(long)]
    pub print: bool,
    /// Open the list of all repositories of the service, which leads to the page of each
    #[arg(long)]
    pub all: bool,
}
