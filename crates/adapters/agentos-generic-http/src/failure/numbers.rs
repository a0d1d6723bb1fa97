//! Reads numbers in a server's words: the length of a context window, and the time to wait.
//!
//! Owns: the phrases around them. Never: takes a number that no phrase explains.

use std::time::Duration;

/// Phrases directly before the length of the window, in lower case.
const BEFORE: [&str; 13] = [
    "maximum context length is ",
    "maximum context length of ",
    "context window limit (",
    "context window of ",
    "context window is ",
    "context length of only ",
    "context length of ",
    "context length is ",
    "context length is only ",
    "available context size (",
    "context size of ",
    "max_new_tokens` must be <= ",
    "maximum number of tokens allowed (",
];

/// Phrases directly after it.
const AFTER: [&str; 3] = [" maximum context length", " token context window", " maximum"];

/// Phrases directly before the time to wait.
const WAIT: [&str; 5] = [
    "try again in ",
    "retry in ",
    "retry after ",
    "resets in ",
    "wait ",
];

/// Finds the tokens of the context window. The words are in lower case.
pub(super) fn find_window(words: &str) -> Option<u64> {
    let behind = BEFORE.iter().find_map(|phrase| {
        let (_, rest) = words.split_once(phrase)?;
        leading_number(rest)
    });
    behind.or_else(|| {
        // The number in front of a phrase: `prompt is too long: 207000 tokens > 200000 maximum`.
        AFTER.iter().find_map(|phrase| {
            let (front, _) = words.split_once(phrase)?;
            let digits = front.len()
                - front
                    .trim_end_matches(|c: char| c.is_ascii_digit() || c == ',')
                    .len();
            leading_number(front.get(front.len() - digits..)?)
        })
    })
}

fn leading_number(text: &str) -> Option<u64> {
    let digits: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',')
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok().filter(|tokens| *tokens > 0)
}

/// Finds the time after which another request may help.
pub(super) fn find_wait(words: &str) -> Option<Duration> {
    WAIT.iter().find_map(|phrase| {
        let (_, rest) = words.split_once(phrase)?;
        read_duration(rest)
    })
}

/// Reads a time at the beginning of a text: `1.5s`, `7m12.5s`, `20 seconds`, `2 hours`. `None` if the text does not begin with a time.
pub(super) fn read_duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = text.trim_start();
    let mut has_any = false;
    loop {
        let digits = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (number, after) = rest.split_at(digits);
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = after.trim_start();
        let letters = after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, after) = after.split_at(letters);
        let factor = match unit {
            "ms" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        seconds += number * factor;
        has_any = true;
        rest = after.trim_start();
    }
    has_any
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}
