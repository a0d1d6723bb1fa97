//! Arguments of the service.
//!
//! Owns: their names and defaults. Never: reads a secret from an argument.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Usual address: one that stays, so that bookmarks and settings of clients stay valid.
const USUAL_ADDRESS: &str = "127.0.0.1:7417";

/// Arguments of the program.
#[derive(Debug, Clone, clap::Parser)]
#[command(
    name = "agentos-server",
    version,
    about = "Serve the page where a person sees and approves changes, and its API",
    after_help = "The service is for this user on this machine. `agentos open` opens its page;\n\
                  programs send a token of `agentos serve token add`. A second start joins the running service."
)]
pub struct ServerArgs {
    /// Address to listen on; only addresses of this machine itself. Port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = USUAL_ADDRESS)]
    pub listen: SocketAddr,
    /// Repository to serve
    #[arg(long, short = 'C', value_name = "DIR")]
    pub repo: Option<PathBuf>,
    /// Policy file that restricts what may land further
    #[arg(long = "policy", value_name = "FILE")]
    pub policies: Vec<PathBuf>,
}
