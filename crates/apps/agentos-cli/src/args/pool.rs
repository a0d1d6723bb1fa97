//! Arguments of `pool`.
//!
//! Owns: their names, flags and help. Never: chooses a model.

use std::path::PathBuf;

use agentos_host::ZoneOffset;
use clap::{Args, Subcommand};

/// Examples of `pool` and its verbs.
pub const POOL_EXAMPLES: &[(&str, &[&str])] = &[
    (
        "pool",
        &[
            "agentos pool list",
            "agentos pool select --require supports_vision=true",
        ],
    ),
    ("pool list", &["agentos pool list", "agentos pool list --json"]),
    (
        "pool select",
        &[
            "agentos pool select -p mine --message \"what is in this image?\"",
            "agentos pool select -p mine --require min_context_window=50000 --require specialized_for=sql",
            "agentos pool select -p mine --tools --json > choice.json",
        ],
    ),
    (
        "pool detect",
        &[
            "agentos pool detect -p mine",
            "agentos pool detect -p mine --json",
        ],
    ),
    (
        "pool stats",
        &[
            "agentos pool stats -p mine",
            "agentos pool stats -p mine --since 7days",
        ],
    ),
    (
        "pool add",
        &[
            "agentos pool add mine openai/gpt-4o-mini --alias fast",
            "agentos pool add mine ollama/llama3.3 --default --allow-cloud",
        ],
    ),
    (
        "pool remove",
        &[
            "agentos pool remove mine fast",
            "agentos pool remove mine large --json",
        ],
    ),
    (
        "pool import",
        &[
            "agentos pool import models.json --name mine",
            "agentos pool import litellm.json --allow-cloud",
        ],
    ),
    (
        "pool replay",
        &[
            "agentos pool replay choice.json",
            "agentos pool replay 3f9a2c41 --json",
        ],
    ),
];

/// Verbs of `pool`.
#[derive(Debug, Subcommand)]
pub enum PoolVerb {
    /// List your pools and their members
    List,
    /// Show which member a turn would be given, and why each other one does not fit; sends nothing
    Select(PoolSelectArgs),
    /// Ask the servers of a pool's members, and show each ability with its source
    Detect(PoolNameArgs),
    /// Show calls, success, latency, tokens and cost of each member, from the ledger, and the switches between members
    Stats(PoolStatsArgs),
    /// Add a member to a pool, and make the pool if there is none
    Add(PoolAddArgs),
    /// Remove a member from a pool
    Remove(PoolRemoveArgs),
    /// Make a pool from the file of another program
    Import(PoolImportArgs),
    /// Make a recorded choice again and compare it
    Replay(PoolReplayArgs),
}

/// Pool of a call.
#[derive(Debug, Args)]
pub struct PoolNameArgs {
    /// Pool [default: the default provider if it is a pool, else the only pool]
    #[arg(short = 'p', long = "pool", value_name = "POOL")]
    pub pool: Option<String>,
}

/// Arguments of `pool select`.
#[derive(Debug, Args)]
#[command(
    after_help = "A need `supports_NAME=true` asks for an ability, `min_NAME=NUMBER` for at least so much, and any other NAME=VALUE for this \
                        value. Needs also follow from the turn: tools, images, a context of more than 50,000 characters and, in a pool with \
                        `infer_from_words`, the words `image` and `图片`; one that is stated wins. An unknown ability meets no need."
)]
pub struct PoolSelectArgs {
    /// Pool
    #[command(flatten)]
    pub name: PoolNameArgs,
    /// Need of the turn; can be repeated
    #[arg(long = "require", value_name = "NAME=VALUE")]
    pub needs: Vec<String>,
    /// Message of the turn
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub message: String,
    /// File that the message names, for the kind of its task; can be repeated
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// The turn has an image
    #[arg(long)]
    pub image: bool,
    /// The turn offers tools
    #[arg(long)]
    pub tools: bool,
    /// Characters of instructions, earlier messages and context
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub context_size: u64,
}

/// Arguments of `pool stats`.
#[derive(Debug, Args)]
pub struct PoolStatsArgs {
    /// Pool
    #[command(flatten)]
    pub name: PoolNameArgs,
    /// Count only calls since this date or duration, as in `2026-11-21` or `7days`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
}

/// Arguments of `pool add`.
#[derive(Debug, Args)]
pub struct PoolAddArgs {
    /// Name of the pool
    #[arg(value_name = "POOL")]
    pub pool: String,
    /// Model, as in `openai/gpt-4o`, or a provider alone, whose own model is meant
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// Name of the member in the pool [default: the model's name]
    #[arg(long, value_name = "ALIAS")]
    pub alias: Option<String>,
    /// Make it the member that is chosen if nothing else decides
    #[arg(long)]
    pub default: bool,
    /// Allow turns to go from a member on this machine to one in the cloud
    #[arg(long)]
    pub allow_cloud: bool,
}

/// Arguments of `pool remove`.
#[derive(Debug, Args)]
pub struct PoolRemoveArgs {
    /// Name of the pool
    #[arg(value_name = "POOL")]
    pub pool: String,
    /// Name of the member in the pool
    #[arg(value_name = "ALIAS")]
    pub alias: String,
}

/// Arguments of `pool import`.
#[derive(Debug, Args)]
#[command(
    after_help = "The file is JSON: a list of models with `alias`, `provider`, `model_name` and `capabilities`, an object `models` \
                        or `llm_models` with fallback chains, or LiteLLM's `model_list`. Keys are never taken. Limits of its models \
                        (`daily_limit`, `rpm`, `tpm`, `max_budget`) become budgets, which `agentos budget` lists and removes."
)]
pub struct PoolImportArgs {
    /// File of the other program
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Name of the new pool [default: the file's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Allow turns to go from a member on this machine to one in the cloud
    #[arg(long)]
    pub allow_cloud: bool,
    /// Replace a profile of this name
    #[arg(long)]
    pub replace: bool,
    /// Offset of the time zone in which daily limits begin, as in `+09:00`
    #[arg(
        long,
        value_name = "OFFSET",
        default_value = "UTC",
        allow_hyphen_values = true
    )]
    pub zone: ZoneOffset,
}

/// Arguments of `pool replay`.
#[derive(Debug, Args)]
pub struct PoolReplayArgs {
    /// File with the output of `pool select --json`, file of a ledger (all of its choices), or a run or turn of a pool by its id
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
}
