//! Points in time for people: how long ago, or in local time.
//!
//! Owns: the words. Never: reads the clock or the time zone.

use agentos_tool::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Returns a recent time as its distance from `now`, and an older one in local time without seconds.
pub fn format_when(at: &str, now: &Timestamp, offset_minutes: i32) -> String {
    let Ok(time) = Timestamp::parse(at) else {
        // The tape is untrusted here, as in a copy from somebody else: a time that cannot be read is shown as it is, and
        // does not hide the run.
        return at.to_owned();
    };
    match now.unix_seconds() - time.unix_seconds() {
        // A clock that was set back can show a run of the future, and no distance would say so.
        ago if !(0..DAY).contains(&ago) => shift_time(&time, offset_minutes).chars().take(16).collect(),
        ago if ago < MINUTE => format!("{ago} s ago"),
        ago if ago < HOUR => format!("{} min ago", ago / MINUTE),
        ago => format!("{} h ago", ago / HOUR),
    }
}

/// Returns a time in local time, with its difference from UTC, as in `2026-11-21 10:14:00 +0100`.
pub fn format_local(at: &str, offset_minutes: i32) -> String {
    let Ok(time) = Timestamp::parse(at) else {
        return at.to_owned();
    };
    // The form of `git log --date=iso`, so that both can be compared line by line.
    let sign = if offset_minutes < 0 { '-' } else { '+' };
    let minutes = offset_minutes.unsigned_abs();
    let local: String = shift_time(&time, offset_minutes).chars().take(19).collect();
    format!("{local} {sign}{:02}{:02}", minutes / 60, minutes % 60)
}

/// Returns a time that is shifted by minutes, with a blank between date and time.
fn shift_time(time: &Timestamp, minutes: i32) -> String {
    let seconds = time.unix_seconds() + i64::from(minutes) * MINUTE;
    // Negative only for a time of the first hours of 1970, which no run has.
    let shifted = Timestamp::from_unix_seconds(u64::try_from(seconds).unwrap_or(0));
    shifted.as_str().replacen('T', " ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_time_is_a_distance_and_an_older_one_is_local() {
        let now = Timestamp::parse("2026-11-21T09:14:30.000Z").unwrap();
        for (at, offset, words) in [
            ("2026-11-21T09:14:30.900Z", 0, "0 s ago"),
            ("2026-11-21T09:13:31.000Z", 0, "59 s ago"),
            ("2026-11-21T09:13:30.000Z", 0, "1 min ago"),
            ("2026-11-21T08:14:31.000Z", 0, "59 min ago"),
            ("2026-11-20T09:14:31.000Z", 0, "23 h ago"),
            ("2026-11-20T09:14:30.000Z", 0, "2026-11-20 09:14"),
            ("2026-11-19T23:14:30.000Z", 60, "2026-11-20 00:14"),
            ("2026-11-19T03:14:30.000Z", -330, "2026-11-18 21:44"),
            ("2027-01-01T00:00:00.000Z", 0, "2027-01-01 00:00"),
            ("no time", 0, "no time"),
        ] {
            assert_eq!(format_when(at, &now, offset), words, "{at}");
        }
        for (offset, words) in [
            (0, "2026-11-21 09:14:30 +0000"),
            (330, "2026-11-21 14:44:30 +0530"),
            (-90, "2026-11-21 07:44:30 -0130"),
        ] {
            assert_eq!(format_local(now.as_str(), offset), words);
        }
    }
}
