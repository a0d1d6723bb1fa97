//! Arguments of `budget`.
//!
//! Owns: their names, flags and help. Never: reads a budget.

use agentos_host::{BudgetPeriod, ZoneOffset};
use clap::{Args, Subcommand, ValueEnum};

/// Examples of `budget`.
pub const EXAMPLES: &[&str] = &["agentos budget set 5usd/day", "agentos budget list"];
/// Examples of `budget set`.
pub const SET_EXAMPLES: &[&str] = &[
    "agentos budget set 5usd/day --zone +09:00",
    "agentos budget set 20/month --provider openai",
    "agentos budget set 0.50/hour --session review",
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
    /// Limit what calls of models may cost in a period
    Set(BudgetSetArgs),
    /// List the budgets with what is spent of them
    List,
    /// Remove budgets
    Remove(BudgetRemoveArgs),
}

/// Arguments of `budget set`.
#[derive(Debug, Args)]
#[command(
    after_help = "Before a call is sent, the most that it can cost is reserved: the tokens of the request and of the longest answer. A \
                  call that could overrun a budget is refused (exit code 9), and so is one without a known price, unless the model is \
                  local. A budget in place of one for the same calls and period replaces it."
)]
pub struct BudgetSetArgs {
    /// Amount in US dollars and period: hour, day, week or month
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
    /// Only calls of this session
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Only calls of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Only calls of this model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

/// Period of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PeriodArg {
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
            PeriodArg::Hour => Self::Hour,
            PeriodArg::Day => Self::Day,
            PeriodArg::Week => Self::Week,
            PeriodArg::Month => Self::Month,
        }
    }
}
