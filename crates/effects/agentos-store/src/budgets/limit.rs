//! Limits on what models may cost: the amount, the period, and the calls that they are about.
//!
//! Owns: their text, and where a period begins. Never: reads a clock; the time comes in as a value.

use std::fmt;
use std::str::FromStr;

use agentos_tool::{ExactCost, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
/// Largest offset of a time zone, in minutes: Kiribati has 14 hours.
const LARGEST_OFFSET: i64 = 14 * 60;
/// Largest amount of a budget, in US dollars. Sums of it fit into SQLite's integers.
const LARGEST_AMOUNT: u64 = 1_000_000;

/// Error for a text that is no amount with a period, or no offset of a time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongLimit {
    /// The text is no amount with a period.
    #[error(
        "`{0}` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month"
    )]
    Amount(String),
    /// The text is no offset.
    #[error("`{0}` is not an offset from UTC, as in `+09:00`")]
    Zone(String),
}

/// Period of a budget. The next one begins with nothing spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetPeriod {
    /// An hour of the clock.
    Hour,
    /// A day.
    Day,
    /// A week, from Monday on.
    Week,
    /// A month of the calendar.
    Month,
}

impl BudgetPeriod {
    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Returns the time at which the period that contains a time begins, in a time zone.
    #[must_use]
    pub fn begin_at(self, now: &Timestamp, zone: ZoneOffset) -> Timestamp {
        let local = now.unix_seconds() + zone.seconds();
        let day = local.div_euclid(DAY);
        let begin = match self {
            Self::Hour => local.div_euclid(HOUR) * HOUR,
            Self::Day => day * DAY,
            // 1970-01-01 was a Thursday, three days after a Monday.
            Self::Week => (day - (day + 3).rem_euclid(7)) * DAY,
            Self::Month => (day - day_of_month(day)) * DAY,
        };
        Timestamp::from_unix_seconds(u64::try_from(begin - zone.seconds()).unwrap_or(0))
    }
}

/// Returns the days of the month before a day that is counted from 1970-01-01.
// Days from a civil date, backwards: howardhinnant.github.io/date_algorithms.html#civil_from_days. Years begin in March there, so
// that the day that leap years have is the last one.
fn day_of_month(day: i64) -> i64 {
    let of_era = (day + 719_468).rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    of_year - (153 * month + 2) / 5
}

/// Offset of a time zone from UTC, as in `+09:00`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZoneOffset(i64);

impl ZoneOffset {
    fn seconds(self) -> i64 {
        self.0 * 60
    }
}

impl FromStr for ZoneOffset {
    type Err = WrongLimit;

    fn from_str(text: &str) -> Result<Self, WrongLimit> {
        let wrong = || WrongLimit::Zone(shorten(text));
        if text.eq_ignore_ascii_case("utc") {
            return Ok(Self(0));
        }
        let (sign, rest) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(rest), _) => (1, rest),
            (None, Some(rest)) => (-1, rest),
            (None, None) => return Err(wrong()),
        };
        let (hours, minutes) = rest.split_once(':').ok_or_else(wrong)?;
        let number = |word: &str| match word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit()) {
            true => word.parse::<i64>().ok(),
            false => None,
        };
        let (hours, minutes) = number(hours).zip(number(minutes)).ok_or_else(wrong)?;
        let offset = hours * 60 + minutes;
        match minutes < 60 && offset <= LARGEST_OFFSET {
            true => Ok(Self(sign * offset)),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for ZoneOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        let minutes = self.0.abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl Serialize for ZoneOffset {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ZoneOffset {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ZoneOffset {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ZoneOffset".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Offset of a time zone from UTC.", "type": "string", "pattern": r"^[+-]\d\d:\d\d$" })
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
}

impl BudgetScope {
    /// Returns whether the scope contains a call.
    #[must_use]
    pub fn contains(&self, session: Option<&str>, provider: &str, model: Option<&str>) -> bool {
        let fits = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        fits(&self.session, session) && fits(&self.provider, Some(provider)) && fits(&self.model, model)
    }
}

/// Limit on what the calls of a scope may cost in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetLimit {
    /// Amount in US dollars, exact.
    pub amount_usd: ExactCost,
    /// Period.
    pub period: BudgetPeriod,
    /// Offset of the time zone in which a period begins.
    #[serde(default)]
    pub zone: ZoneOffset,
    /// Calls that it is about.
    #[serde(default)]
    pub scope: BudgetScope,
}

impl BudgetLimit {
    /// Returns the time at which the period of a time begins.
    #[must_use]
    pub fn begin_at(&self, now: &Timestamp) -> Timestamp {
        self.period.begin_at(now, self.zone)
    }
}

/// Parses an amount with its period, as in `5usd/day`, `$0.50/hour` or `20/month`.
///
/// # Errors
/// If the text has another form, or the amount is 0 or larger than a million.
pub fn parse_amount(text: &str) -> Result<(ExactCost, BudgetPeriod), WrongLimit> {
    let wrong = || WrongLimit::Amount(shorten(text));
    let (amount, period) = text.split_once('/').ok_or_else(wrong)?;
    let period = match period {
        "hour" => BudgetPeriod::Hour,
        "day" => BudgetPeriod::Day,
        "week" => BudgetPeriod::Week,
        "month" => BudgetPeriod::Month,
        _ => return Err(wrong()),
    };
    let amount = amount.strip_prefix('$').unwrap_or(amount);
    let lower = amount.to_ascii_lowercase();
    let amount = lower.strip_suffix("usd").unwrap_or(&lower).trim_end();
    let amount: ExactCost = amount.parse().map_err(|_| wrong())?;
    let largest = ExactCost::from_pico_dollars(LARGEST_AMOUNT.saturating_mul(1_000_000_000_000));
    match amount > ExactCost::default() && amount <= largest {
        true => Ok((amount, period)),
        false => Err(wrong()),
    }
}

/// Shortens a text for an error.
fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}
