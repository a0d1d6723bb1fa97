//! Times of day and days of the week, in UTC.
//!
//! Owns: reading and comparing them. Never: reads a clock; the time comes in with the facts.

use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

const MINUTES_A_DAY: i64 = 24 * 60;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weekday {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

/// Weekdays in the order of days since 1970-01-01, which was a Thursday.
const FROM_THURSDAY: [Weekday; 7] = [
    Weekday::Thu,
    Weekday::Fri,
    Weekday::Sat,
    Weekday::Sun,
    Weekday::Mon,
    Weekday::Tue,
    Weekday::Wed,
];

/// Time of day on a day of the week, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeekMoment {
    /// Minutes since midnight.
    pub(crate) minute: u16,
    pub(crate) weekday: Weekday,
}

impl WeekMoment {
    pub(crate) fn from_timestamp(at: &Timestamp) -> Self {
        // Euclidean division: a time before 1970 also gives a minute of the day and a day of the week.
        let minutes = at.unix_seconds().div_euclid(60);
        let day = usize::try_from(minutes.div_euclid(MINUTES_A_DAY).rem_euclid(7)).unwrap_or_default();
        Self {
            minute: u16::try_from(minutes.rem_euclid(MINUTES_A_DAY)).unwrap_or_default(),
            weekday: FROM_THURSDAY.get(day).copied().unwrap_or(Weekday::Thu),
        }
    }

    /// Formats the time of day, as in `23:30`.
    pub(crate) fn clock_text(self) -> String {
        format!("{:02}:{:02}", self.minute / 60, self.minute % 60)
    }
}

/// Range of times of day: from the first minute up to, but without, the second. It spans midnight if the second is
/// earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HourRange {
    from: u16,
    to: u16,
}

impl HourRange {
    /// Parses a range such as `22:00-06:00`; `24:00` is the end of the day. `None` if the text has another form or
    /// the range is empty.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (parse_minute(from)?, parse_minute(to)?);
        (from != to).then_some(Self { from, to })
    }

    pub(crate) fn contains(self, minute: u16) -> bool {
        // A range such as `22:00-06:00` is two ranges of one day.
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

/// Parses `HH:MM` into minutes since midnight. `None` if the text is not a time of day.
pub(crate) fn parse_minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, most: u16| {
        // `str::parse` also accepts a sign and a single digit; `+9:5` is more likely a mistake than a time.
        let plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        plain
            .then(|| text.parse::<u16>().ok())
            .flatten()
            .filter(|number| *number <= most)
    };
    let minute = number(hours, 24)? * 60 + number(minutes, 59)?;
    (i64::from(minute) <= MINUTES_A_DAY).then_some(minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_day_may_pass_midnight() {
        let cases = [
            ("09:00-17:00", "12:00", true),
            ("09:00-17:00", "17:00", false),
            ("22:00-06:00", "23:59", true),
            ("22:00-06:00", "05:59", true),
            ("22:00-06:00", "06:00", false),
            ("18:00-24:00", "23:59", true),
        ];
        for (hours, at, expected) in cases {
            assert_eq!(
                HourRange::parse(hours)
                    .unwrap()
                    .contains(parse_minute(at).unwrap()),
                expected,
                "{hours} {at}"
            );
        }
        for wrong in [
            "",
            "9-17",
            "09:00",
            "09:00-09:00",
            "25:00-26:00",
            "24:30-01:00",
            "09:60-10:00",
        ] {
            assert_eq!(HourRange::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_day_follows_from_the_seconds() {
        // 1970-01-01 was a Thursday, 2024-02-29 too.
        let at = |seconds| WeekMoment::from_timestamp(&Timestamp::from_unix_seconds(seconds));
        assert_eq!(at(0).weekday, Weekday::Thu);
        assert_eq!(at(1_709_164_799).weekday, Weekday::Wed);
        assert_eq!(at(1_709_164_800).weekday, Weekday::Thu);
        assert_eq!(at(1_709_164_799).clock_text(), "23:59");
    }
}
