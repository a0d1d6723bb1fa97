//! Limits on what models may cost or be asked: the amount, the period, and the calls that they are about.
//!
//! Owns: their text, and which calls are counted together. Never: reads a clock; the time comes in as a value.

use agentos_ledger::find_guild;
use agentos_tool::{ExactCost, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::period::{BudgetPeriod, ZoneOffset};

/// Largest amount of a budget, in US dollars. Sums of it fit into SQLite's integers.
const LARGEST_AMOUNT: u64 = 1_000_000;
/// Largest number of calls or tokens of a budget. Sums of it fit into SQLite's integers.
const LARGEST_COUNT: u64 = 1_000_000_000_000;

/// Error for a text that is no amount with a period, or no offset of a time zone, or for calls that no budget can be about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongLimit {
    /// The text is no amount with a period.
    #[error(
        "`{0}` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month"
    )]
    Amount(String),
    /// The text is no offset.
    #[error("`{0}` is not an offset from UTC, as in `+09:00`")]
    Zone(String),
    /// Several of `amount_usd`, `calls` and `tokens` are stated, or none.
    #[error("a budget has exactly one of `amount_usd`, `calls` and `tokens`")]
    Unit,
    /// The scope names a session and a guild, or one of them and `each`.
    #[error("a budget is about one session, one guild, or each of several, and not about two of these")]
    Scope,
    /// The text is no name of a guild.
    #[error("`{0}` is not the name of a guild: use 1 to 64 letters, digits, `-` and `_`")]
    Guild(String),
}

/// Amount of a budget, or a sum of what is used of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetAmount {
    /// US dollars, exact.
    Cost(ExactCost),
    /// Number of calls. A call that certainly gave nothing is none.
    Calls(u64),
    /// Number of tokens, of requests and answers together.
    Tokens(u64),
}

/// Unit in which a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetUnit {
    /// US dollars, in parts of 10^-12.
    Cost,
    /// Calls.
    Calls,
    /// Tokens.
    Tokens,
}

impl BudgetAmount {
    /// Returns what is counted.
    #[must_use]
    pub fn unit(self) -> BudgetUnit {
        match self {
            Self::Cost(_) => BudgetUnit::Cost,
            Self::Calls(_) => BudgetUnit::Calls,
            Self::Tokens(_) => BudgetUnit::Tokens,
        }
    }

    /// Returns the number in its unit; of a cost, that of its parts.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Cost(cost) => cost.pico_dollars(),
            Self::Calls(count) | Self::Tokens(count) => count,
        }
    }
}

impl BudgetUnit {
    /// Returns the amount of a number in this unit.
    #[must_use]
    pub fn amount(self, number: u64) -> BudgetAmount {
        match self {
            Self::Cost => BudgetAmount::Cost(ExactCost::from_pico_dollars(number)),
            Self::Calls => BudgetAmount::Calls(number),
            Self::Tokens => BudgetAmount::Tokens(number),
        }
    }
}

impl std::fmt::Display for BudgetAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cost(cost) => write!(f, "${cost}"),
            Self::Calls(1) => f.write_str("1 call"),
            Self::Calls(count) => write!(f, "{count} calls"),
            Self::Tokens(1) => f.write_str("1 token"),
            Self::Tokens(count) => write!(f, "{count} tokens"),
        }
    }
}

/// Calls that a budget is about. A member that is `None` selects every call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetScope {
    /// The session, as in `conversation:default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, as it is requested or as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The guild, whose sessions are named as in `channel:GUILD.CHANNEL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guild: Option<String>,
}

impl BudgetScope {
    /// Returns whether the scope contains a call.
    #[must_use]
    pub fn contains(&self, session: Option<&str>, provider: &str, model: Option<&str>) -> bool {
        let fits = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        fits(&self.session, session)
            && fits(&self.provider, Some(provider))
            && fits(&self.model, model)
            && fits(&self.guild, session.and_then(find_guild))
    }
}

/// Groups of calls that each have the whole amount of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetGroup {
    /// Each guild. All calls outside of guilds are one more group.
    Guild,
    /// Each session. All calls without a session are one more group.
    Session,
}

