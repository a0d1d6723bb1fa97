//! Quotes a program's output in an error message.
//!
//! Owns: which line, and how much of it. Never: passes on a control character.

/// Maximum characters of a line that an error quotes.
const LONGEST_QUOTE: usize = 200;

/// Returns the last line that is not blank, shortened. Empty if there is none.
pub(crate) fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    // Control characters could move the cursor or change colours in the user's terminal.
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
