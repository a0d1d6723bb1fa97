//! Dates in headers, as in `Wed, 21 Oct 2015 07:28:00 GMT` (RFC 9110, section 5.6.7).
//!
//! Owns: the one form that servers must send. Never: reads a clock; two dates of one answer are compared.

use std::time::Duration;

/// Returns the time from `date` to `then`. `None` if one of them is not a date, or `then` is earlier.
pub(crate) fn time_between(date: &str, then: &str) -> Option<Duration> {
    let seconds = parse_date(then)?.checked_sub(parse_date(date)?)?;
    Some(Duration::from_secs(seconds))
}

/// Parses a date into seconds since 1970. `None` if it has another form.
fn parse_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let year: u64 = words
        .next()?
        .parse()
        .ok()
        .filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT") || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    // Years begin in March here, so that a leap day is the last day of its year.
    let month = u64::try_from(month).ok()? + 1;
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // Days from 1 March of the year 0 to 1 January 1970.
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_compared() {
        let cases = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(1_445_412_480)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Sat, 21 Nov 2026 16:00:00 GMT", Some(1_795_276_800)),
            ("Wednesday, 21-Oct-15 07:28:00 GMT", None),
            ("Wed, 21 Oct 2015 07:28:00", None),
            ("Wed, 21 Oct 2015 7:28 GMT", None),
            ("Wed, 32 Oct 2015 07:28:00 GMT", None),
            ("120", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse_date(text), wanted, "{text}");
        }
        let at = |second| format!("Wed, 21 Oct 2015 07:28:{second} GMT");
        assert_eq!(time_between(&at("10"), &at("17")), Some(Duration::from_secs(7)));
        assert_eq!(time_between(&at("17"), &at("10")), None);
        assert_eq!(time_between("now", &at("10")), None);
    }
}