impl BudgetGroup {
    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Guild => "guild",
            Self::Session => "session",
        }
    }

    /// Returns the group of a session. `None` is the group of the calls that belong to none.
    #[must_use]
    pub fn find(self, session: Option<&str>) -> Option<&str> {
        match self {
            Self::Guild => session.and_then(find_guild),
            Self::Session => session,
        }
    }
}

/// Limit on what the calls of a scope may cost, or on their number, in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "LimitFile", into = "LimitFile")]
pub struct BudgetLimit {
    /// Amount.
    pub amount: BudgetAmount,
    /// Period.
    pub period: BudgetPeriod,
    /// Offset of the time zone in which a period begins.
    pub zone: ZoneOffset,
    /// Calls that it is about.
    pub scope: BudgetScope,
    /// Groups of these calls that each have the whole amount. `None` if all share it.
    pub each: Option<BudgetGroup>,
}

/// A limit as it is written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BudgetLimit")]
struct LimitFile {
    /// Amount in US dollars, exact. `None` if it is a number of calls or tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount_usd: Option<ExactCost>,
    /// Number of calls. `None` if it is another amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    /// Number of tokens, of requests and answers together. `None` if it is another amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// Period.
    period: BudgetPeriod,
    /// Offset of the time zone in which a period begins.
    #[serde(default)]
    zone: ZoneOffset,
    /// Calls that it is about.
    #[serde(default)]
    scope: BudgetScope,
    /// Groups of these calls that each have the whole amount. `None` if all share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    each: Option<BudgetGroup>,
}

impl TryFrom<LimitFile> for BudgetLimit {
    type Error = WrongLimit;

    fn try_from(file: LimitFile) -> Result<Self, WrongLimit> {
        let amount = match (file.amount_usd, file.calls, file.tokens) {
            (Some(cost), None, None) => BudgetAmount::Cost(cost),
            (None, Some(count), None) => BudgetAmount::Calls(count),
            (None, None, Some(count)) => BudgetAmount::Tokens(count),
            _ => return Err(WrongLimit::Unit),
        };
        let limit = Self {
            amount,
            period: file.period,
            zone: file.zone,
            scope: file.scope,
            each: file.each,
        };
        limit.check_scope()?;
        Ok(limit)
    }
}

impl From<BudgetLimit> for LimitFile {
    fn from(limit: BudgetLimit) -> Self {
        let (amount_usd, calls, tokens) = match limit.amount {
            BudgetAmount::Cost(cost) => (Some(cost), None, None),
            BudgetAmount::Calls(count) => (None, Some(count), None),
            BudgetAmount::Tokens(count) => (None, None, Some(count)),
        };
        Self {
            amount_usd,
            calls,
            tokens,
            period: limit.period,
            zone: limit.zone,
            scope: limit.scope,
            each: limit.each,
        }
    }
}

