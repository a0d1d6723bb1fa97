//! Arguments of `serve` and `open`.
//!
//! Owns: their names, flags and help. Never: reads a secret from an argument.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// Examples of `serve`.
pub const SERVE_EXAMPLES: &[&str] = &["agentos serve", "agentos serve --listen 127.0.0.1:0"];
/// Examples of `open`.
pub const OPEN_EXAMPLES: &[&str] = &["agentos open", "agentos open --print"];

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page shows what waits for consent, and everything that happened. Programs use the same over HTTP: `/api` for the \
                  product, `/v1` for any client of OpenAI or Anthropic, with the token of the file that is printed as the key. The service \
                  is for you on this machine: it listens on no address that another machine can reach. Starts the program `agentos-server`."
)]
pub struct ServeArgs {
    /// Address to listen on; only addresses of this machine itself. Port 0 takes a free one [default: 127.0.0.1:7417]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Policy file that restricts what may land further
    #[arg(long = "policy", value_name = "FILE")]
    pub policies: Vec<PathBuf>,
    /// Replace the token of programs, so that the old one is not valid any more
    #[arg(long)]
    pub new_token: bool,
}

/// Arguments of `open`.
#[derive(Debug, Args)]
#[command(
    after_help = "The link signs one browser in, once, within ten minutes. Whoever has it before you use it is signed in as you."
)]
pub struct OpenArgs {
    /// Print the link instead of opening it
    #[arg(long)]
    pub print: bool,
}
