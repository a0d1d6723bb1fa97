//! Arguments of `serve token`.
//!
//! Owns: their names, flags and help. Never: reads a secret from an argument.

use std::path::PathBuf;

use agentos_host::{TokenScope, USUAL_TOKEN_DAYS};
use clap::{Args, Subcommand, ValueEnum};

/// Examples of `serve token` and its verbs.
pub const TOKEN_EXAMPLES: &[(&str, &[&str])] = &[
    (
        "serve token",
        &["agentos serve token add aider", "agentos serve token list"],
    ),
    (
        "serve token add",
        &[
            "export OPENAI_API_KEY=\"$(agentos serve token add aider)\"",
            "agentos serve token add claude --for agent --days 30",
            "agentos serve token add dashboard --for read --repository ../shop --repository ../blog",
        ],
    ),
    (
        "serve token list",
        &["agentos serve token list", "agentos serve token list --json"],
    ),
    (
        "serve token revoke",
        &[
            "agentos serve token revoke aider",
            "agentos serve token revoke claude --json",
        ],
    ),
];

/// Verbs of `serve`.
#[derive(Debug, Subcommand)]
pub enum ServeVerb {
    /// Make, list and revoke the tokens with which programs reach the service
    #[command(subcommand)]
    Token(TokenVerb),
}

/// Verbs of `serve token`.
#[derive(Debug, Subcommand)]
pub enum TokenVerb {
    /// Make a token and print its secret, this one time
    Add(TokenAddArgs),
    /// List the tokens with what they reach and when they end
    List,
    /// Revoke a token, from the next request on
    Revoke(TokenRevokeArgs),
}

/// Arguments of `serve token add`.
#[derive(Debug, Args)]
#[command(
    after_help = "A token reaches one thing: `models` asks your models at /v1, `agent` reads and proposes at /mcp, `read` reads /api. \
                  No token approves, denies or undoes. An `agent` or `read` token belongs to the repository around the current folder if \
                  none is named; a `models` token uses your own providers, and those of a repository only if one is named."
)]
pub struct TokenAddArgs {
    /// Name, by which the token is listed and revoked
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Purpose of the token
    #[arg(long = "for", value_enum, value_name = "SCOPE", default_value = "models")]
    pub scope: ScopeArg,
    /// Folder in a repository that the token reaches; can be given several times
    #[arg(long = "repository", value_name = "DIR")]
    pub repositories: Vec<PathBuf>,
    /// Days until the token ends
    #[arg(long, value_name = "DAYS", default_value_t = USUAL_TOKEN_DAYS)]
    pub days: u32,
}

/// Arguments of `serve token revoke`.
#[derive(Debug, Args)]
pub struct TokenRevokeArgs {
    /// Name of the token
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Scope of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// Ask models, as the key of any client of OpenAI or Anthropic
    Models,
    /// Read a repository and propose changes of it, over MCP
    Agent,
    /// Read runs, requests, costs and events over the API
    Read,
}

impl From<ScopeArg> for TokenScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Models => Self::Models,
            ScopeArg::Agent => Self::Agent,
            ScopeArg::Read => Self::Read,
        }
    }
}