impl BudgetLimit {
    /// Checks the calls that it is about.
    ///
    /// # Errors
    /// If they are named twice, or the guild's name has characters that no session's name can have there.
    pub fn check_scope(&self) -> Result<(), WrongLimit> {
        let named = [
            self.scope.session.is_some(),
            self.scope.guild.is_some(),
            self.each.is_some(),
        ];
        if named.into_iter().filter(|is_named| *is_named).count() > 1 {
            return Err(WrongLimit::Scope);
        }
        match &self.scope.guild {
            // As a session with it is read.
            Some(guild) if find_guild(&format!("channel:{guild}.x")) != Some(guild) => {
                Err(WrongLimit::Guild(shorten(guild)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns whether another limit is about the same calls, period and unit, so that only one of both can be set.
    #[must_use]
    pub fn replaces(&self, other: &Self) -> bool {
        self.scope == other.scope
            && self.each == other.each
            && self.period == other.period
            && self.amount.unit() == other.amount.unit()
    }

    /// Returns the time at which the period of a time begins.
    #[must_use]
    pub fn begin_at(&self, now: &Timestamp) -> Timestamp {
        self.period.begin_at(now, self.zone)
    }

    /// Returns the question what is used of the budget by the group of a session.
    #[must_use]
    pub fn query_session(&self, session: Option<&str>, now: &Timestamp) -> SpendingQuery {
        self.query_group(self.each.and_then(|each| each.find(session)), now)
    }

    /// Returns the question what is used of the budget by one of its groups. Of a budget that all calls share, `group` is `None`.
    #[must_use]
    pub fn query_group(&self, group: Option<&str>, now: &Timestamp) -> SpendingQuery {
        let owned = |name: &str| name.to_owned();
        let sessions = match (self.each, group, &self.scope) {
            (Some(BudgetGroup::Guild), Some(guild), _) => SessionFilter::Guild(owned(guild)),
            (Some(BudgetGroup::Guild), None, _) => SessionFilter::WithoutGuild,
            (Some(BudgetGroup::Session), Some(session), _) => SessionFilter::One(owned(session)),
            (Some(BudgetGroup::Session), None, _) => SessionFilter::WithoutSession,
            (None, _, scope) => match (&scope.session, &scope.guild) {
                (Some(session), _) => SessionFilter::One(session.clone()),
                (None, Some(guild)) => SessionFilter::Guild(guild.clone()),
                (None, None) => SessionFilter::All,
            },
        };
        SpendingQuery {
            unit: self.amount.unit(),
            since: self.begin_at(now),
            provider: self.scope.provider.clone(),
            model: self.scope.model.clone(),
            sessions,
        }
    }
}

/// Question what calls used since a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendingQuery {
    /// Unit in which is counted.
    pub unit: BudgetUnit,
    /// Beginning of the period.
    pub since: Timestamp,
    /// Provider. `None` selects all.
    pub provider: Option<String>,
    /// Model. `None` selects all.
    pub model: Option<String>,
    /// Sessions.
    pub sessions: SessionFilter,
}

/// Sessions whose calls are counted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFilter {
    /// All calls.
    All,
    /// Calls of this session.
    One(String),
    /// Calls of the sessions of this guild.
    Guild(String),
    /// Calls that belong to no guild.
    WithoutGuild,
    /// Calls that belong to no session.
    WithoutSession,
}

impl SessionFilter {
    /// Returns whether the filter selects the calls of a session.
    #[must_use]
    pub fn selects(&self, session: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::One(wanted) => session == Some(wanted),
            Self::Guild(wanted) => session.and_then(find_guild) == Some(wanted),
            Self::WithoutGuild => session.and_then(find_guild).is_none(),
            Self::WithoutSession => session.is_none(),
        }
    }
}

/// Parses an amount with its period, as in `5usd/day`, `$0.50/hour`, `20/month`, `50calls/day` or `100000tokens/hour`.
///
/// # Errors
/// If the text has another form, or the amount is 0 or too large to be added up.
pub fn parse_amount(text: &str) -> Result<(BudgetAmount, BudgetPeriod), WrongLimit> {
    let wrong = || WrongLimit::Amount(shorten(text));
    let (amount, period) = text.split_once('/').ok_or_else(wrong)?;
    let period = BudgetPeriod::from_name(period).ok_or_else(wrong)?;
    let lower = amount.to_ascii_lowercase();
    let count = |number: &str| {
        let number = number.trim_end();
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let count: Option<u64> = number.parse().ok().filter(|_| is_plain);
        count
            .filter(|count| (1..=LARGEST_COUNT).contains(count))
            .ok_or_else(wrong)
    };
    let strip = |names: [&str; 2]| names.iter().find_map(|name| lower.strip_suffix(name));
    if let Some(number) = strip(["calls", "call"]) {
        return Ok((BudgetAmount::Calls(count(number)?), period));
    }
    if let Some(number) = strip(["tokens", "token"]) {
        return Ok((BudgetAmount::Tokens(count(number)?), period));
    }
    let amount = lower.strip_prefix('$').unwrap_or(&lower);
    let amount = amount.strip_suffix("usd").unwrap_or(amount).trim_end();
    let amount: ExactCost = amount.parse().map_err(|_| wrong())?;
    let largest = ExactCost::from_pico_dollars(LARGEST_AMOUNT.saturating_mul(1_000_000_000_000));
    match amount > ExactCost::default() && amount <= largest {
        true => Ok((BudgetAmount::Cost(amount), period)),
        false => Err(wrong()),
    }
}

/// Shortens a text for an error.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}
