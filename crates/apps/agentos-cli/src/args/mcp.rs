//! Arguments of `mcp`.
//!
//! Owns: their names, flags and help. Never: serves a tool.

use agentos_mcp::ClientKind;
use clap::{Args, Subcommand, ValueEnum};

/// Examples of `mcp`.
pub const EXAMPLES: &[&str] = &["agentos mcp install --client claude-code", "agentos mcp"];
/// Examples of `mcp install`.
pub const INSTALL_EXAMPLES: &[&str] = &[
    "agentos mcp install --client claude-code > .mcp.json",
    "agentos mcp install --client codex --write",
];

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Without a verb, serves tools on standard input and output until the input ends: an agent that may not write the \
                  repository reads its last commit and proposes changes. Policy judges it as the provider `mcp`. A proposal never waits in \
                  the call: it becomes a request, which `agentos approve` lands."
)]
pub struct McpArgs {
    #[command(subcommand)]
    pub verb: Option<McpVerb>,
    /// Read and change this branch instead of the one that is checked out
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
}

/// Verbs of `mcp`.
#[derive(Debug, Subcommand)]
pub enum McpVerb {
    /// Print the settings with which an agent starts these tools
    Install(McpInstallArgs),
}

/// Arguments of `mcp install`.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the text for the agent's settings file to standard output, and to standard error the file's name and how to take the \
                  agent's own write tools away. `--write` adds the text to that file: what is there stays as it is, a copy of the file is \
                  kept next to it, and the new lines are shown."
)]
pub struct McpInstallArgs {
    /// Agent that starts the tools
    #[arg(long, value_enum)]
    pub client: ClientArg,
    /// Add the settings to the agent's file, and keep what is there
    #[arg(long)]
    pub write: bool,
}

/// Agent as it is named on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ClientArg {
    ClaudeCode,
    Codex,
    Zed,
    Goose,
    #[value(name = "opencode")]
    OpenCode,
    #[value(name = "vscode")]
    VsCode,
}

impl From<ClientArg> for ClientKind {
    fn from(client: ClientArg) -> Self {
        match client {
            ClientArg::ClaudeCode => Self::ClaudeCode,
            ClientArg::Codex => Self::Codex,
            ClientArg::Zed => Self::Zed,
            ClientArg::Goose => Self::Goose,
            ClientArg::OpenCode => Self::OpenCode,
            ClientArg::VsCode => Self::VsCode,
        }
    }
}
