//! Arguments of `cost` and `store`.
//!
//! Owns: their names, flags and help. Never: reads the ledger.

use agentos_host::CostGroup;
use clap::{Args, Subcommand, ValueEnum};

/// Examples of `cost`.
pub const COST_EXAMPLES: &[&str] = &[
    "agentos cost",
    "agentos cost --by day --since 7days",
    "agentos cost --by session --json",
];
/// Examples of `store`.
pub const STORE_EXAMPLES: &[&str] = &["agentos store rebuild", "agentos store rebuild --json"];

/// Arguments of `cost`.
#[derive(Debug, Args)]
#[command(
    after_help = "Counts every call of a model by `run`, `retry`, `tool run` and `chat`, of all repositories. A \
                  cost without a known price is unknown, and is counted apart. Days are in UTC. `agentos evidence verify --ledger` computes every cost again."
)]
pub struct CostArgs {
    /// Property by which calls are added
    #[arg(long, value_enum, value_name = "PROPERTY", default_value_t = CostBy::Model)]
    pub by: CostBy,
    /// Count only calls since this date or duration, as in `2026-11-21` or `7days`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Count only calls before this date or duration
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Count only calls of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
}

/// Property by which calls are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostBy {
    /// Provider, and model that answered.
    Model,
    /// Provider.
    Provider,
    /// Session of a conversation.
    Session,
    /// Day, UTC.
    Day,
}

impl From<CostBy> for CostGroup {
    fn from(by: CostBy) -> Self {
        match by {
            CostBy::Model => Self::Model,
            CostBy::Provider => Self::Provider,
            CostBy::Session => Self::Session,
            CostBy::Day => Self::Day,
        }
    }
}

/// Verbs of `store`.
#[derive(Debug, Subcommand)]
pub enum StoreVerb {
    /// Make the ledger's database again from its tape, which is the truth
    Rebuild,
}
