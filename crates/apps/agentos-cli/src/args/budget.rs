//! Arguments of `budget`.
//!
//! Owns: their names, flags and help. Never: reads a budget.

use agentos_host::{BudgetGroup, BudgetPeriod, ZoneOffset};
use clap::{Args, Subcommand, ValueEnum};

/// Examples of `budget`.
pub const EXAMPLES: &[&str] = &["agentos budget set 5usd/day", "agentos budget list"];
/// Examples of `budget set`.
pub const SET_EXAMPLES: &[&str] = &[
    "agentos budget set 5usd/day --zone +09:00",
    "agentos budget set 20/month --provider openai",
    "agentos budget set 20calls/minute --provider openai",
    "agentos budget set 50calls/day --each guild",
];
/// Examples of `budget list`.
pub const LIST_EXAMPLES: &[&str] = &["agentos budget list", "agentos budget list --json"];
/// Examples of `budget remove`.
pub const REMOVE_EXAMPLES: &[&str] = &[
    "agentos budget remove day",
    "agentos budget remove --provider openai",
];

/// Verbs of `budget`.
#[derive(Debug, Subcommand)]
pub enum BudgetVerb {
    /// Limit what calls of models may cost in a period, or their number
    Set(BudgetSetArgs),
    /// List the budgets with what is used of them
    List,
    /// Remove budgets
    Remove(BudgetRemoveArgs),
}

/// Arguments of `budget set`.
#[derive(Debug, Args)]
#[command(
    after_help = "Right before a request is sent, the most that it can use is reserved, and each retry reserves for itself. The input is \
                  the bytes of the body with tools, schemas and history, because a token has at least one byte; the context window that \
                  you or the catalogue state, if it is smaller. An image counts as its vendor documents, else as its bytes. The output \
                  is the limit that is sent. Counts of a server beyond this are capped, with a warning. A request that could overrun a \
                  budget is refused (exit code 9). A budget in US dollars also refuses a request without a known price, unless the model \
                  is local. A request that did not reach its server counts nothing. One that the server refused (a status of 400 to 499) \
                  counts as one call and costs nothing. A status of 500 or more, a lost connection and a killed process count as the \
                  most that was possible. A budget in place of one in the same unit for the same calls and period replaces it. A guild is a group \
                  of sessions that are named as in `channel:GUILD.CHANNEL`."
)]
pub struct BudgetSetArgs {
    /// US dollars, `calls` or `tokens`, and period: minute, hour, day, week or month
    #[arg(value_name = "AMOUNT/PERIOD")]
    pub amount: String,
    /// Offset of the time zone in which a period begins, as in `+09:00`
    #[arg(
        long,
        value_name = "OFFSET",
        default_value = "UTC",
        allow_hyphen_values = true
    )]
    pub zone: ZoneOffset,
    #[command(flatten)]
    pub calls: BudgetCalls,
}

/// Arguments of `budget remove`.
#[derive(Debug, Args)]
pub struct BudgetRemoveArgs {
    /// Period of the budget; all periods if left out
    #[arg(value_enum)]
    pub period: Option<PeriodArg>,
    #[command(flatten)]
    pub calls: BudgetCalls,
}

/// Calls that a budget is about.
#[derive(Debug, Args)]
pub struct BudgetCalls {
    /// Only calls of this session, or of a token of the service: `token:NAME`
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Only calls of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Only calls of this model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Only calls of the sessions of this guild
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub guild: Option<String>,
    /// Give the whole amount to each of these groups
    #[arg(long, value_enum, value_name = "GROUP", conflicts_with_all = ["session", "guild"])]
    pub each: Option<GroupArg>,
}

/// Groups of calls that each have the whole amount of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GroupArg {
    /// Each guild; calls without one are one more group.
    Guild,
    /// Each session; calls without one are one more group.
    Session,
}

impl From<GroupArg> for BudgetGroup {
    fn from(group: GroupArg) -> Self {
        match group {
            GroupArg::Guild => Self::Guild,
            GroupArg::Session => Self::Session,
        }
    }
}

/// Period of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PeriodArg {
    /// A minute of the clock.
    Minute,
    /// An hour of the clock.
    Hour,
    /// A day.
    Day,
    /// A week, from Monday on.
    Week,
    /// A month of the calendar.
    Month,
}

impl From<PeriodArg> for BudgetPeriod {
    fn from(period: PeriodArg) -> Self {
        match period {
            PeriodArg::Minute => Self::Minute,
            PeriodArg::Hour => Self::Hour,
            PeriodArg::Day => Self::Day,
            PeriodArg::Week => Self::Week,
            PeriodArg::Month => Self::Month,
        }
    }
}
