//! Periods of budgets, and the time zones in which they begin.
//!
//! Owns: both. Never: reads a clock; the time comes in as a value.

use std::fmt;
use std::str::FromStr;

use agentos_tool::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limit::{WrongLimit, shorten};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Largest offset of a time zone, in minutes: Kiribati has 14 hours.
const LARGEST_OFFSET: i64 = 14 * 60;

/// Period of a budget. The next one begins with nothing spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetPeriod {
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

impl BudgetPeriod {
    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Returns the period of a name. `None` if no period has it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month];
        all.into_iter().find(|period| period.name() == name)
    }

    /// Returns the time at which the period that contains a time begins, in a time zone.
    #[must_use]
    pub fn begin_at(self, now: &Timestamp, zone: ZoneOffset) -> Timestamp {
        let local = now.unix_seconds() + zone.seconds();
        let day = local.div_euclid(DAY);
        let begin = match self {
            Self::Minute => local.div_euclid(MINUTE) * MINUTE,
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
