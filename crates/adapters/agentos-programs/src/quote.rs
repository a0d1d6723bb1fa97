//! Words of a program, quoted in a message of ours.
//!
//! Owns: which of them, and how much. Never: passes a control character on.

/// Most characters of a line that an error quotes.
const LONGEST_QUOTE: usize = 200;

/// Returns the last line that says anything, cut. Empty if there is none.
pub(crate) fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    let kept = line.unwrap_or_default().chars().filter(|c| !c.is_control());
    kept.take(LONGEST_QUOTE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_the_last_line_that_says_anything() {
        let cases = [
            ("", ""),
            ("one\ntwo\n\n  \n", "two"),
            ("a\x1b[31mred\n", "a[31mred"),
        ];
        for (text, line) in cases {
            assert_eq!(last_line(text.as_bytes()), line);
        }
    }
}
